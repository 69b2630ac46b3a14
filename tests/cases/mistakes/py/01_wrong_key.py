from tools import github

issue = await github.issues_get(owner="octo", repo="hello", number=1)
return issue["nubmer"]
