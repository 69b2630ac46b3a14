import { github } from "tools";
const issues = await github.issuesList({ owner: "o", repo: "r" });
const r = {};
r.a = {};
r.a.b = issues.length;
return r;
