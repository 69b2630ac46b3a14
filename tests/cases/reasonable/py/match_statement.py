from tools import github
issue = await github.issues_get(owner="o", repo="r", number=1)
match issue["state"]:
    case "open":
        return "still open"
    case _:
        return "done"
