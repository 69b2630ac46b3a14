from tools import github
counts = {}
for state in ["open", "closed"]:
    counts[state] = len(await github.issues_list(owner="o", repo="r", state=state))
return counts
