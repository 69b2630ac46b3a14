// told: looped
import { github } from "tools";
async function f() { return await github.issuesList({ owner: "o", repo: "r" }); }
for (const i of f()) console.log(i);
return 1;
