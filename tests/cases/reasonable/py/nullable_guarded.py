from tools import github
issue = await github.issues_get(owner="o", repo="r", number=1)
login = issue["closed_by"]["login"] if issue["closed_by"] else None
return [login, (issue["closed_by"] or {}).get("login"), issue.get("body", "")[:10]]
