// told: number
import { github } from "tools";
const p = { owner: "o", repo: "r", number: "1" };
return await github.issuesGet(p);
