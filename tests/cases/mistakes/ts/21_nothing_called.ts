import { github } from "tools";

async function list() {
  return await github.issuesList({ owner: "octo", repo: "hello" });
}

async function count() {
  return 2;
}
