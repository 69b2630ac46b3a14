import { github } from "tools";

const { owner, repo, now, days } = input as { owner: string; repo: string; now: string; days: number };
const limit = new Date(Date.parse(now) - days * 24 * 60 * 60 * 1000).toISOString();

const found = await github.searchIssuesAndPullRequests({
  q: `repo:${owner}/${repo} is:issue is:open updated:<${limit.slice(0, 10)}`,
  sort: "updated",
  order: "asc",
  per_page: 100,
});

return found.items.slice(0, 5).map((issue) => ({
  number: issue.number,
  title: issue.title,
  idle_days: Math.floor((Date.parse(now) - Date.parse(issue.updated_at)) / 86_400_000),
  assignee: issue.assignees[0]?.login ?? null,
}));
