import { github } from "tools";
const issues = await github.issuesList({ owner: "o", repo: "r" });
const groups = { open: [], closed: [] };
for (const issue of issues) groups[issue.state].push(issue.title);
groups.open.push("last");
return groups;
