import { github } from "tools";

return await github.issuesList({ owner: "octo" });
