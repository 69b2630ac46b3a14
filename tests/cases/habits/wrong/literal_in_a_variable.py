# told: opened
from tools import github
state = "opened"
return await github.issues_list(owner="o", repo="r", state=state)
