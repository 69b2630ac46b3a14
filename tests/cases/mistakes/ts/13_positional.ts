import { github } from "tools";

return await github.issuesList("octo", "hello");
