import { github } from "tools";
const issues = await github.issuesList({ owner: "o", repo: "r" });
const groups = Object.groupBy(issues, (i) => i.state);
const map = Map.groupBy(issues, (i) => i.labels[0]);
return { n: Object.entries(groups).map(([k, v]) => [k, v.length]), keys: [...map.keys()] };
