import { github } from "tools";
const state = input ? "open" : "closed";
return await github.issuesList({ owner: "o", repo: "r", state });
