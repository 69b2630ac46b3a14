import { github } from "tools";
const issues = await github.issuesList({ owner: "o", repo: "r", state: "all", per_page: 100 });
return [...issues].sort((a, b) => a.title.localeCompare(b.title)).map((i) => `#${i.number} ${i.title.padEnd(20)}|`);
