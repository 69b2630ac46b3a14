import { github } from "tools";
async function* numbered(from: number, to: number) {
  for (let n = from; n <= to; n++) yield await github.issuesGet({ owner: "o", repo: "r", number: n });
}
const titles: string[] = [];
for await (const issue of numbered(1, 3)) titles.push(issue.title);
return titles;
