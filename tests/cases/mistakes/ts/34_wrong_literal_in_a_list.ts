import { github } from "tools";
const counts = {};
for (const state of ["open", "close"]) {
  counts[state] = (await github.issuesList({ owner: "o", repo: "r", state })).length;
}
return counts;
