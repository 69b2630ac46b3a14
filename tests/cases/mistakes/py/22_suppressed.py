from tools import github

issue: str = await github.issues_get(owner="octo", repo="hello", number=1)  # type: ignore
return issue
