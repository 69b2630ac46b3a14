from tools.github import issues_list as list_issues, issues_get
issues = await list_issues(owner="o", repo="r")
return (await issues_get(owner="o", repo="r", number=issues[0]["number"]))["title"]
