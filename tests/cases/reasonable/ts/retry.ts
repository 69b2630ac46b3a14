import { github } from "tools";
async function retry(fn, attempts = 3) {
  let lastError;
  for (let i = 0; i < attempts; i++) {
    try {
      return await fn();
    } catch (err) {
      lastError = err;
      if (!err.retryable) throw err;
      await new Promise((r) => setTimeout(r, 100 * 2 ** i));
    }
  }
  throw lastError;
}
const issue = await retry(() => github.issuesGet({ owner: "o", repo: "r", number: 1 }));
return issue.title;
