import asyncio
from tools import ToolError, github

async def retry(make, attempts=3):
    for attempt in range(attempts):
        try:
            return await make()
        except ToolError as error:
            if not error.retryable or attempt == attempts - 1:
                raise
            await asyncio.sleep(0.1 * 2**attempt)

issue = await retry(lambda: github.issues_get(owner="o", repo="r", number=1))
return issue["title"]
