import { github } from "tools";
const issues = await github.issuesList({ owner: "o", repo: "r" });
const r = {};
Object.assign(r, { n: 1 });
return r.n;
