Here is the script:

```ts
const issue = await github.issuesGet({ owner: "octo", repo: "hello", numer: 1 });
issue.title
```

It prints the title.
