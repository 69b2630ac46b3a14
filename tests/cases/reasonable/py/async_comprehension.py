from tools import github

async def gen(n):
    for i in range(n):
        yield await github.issues_get(owner="o", repo="r", number=i)

titles = [issue["title"] async for issue in gen(3)]
return titles
