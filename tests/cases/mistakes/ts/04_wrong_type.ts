import { github } from "tools";

const issue = await github.issuesGet({ owner: "octo", repo: "hello", number: "17" });
return issue.title;
