from tools.github import (
    Issue,
    issues_list,
    User as Person,
)

async def load(state: str = "open") -> list[Issue]:
    return await issues_list(owner="o", repo="r", state="open")

def who(issue: Issue) -> Person | None:
    return issue["closed_by"]

return [who(i) for i in await load()]
