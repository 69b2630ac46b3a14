// told: opened
import { github } from "tools";
const p = { owner: "o", repo: "r", state: "opened" };
return await github.issuesList(p);
