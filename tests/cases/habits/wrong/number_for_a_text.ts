// told: string
import { github } from "tools";
const p = { owner: 1, repo: "r" };
return await github.issuesList(p);
