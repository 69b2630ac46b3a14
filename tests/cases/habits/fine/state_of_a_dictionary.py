from tools import github
q = {"a": "open", "b": "closed"}
return [await github.issues_list(owner="o", repo="r", state=s) for s in q.values()]
