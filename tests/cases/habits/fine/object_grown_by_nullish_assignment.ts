import { github } from "tools";
const issues = await github.issuesList({ owner: "o", repo: "r" });
const r = {};
for (const i of issues) (r[i.state] ??= []).push(i);
return r.open;
