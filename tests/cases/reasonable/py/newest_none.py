from tools import github
newest = None
for issue in await github.issues_list(owner="o", repo="r"):
    if newest is None or issue["created_at"] > newest["created_at"]:
        newest = issue
return newest["title"] if newest else None
