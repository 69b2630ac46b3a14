import { github } from "tools";
const issues = await github.issuesList({ owner: "o", repo: "r" });
return issues.reduce((sum, issue) => sum + issue.comments, 0);
