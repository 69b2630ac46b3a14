import { github } from "tools";
const issues = await github.issuesList({ owner: "o", repo: "r" });
let newest = null;
issues.forEach((issue) => {
  if (!newest || issue.created_at > newest.created_at) newest = issue;
});
return newest?.title;
