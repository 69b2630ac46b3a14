import { github } from "tools";
const issues = await github.issuesList({ owner: "o", repo: "r" });
const stats = { count: 0, newest: null };
for (const issue of issues) {
  stats.count++;
  stats.newest = issue;
}
return stats.newest?.title;
