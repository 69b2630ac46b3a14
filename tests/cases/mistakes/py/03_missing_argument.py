from tools import github

return await github.issues_list(owner="octo")
