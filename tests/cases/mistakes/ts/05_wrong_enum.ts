import { github } from "tools";

return await github.issuesList({ owner: "octo", repo: "hello", state: "opened" });
