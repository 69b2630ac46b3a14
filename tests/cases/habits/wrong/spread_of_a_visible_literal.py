# told: stat
from tools import github
return await github.issues_list(**{"owner": "o", "repo": "r", "stat": "x"})
