from tools import github

issue = await github.issues_get(owner="octo", repo="hello", number="17")
return issue["title"]
