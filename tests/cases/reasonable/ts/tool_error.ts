import { github, ToolError } from "tools";
try {
  return await github.issuesGet({ owner: "o", repo: "r", number: 404 });
} catch (e) {
  if (e instanceof ToolError && e.code === "not_found") return null;
  console.error(e.code, e.message);
  throw e;
}
