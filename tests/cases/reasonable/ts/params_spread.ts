import { github } from "tools";
const base = { owner: "o", repo: "r" };
const filter = { state: "closed" };
return await github.issuesList({ ...base, ...filter, per_page: 5 });
