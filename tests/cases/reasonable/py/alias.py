from tools import github as gh, mail_box
issues = await gh.issues_list(owner="o", repo="r", state="all", per_page=100)
text = "\n".join(f"- {i['title']}" for i in issues)
await mail_box.send(to=["a@b.c"], text=text, sender="me")
return len(issues)
