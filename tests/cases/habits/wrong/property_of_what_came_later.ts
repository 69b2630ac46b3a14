// told: titel
import { github } from "tools";
const issues = await github.issuesList({ owner: "o", repo: "r" });
let x = null;
x = issues[0];
return x.titel;
