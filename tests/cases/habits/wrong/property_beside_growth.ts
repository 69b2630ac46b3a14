// told: titel
import { github } from "tools";
const issues = await github.issuesList({ owner: "o", repo: "r" });
const r = {};
r.first = issues[0].titel;
return r;
