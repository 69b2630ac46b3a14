import { github } from "tools";
const describeIssue = (issue: github.Issue): string => `${issue.number}: ${issue.title}`;
const open: github.Issue[] = await github.issuesList({ owner: "o", repo: "r" });
return open.map(describeIssue);
