import { github } from "tools";
let state = "open";
const open = await github.issuesList({ owner: "o", repo: "r", state });
state = "closed";
const closed = await github.issuesList({ owner: "o", repo: "r", state });
return [open.length, closed.length];
