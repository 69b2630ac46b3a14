import tools

return await tools["github"].issues_list(owner="octo", repo="hello")
