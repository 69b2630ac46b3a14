from tools import github

async def count(state: str) -> int:
    return len(await github.issues_list(owner="o", repo="r", state=state))

return {"open": await count("open"), "closed": await count("closed")}
