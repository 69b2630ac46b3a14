import { github } from "tools";
const issues = await github.issuesList({ owner: "o", repo: "r" });
const by = {};
issues.forEach((issue) => {
  for (const label of issue.labels) {
    if (!by[label]) by[label] = [];
    by[label].push(issue.number);
  }
});
return by;
