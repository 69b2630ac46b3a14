from tools import *

return await github.issues_list(owner="octo", repo="hello")
