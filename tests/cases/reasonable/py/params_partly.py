from tools import github
repo = {"owner": "o", "repo": "r"}
return (await github.issues_get(**repo, number=1))["title"]
