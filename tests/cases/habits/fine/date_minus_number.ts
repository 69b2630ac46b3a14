import { github } from "tools";
const issues = await github.issuesList({ owner: "o", repo: "r" });
return new Date() - 86400000;
