// told: 'k'
import { github } from "tools";
const issues = await github.issuesList({ owner: "o", repo: "r" });
const r = { n: 1 };
r.m = 2;
return r.k;
