from tools import github
issues = await github.issues_list(owner="o", repo="r")
report = {"total": len(issues)}
report["newest"] = issues[0]["title"] if issues else None
report["labels"] = sorted({label for i in issues for label in i["labels"]})
return report
