from tools import github

issues = github.issues_list(owner="octo", repo="hello")
return len(issues)
