import asyncio
from tools import github
try:
    issue = await asyncio.wait_for(github.issues_get(owner="o", repo="r", number=1), timeout=5)
except asyncio.TimeoutError:
    return None
return issue["title"]
