import { github } from "tools";
const params = { owner: "o", repo: "r", state: "open" };
return (await github.issuesList(params)).length;
