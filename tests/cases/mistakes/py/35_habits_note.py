from tools import github

async def count(state: str) -> int:
    return len(await github.issues_list(owner="o", repo="r", state=state))

params = {"owner": "o", "repo": "r", "per_page": 1}
while params["per_page"] < 3:
    await github.issues_list(**params)
    params["per_page"] += 1
return await count("open")
