import { github } from "tools";
const open = await github.issuesList({ owner: "o", repo: "r" }).then((list) => list.filter((i) => i.state === "open"));
return open.length;
