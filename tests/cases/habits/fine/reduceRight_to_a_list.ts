import { github } from "tools";
const issues = await github.issuesList({ owner: "o", repo: "r" });
return issues.reduceRight((all, i) => { all.push(i.title); return all; }, []);
