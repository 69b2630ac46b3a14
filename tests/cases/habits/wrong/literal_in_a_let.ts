// told: opened
import { github } from "tools";
let state = "opened";
return await github.issuesList({ owner: "o", repo: "r", state });
