import { github, slack, ToolError } from "tools";

// Write to the people behind a repository; who is not in the team is only reported.
const contributors = await github.reposListContributors({ owner: "octo", repo: "api", per_page: 10 });
const people = contributors.filter((person) => person.type === "User" && person.login);

const told: string[] = [];
const missing: { login: string; reason: string }[] = [];
for (const person of people) {
  const login = person.login!;
  const profile = await github.usersGetByUsername({ username: login });
  if (!profile.email) {
    missing.push({ login, reason: "no public e-mail" });
    continue;
  }
  try {
    const { user } = await slack.usersLookupByEmail({ email: profile.email });
    await slack.chatPostMessage({ channel: user.id, text: `Thank you for ${person.contributions} commits to octo/api.` });
    told.push(login);
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    missing.push({ login, reason: error.message });
  }
}
return { told, missing };
