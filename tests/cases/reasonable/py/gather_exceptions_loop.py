import asyncio
from tools import github
a, b = await asyncio.gather(
    github.issues_get(owner="o", repo="r", number=1),
    github.issues_list(owner="o", repo="r"),
    return_exceptions=True,
)
if isinstance(a, Exception):
    return str(a)
for number, result in zip([1, 2], [a]):
    if isinstance(result, Exception):
        print(number, "failed", result)
        continue
    print(number, result["title"])
return len(b) if not isinstance(b, Exception) else 0
