import { github } from "tools";
const issues = await github.issuesList({ owner: "o", repo: "r" });
const by = {};
for (const issue of issues) by[issue.state] = (by[issue.state] || 0) + 1;
return Object.entries(by).sort((a, b) => b[1] - a[1]);
