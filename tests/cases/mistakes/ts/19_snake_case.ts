import { github } from "tools";

return await github.issues_list({ owner: "octo", repo: "hello" });
