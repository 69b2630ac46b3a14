import { search, describe } from "tools";
const found = await search({ query: "issues" });
console.log(JSON.stringify(found, null, 2));
const [one] = found.tools;
return await describe({ names: [one.path] });
