import { github } from "tools";
const issues = await github.issuesList({ owner: "o", repo: "r" });
let titles = [];
issues.forEach((issue) => { titles.push(issue.title); });
return titles;
