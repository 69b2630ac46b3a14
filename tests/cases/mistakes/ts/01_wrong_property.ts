import { github } from "tools";

const issue = await github.issuesGet({ owner: "octo", repo: "hello", number: 1 });
return issue.nubmer;
