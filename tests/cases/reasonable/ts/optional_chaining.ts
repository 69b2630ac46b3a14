import { github } from "tools";
const issue = await github.issuesGet({ owner: "o", repo: "r", number: 1 });
return issue.closed_by?.login ?? issue.body?.slice(0, 10) ?? "nobody";
