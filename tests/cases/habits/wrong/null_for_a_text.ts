// told: null
import { github } from "tools";
return await github.issuesList({ owner: null, repo: "r" });
