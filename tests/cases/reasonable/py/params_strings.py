from tools import github
params = {"owner": "o", "repo": "r"}
if len(params) == 2:
    params["state"] = "open"
return await github.issues_list(**params)
