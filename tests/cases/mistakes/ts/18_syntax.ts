import { github } from "tools";

const issues = await github.issuesList({ owner: "octo", repo: "hello" );
return issues;
