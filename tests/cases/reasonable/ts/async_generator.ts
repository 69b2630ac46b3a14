import { mailBox } from "tools";
async function* letters() {
  let cursor: string | undefined;
  do {
    const page = await mailBox.page({ cursor });
    yield* page.letters;
    cursor = page.next_cursor ?? undefined;
  } while (cursor);
}
const ids = [];
for await (const letter of letters()) ids.push(letter.id);
return ids;
