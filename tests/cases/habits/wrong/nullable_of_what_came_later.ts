// told: null
import { github } from "tools";
const issues = await github.issuesList({ owner: "o", repo: "r" });
let x;
x = issues[0];
return x.closed_by.login;
