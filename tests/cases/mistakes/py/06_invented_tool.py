from tools import github

return await github.create_issue(owner="octo", repo="hello", title="x")
