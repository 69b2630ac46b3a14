import { mailBox } from "tools";
const all = [];
let cursor;
while (true) {
  const page = await mailBox.page({ cursor, limit: 50 });
  all.push(...page.letters);
  if (!page.next_cursor) break;
  cursor = page.next_cursor;
}
return all.length;
