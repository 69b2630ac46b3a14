import { github, type Issue } from "tools";
const issues: Issue[] = await github.issuesList({ owner: "o", repo: "r" });
return issues.length;
