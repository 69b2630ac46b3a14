import asyncio
from tools import github
results = await asyncio.gather(
    *[github.issues_list(owner="o", repo=r) for r in ("a", "b")], return_exceptions=True
)
return [len(x) if not isinstance(x, Exception) else str(x) for x in results]
