import { github } from "tools";
async function* gen() { for (const n of [1, 2]) yield n; }
const numbers = await Array.fromAsync(gen());
const titles = await Array.fromAsync(numbers, async (number) => (await github.issuesGet({ owner: "o", repo: "r", number })).title);
return titles.toSorted().at(-1);
