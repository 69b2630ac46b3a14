import { github } from "tools";
const issues = await github.issuesList({ owner: "o", repo: "r" });
const by = {};
for (const issue of issues) by[issue.state] = (by[issue.state] || 0) + 1;
issues.sort((a, b) => new Date(b.created_at) - new Date(a.created_at));
const params = { owner: "o", repo: "r", state: "open" };
return [by, await github.issuesList(params)];
