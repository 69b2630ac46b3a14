import { github } from "tools";

// Every open issue of the repository, page by page, counted by label.
const open = [];
for (let page = 1; ; page++) {
  const batch = await github.issuesListForRepo({ owner: "octo", repo: "api", state: "open", per_page: 30, page });
  open.push(...batch.filter((issue) => !issue.pull_request));
  if (batch.length < 30) break;
}

const byLabel = new Map<string, { count: number; unassigned: number; oldest: string }>();
for (const issue of open) {
  for (const label of issue.labels) {
    const row = byLabel.get(label.name) ?? { count: 0, unassigned: 0, oldest: issue.created_at };
    row.count += 1;
    if (issue.assignees.length === 0) row.unassigned += 1;
    if (issue.created_at < row.oldest) row.oldest = issue.created_at;
    byLabel.set(label.name, row);
  }
}

const table = [...byLabel].map(([label, row]) => ({ label, ...row })).sort((a, b) => b.count - a.count || a.label.localeCompare(b.label));
console.log(`${open.length} open issues`);
return { total: open.length, table };
