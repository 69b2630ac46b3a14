import asyncio
from tools import github
a, b = await asyncio.gather(github.issues_get(owner="o", repo="r", number=1), github.issues_list(owner="o", repo="r"), return_exceptions=True)
return [a["title"] if not isinstance(a, Exception) else str(a), len(b) if isinstance(b, list) else 0]
