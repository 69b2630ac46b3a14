import { github } from "tools";
const issues = await github.issuesList({ owner: "o", repo: "r" });
const counts = issues.reduce((acc, issue) => {
  acc[issue.state] = (acc[issue.state] ?? 0) + 1;
  return acc;
}, {});
return { open: counts.open, all: counts };
