from typing import Any, Dict, Optional
from tools import github

def line(issue: dict) -> str:
    return f"{issue['number']} {issue['title']}"

def first(issues: list[dict[str, Any]]) -> Optional[Dict[str, Any]]:
    return issues[0] if issues else None

async def load(repo: str) -> list[dict]:
    out: list[dict[str, Any]] = []
    out.extend(await github.issues_list(owner="o", repo=repo))
    return out

one: dict = await github.issues_get(owner="o", repo="r", number=1)
by_number: dict[int, dict[str, Any]] = {one["number"]: one}
by_number[2] = await github.issues_get(owner="o", repo="r", number=2)
return [line(one), first(await github.issues_list(owner="o", repo="r")), await load("r")]
