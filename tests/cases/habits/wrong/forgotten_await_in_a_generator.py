# told: await
from tools import github
async def g():
    i = github.issues_get(owner="o", repo="r", number=1)
    print(i["title"])
    yield 1
return [x async for x in g()]
