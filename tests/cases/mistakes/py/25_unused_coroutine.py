from tools import github

async def close_all():
    await github.issues_list(owner="octo", repo="hello")

close_all()
return "done"
