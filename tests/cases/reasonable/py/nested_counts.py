from tools import github
stats = {"open": {"count": 0, "titles": []}, "closed": {"count": 0, "titles": []}}
for issue in await github.issues_list(owner="o", repo="r"):
    stats[issue["state"]]["count"] += 1
    stats[issue["state"]]["titles"].append(issue["title"])
return stats
