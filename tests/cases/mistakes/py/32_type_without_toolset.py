from tools import github

def titles(issues: list[Issue]) -> list[str]:
    return [issue["title"] for issue in issues]

return titles(await github.issues_list(owner="o", repo="r"))
