// told: promise
import { github } from "tools";
async function* g() { const i = github.issuesGet({ owner: "o", repo: "r", number: 1 }); console.log(i.title); yield 1; }
for await (const x of g()) console.log(x);
return 1;
