from operator import itemgetter
from tools import github
issues = await github.issues_list(owner="o", repo="r")
newest = sorted(issues, key=itemgetter("created_at"), reverse=True)
return [i["title"] for i in newest[:3]]
