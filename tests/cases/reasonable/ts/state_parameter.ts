import { github } from "tools";
async function count(state: string) {
  return (await github.issuesList({ owner: "o", repo: "r", state })).length;
}
return { open: await count("open"), closed: await count("closed") };
