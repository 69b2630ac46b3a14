import { github } from "tools";
const numbers = Array.from({ length: 10 }, (_, i) => i + 1);
const found = [];
for (let i = 0; i < numbers.length; i += 3) {
  const chunk = numbers.slice(i, i + 3);
  found.push(...(await Promise.all(chunk.map(async (n) => {
    const issue = await github.issuesGet({ owner: "o", repo: "r", number: n });
    return { n, title: issue.title };
  }))));
}
return found;
