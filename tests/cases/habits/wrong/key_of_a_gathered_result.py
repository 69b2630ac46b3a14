# told: titel
import asyncio
from tools import github
rs = await asyncio.gather(github.issues_get(owner="o", repo="r", number=1), return_exceptions=True)
return [r["titel"] for r in rs if not isinstance(r, Exception)]
