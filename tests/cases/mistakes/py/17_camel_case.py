from tools import github

return await github.issuesList(owner="octo", repo="hello")
