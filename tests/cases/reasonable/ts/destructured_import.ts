import { github } from "tools";
const { issuesList, issuesGet: get } = github;
const issues = await issuesList({ owner: "o", repo: "r" });
return (await get({ owner: "o", repo: "r", number: issues[0].number })).title;
