import { github } from "tools";
async function main() {
  console.log(await github.issuesList({ owner: "o", repo: "r" }));
}
main().catch((error) => {
  console.error(error);
  process.exit(1);
});
