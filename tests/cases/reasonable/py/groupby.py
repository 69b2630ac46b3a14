from itertools import groupby
from tools import github
issues = sorted(await github.issues_list(owner="o", repo="r"), key=lambda i: i["state"])
return {state: [i["title"] for i in group] for state, group in groupby(issues, key=lambda i: i["state"])}
