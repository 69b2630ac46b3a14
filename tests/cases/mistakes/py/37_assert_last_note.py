from tools import github
issues = await github.issues_list(owner="o", repo="r")
assert issues
