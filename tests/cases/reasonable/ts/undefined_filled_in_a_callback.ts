import { github } from "tools";
const issues = await github.issuesList({ owner: "o", repo: "r" });
let last;
issues.forEach((issue) => { last = issue; });
return last?.title;
