# told: None
from tools import github
i = await github.issues_get(owner="o", repo="r", number=1)
return i["closed_by"]["login"]
