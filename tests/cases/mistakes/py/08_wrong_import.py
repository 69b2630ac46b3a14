from tools import gitub

return await gitub.issues_list(owner="octo", repo="hello")
