import { github } from "tools";
const result = {};
const issues = await github.issuesList({ owner: "o", repo: "r" });
result.count = issues.length;
result.titles = issues.map((i) => i.title);
return result;
