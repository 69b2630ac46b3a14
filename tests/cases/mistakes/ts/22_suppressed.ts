import { github } from "tools";

// @ts-ignore
const issue: string = await github.issuesGet({ owner: "octo", repo: "hello", number: 1 });
return issue;
