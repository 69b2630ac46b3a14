import { github } from "tools";
for (const q of [{ state: "open" }, { state: "closed" }]) await github.issuesList({ owner: "o", repo: "r", ...q });
return 1;
