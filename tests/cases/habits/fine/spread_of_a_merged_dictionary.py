from tools import github
base = {"owner": "o", "repo": "r"}
return await github.issues_list(**{**base, "per_page": 3})
