import { github } from "tools";
const of = { done: "closed" };
return await github.issuesList({ owner: "o", repo: "r", state: of.done });
