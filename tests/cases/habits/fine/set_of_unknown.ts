import { github } from "tools";
const issues = await github.issuesList({ owner: "o", repo: "r" });
const s = new Set();
issues.forEach((i) => s.add(i.title));
return [...s].map((t) => t.length);
