import asyncio
from tools import github
async with asyncio.TaskGroup() as group:
    tasks = [group.create_task(github.issues_get(owner="o", repo="r", number=n)) for n in (1, 2)]
return [task.result()["title"] for task in tasks]
