from tools import github
from tools.github import Issue

def line(issue: Issue) -> str:
    return f"{issue['number']} {issue['title']}"

issues: list[Issue] = await github.issues_list(owner="o", repo="r")
return [line(issue) for issue in issues]
