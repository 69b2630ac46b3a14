const { commits, total_commits } = await github.reposCompareCommits({ owner: "octo", repo: "api", base: "v1.1.0", head: "v1.2.0" });

const headings: Record<string, string> = { feat: "New", fix: "Mended", docs: "Documentation" };
const groups: Record<string, string[]> = {};
for (const { commit, author } of commits) {
  const [subject] = commit.message.split("\n");
  const match = /^(\w+)(?:\([^)]*\))?: (.+)$/.exec(subject);
  const heading = headings[match?.[1] ?? ""] ?? "Other";
  (groups[heading] ??= []).push(`- ${match && heading !== "Other" ? match[2] : subject} (@${author?.login ?? commit.author?.name})`);
}

const order = [...Object.values(headings), "Other"].filter((heading) => groups[heading]);
const notes = order.map((heading) => `## ${heading}\n\n${groups[heading].join("\n")}`).join("\n\n");
return { total_commits, notes };
