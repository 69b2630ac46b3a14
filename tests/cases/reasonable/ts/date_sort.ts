import { github } from "tools";
const issues = await github.issuesList({ owner: "o", repo: "r" });
issues.sort((a, b) => new Date(b.created_at) - new Date(a.created_at));
return issues.slice(0, 3).map((i) => i.title);
