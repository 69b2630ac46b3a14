# told: BaseException
import asyncio
from tools import github
rs = await asyncio.gather(github.issues_get(owner="o", repo="r", number=1), return_exceptions=True)
return [r["title"] for r in rs]
