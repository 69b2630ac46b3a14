// told: opened
import { github } from "tools";
return await github.issuesList({ owner: "o", repo: "r", state: "opened" });
