import { github } from "tools";
const issues = await github.issuesList({ owner: "o", repo: "r" });
const counts = new Map<string, number>();
for (const { labels } of issues) for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1);
const unique = new Set(issues.flatMap((i) => i.labels));
return { counts: Object.fromEntries(counts), unique: [...unique].sort() };
