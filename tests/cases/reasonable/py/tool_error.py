from tools import ToolError, github
try:
    issue = await github.issues_get(owner="o", repo="r", number=404)
except ToolError as e:
    if e.code == "not_found":
        issue = None
    else:
        print(e.code, e.status, e.hint)
        raise
return issue["title"] if issue else None
