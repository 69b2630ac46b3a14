import { github } from "tools";
const issues = await github.issuesList({ owner: "o", repo: "r" });
const report = { total: issues.length };
report.open = issues.filter((i) => i.state === "open").length;
report["closed"] = report.total - report.open;
return report;
