import asyncio
from tools import github
task = asyncio.create_task(github.issues_get(owner="o", repo="r", number=1))
issues = await github.issues_list(owner="o", repo="r")
first = await task
return [first["title"], len(issues)]
