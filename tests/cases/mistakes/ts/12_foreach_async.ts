import { github } from "tools";

const numbers: number[] = [];
["one", "two"].forEach(async (title) => {
  const issue = await github.issuesCreate({ owner: "octo", repo: "hello", title });
  numbers.push(issue.number);
});
return numbers;
