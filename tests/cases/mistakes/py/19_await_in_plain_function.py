from tools import github

def count(repo):
    return len(await github.issues_list(owner="octo", repo=repo))

return count("hello")
