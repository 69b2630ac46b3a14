import { gitub } from "tools";

return await gitub.issuesList({ owner: "octo", repo: "hello" });
