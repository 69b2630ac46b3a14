from tools import github

def title(issue: "github.Issue") -> str:
    return issue["title"]

def titles(issues: list[github.Issue]) -> list[str]:
    return [title(i) for i in issues]

return titles(await github.issues_list(owner="o", repo="r"))
