// told: issuesFind
import { github } from "tools";
async function* g() { yield await github.issuesFind({}); }
return await Array.fromAsync(g());
