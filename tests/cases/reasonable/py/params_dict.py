from tools import github
params = dict(owner="o", repo="r")
return await github.issues_list(**params)
