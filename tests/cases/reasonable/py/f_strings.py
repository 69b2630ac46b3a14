from tools import github
issue = await github.issues_get(owner="o", repo="r", number=1)
return f"{issue["title"]!r:>20} {', '.join(issue['labels'])} {issue['number']:,}"
