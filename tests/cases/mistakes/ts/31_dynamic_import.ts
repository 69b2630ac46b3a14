const { github: gh, mailBox } = await import("tools");
return await gh.issuesList({ owner: "o", repo: "r" });
