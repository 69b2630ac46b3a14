import { github } from "tools";
async function main() {
  const issues = await github.issuesList({ owner: "o", repo: "r" });
  return issues.map(({ number, title }) => ({ number, title }));
}
main().catch((error) => {
  console.error("failed:", error);
  throw error;
});
