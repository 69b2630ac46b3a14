from tools import github

await github.issues_create(owner="octo", repo="hello", titel="It breaks")
