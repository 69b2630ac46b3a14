import { github } from "tools";
const params = {};
params.owner = "o";
params.repo = "r";
return await github.issuesList(params);
