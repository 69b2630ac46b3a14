import { github } from "tools";
const state = String(input);
return await github.issuesList({ owner: "o", repo: "r", state });
