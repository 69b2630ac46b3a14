import asyncio
from tools import github
calls = [github.issues_get(owner="o", repo="r", number=n) for n in range(3)]
results = await asyncio.gather(*calls, return_exceptions=True)
ok = [r for r in results if not isinstance(r, Exception)]
failed = [str(r) for r in results if isinstance(r, Exception)]
titles = [r["title"] for r in ok]
return {"titles": titles, "failed": failed, "first": ok[0]["title"] if ok else None}
