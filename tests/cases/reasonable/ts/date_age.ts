import { github } from "tools";
const issue = await github.issuesGet({ owner: "o", repo: "r", number: 1 });
const made = new Date(issue.created_at);
const now = new Date();
return Math.floor((now - made) / 86400000);
