import { github } from "tools";
const params = { owner: "o", repo: "r", state: "opened" };
return await github.issuesList(params);
