import { github } from "tools";
const issue = await github.issuesGet({ owner: "o", repo: "r", number: 1 });
try {
  const data = JSON.parse(issue.body ?? "{}");
  return data.items.map((x) => x.name);
} catch (e) {
  return e.message;
}
