import { github } from "tools";
const issues = await github.issuesList({ owner: "o", repo: "r" });
const a = new Date(), b = new Date(issues[0].created_at);
return (a - b) / 1000;
