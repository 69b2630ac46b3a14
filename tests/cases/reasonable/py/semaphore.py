import asyncio
from tools import github
limit = asyncio.Semaphore(5)

async def get(number):
    async with limit:
        return await github.issues_get(owner="o", repo="r", number=number)

issues = await asyncio.gather(*[get(n) for n in range(20)])
return [i["title"] for i in issues]
