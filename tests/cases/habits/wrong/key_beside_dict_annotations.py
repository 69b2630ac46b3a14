# told: titel
from tools import github

def line(issue: dict) -> str:
    return issue["title"]

one = await github.issues_get(owner="o", repo="r", number=1)
return [line(one), one["titel"]]
