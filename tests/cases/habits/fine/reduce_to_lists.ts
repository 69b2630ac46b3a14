import { github } from "tools";
const issues = await github.issuesList({ owner: "o", repo: "r" });
const r = issues.reduce((a, i) => { a.open.push(i.title); return a; }, { open: [] });
return r.open[0];
