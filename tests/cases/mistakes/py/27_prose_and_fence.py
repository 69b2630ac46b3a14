Sure! Here it is:

```python
issue = await github.issues_get(owner="octo", repo="hello", numer=1)
issue["title"]
```

This prints the title.
