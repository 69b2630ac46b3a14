from tools import github

calls = [github.issues_create(owner="octo", repo="hello", title=t) for t in ("one", "two")]
return calls
