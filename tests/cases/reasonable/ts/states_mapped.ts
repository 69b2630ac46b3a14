import { github } from "tools";
const [open, closed] = await Promise.all(
  ["open", "closed"].map((state) => github.issuesList({ owner: "o", repo: "r", state })),
);
return { open: open.length, closed: closed.length };
