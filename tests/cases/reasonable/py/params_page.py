from tools import github
params = {"owner": "o", "repo": "r", "per_page": 1}
found = []
while params["per_page"] < 4:
    found += await github.issues_list(**params)
    params["per_page"] += 1
return len(found)
