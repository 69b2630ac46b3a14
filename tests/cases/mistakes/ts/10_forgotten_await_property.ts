import { github } from "tools";

const issues = github.issuesList({ owner: "octo", repo: "hello" });
return issues.length;
