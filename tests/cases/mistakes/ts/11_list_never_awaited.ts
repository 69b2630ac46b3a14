import { github } from "tools";

const titles = ["one", "two"];
const calls = titles.map((title) => github.issuesCreate({ owner: "octo", repo: "hello", title }));
return calls;
