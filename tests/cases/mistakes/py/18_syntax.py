from tools import github

for repo in ["hello", "world"]
    await github.issues_list(owner="octo", repo=repo)
