import { github } from "tools";
const out = {};
for (const state of ["open", "closed"]) {
  const found = await github.issuesList({ owner: "o", repo: "r", state });
  out[state] = found.length;
}
return out;
