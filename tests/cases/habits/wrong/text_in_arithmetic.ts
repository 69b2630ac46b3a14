// told: arithmetic
import { github } from "tools";
const issues = await github.issuesList({ owner: "o", repo: "r" });
return issues[0].created_at - new Date();
