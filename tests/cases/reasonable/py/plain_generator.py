from tools import github

def titles(issues):
    for issue in issues:
        yield issue["title"]

return list(titles(await github.issues_list(owner="o", repo="r")))
