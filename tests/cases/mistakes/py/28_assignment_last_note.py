from tools import github

issues = await github.issues_list(owner="octo", repo="hello")
count = len(issues)
