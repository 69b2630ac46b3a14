import { github } from "tools";

return await github("issues.list", { owner: "octo", repo: "hello" });
