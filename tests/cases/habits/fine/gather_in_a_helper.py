import asyncio
from tools import github
async def safe(calls):
    done = await asyncio.gather(*calls, return_exceptions=True)
    return [d for d in done if not isinstance(d, Exception)]
return len(await safe([github.issues_list(owner="o", repo="r")]))
