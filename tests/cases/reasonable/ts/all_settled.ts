import { github } from "tools";
const results = await Promise.allSettled([1, 2, 3].map((number) => github.issuesGet({ owner: "o", repo: "r", number })));
const titles = results.filter((r) => r.status === "fulfilled").map((r) => r.value.title);
const failed = results.filter((r) => r.status === "rejected").map((r) => String(r.reason));
return { titles, failed };
