import { github } from "tools";

await github.issuesCreate({ owner: "octo", repo: "hello", titel: "It breaks" });
