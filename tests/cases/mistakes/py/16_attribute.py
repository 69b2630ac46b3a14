from tools import github

issues = await github.issues_list(owner="octo", repo="hello")
return [issue.title for issue in issues]
