from tools import github
base = dict(owner="o", repo="r", per_page=3)
return await github.issues_list(**base)
