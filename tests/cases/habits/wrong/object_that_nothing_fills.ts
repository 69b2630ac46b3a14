// told: owner
import { github } from "tools";
const p = {};
return await github.issuesList(p);
