from tools import github
result = {}
issues = await github.issues_list(owner="o", repo="r")
result["count"] = len(issues)
result["titles"] = [i["title"] for i in issues]
result["titles"].append("x")
return result
