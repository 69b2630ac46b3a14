from tools import github
return await github.issues_list(**{"owner": "o", "repo": "r", "stat": "open", "per_page": "1"})
