from collections import Counter, defaultdict
from tools import github
issues = await github.issues_list(owner="o", repo="r")
states = Counter(i["state"] for i in issues)
by_label = defaultdict(list)
for issue in issues:
    for label in issue["labels"]:
        by_label[label].append(issue["number"])
return {"states": dict(states), "top": states.most_common(1), "labels": dict(by_label)}
