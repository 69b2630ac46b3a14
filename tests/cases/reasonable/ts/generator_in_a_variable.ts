import { github } from "tools";
const each = async function* () {
  for (const n of [1, 2]) yield await github.issuesGet({ owner: "o", repo: "r", number: n });
};
const it = each();
const first = await it.next();
return first.value;
