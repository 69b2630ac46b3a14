import { github } from "tools";

return await github.createIssue({ owner: "octo", repo: "hello", title: "x" });
