import { github } from "tools";
const issues = await github.issuesList({ owner: "o", repo: "r" });
const r = {};
for (const i of issues) r[i.title] = (r[i.title] ?? 0) + 1;
return Object.values(r).reduce((a, b) => a + b, 0);
