import { github } from "tools";
const results = await Promise.allSettled([github.issuesGet({ owner: "o", repo: "r", number: 1 })]);
for (const result of results) {
  if (result.status === "fulfilled") console.log(result.value.title);
  else console.log(result.reason.message);
}
return results.length;
