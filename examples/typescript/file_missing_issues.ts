import { github } from "tools";

const wanted = [
  { title: "Time-out when the queue is empty", labels: ["bug"] },
  { title: "Document the retry rules", labels: ["docs"] },
  { title: "Issue 7", labels: ["bug"] },
];

const outcome = [];
for (const { title, labels } of wanted) {
  const { items } = await github.searchIssuesAndPullRequests({ q: `repo:octo/api is:issue in:title "${title}"` });
  const known = items.find((issue) => issue.title === title);
  if (known) {
    await github.issuesCreateComment({ owner: "octo", repo: "api", issue_number: known.number, body: "Seen again." });
    outcome.push({ title, number: known.number, action: "commented" });
  } else {
    const issue = await github.issuesCreate({ owner: "octo", repo: "api", title, labels });
    outcome.push({ title, number: issue.number, action: "opened" });
  }
}
const comments = await github.issuesListComments({ owner: "octo", repo: "api", issue_number: 7 });
return { outcome, last_comment: comments.at(-1)?.body };
