# told: looped
from tools import github
async def f():
    return await github.issues_list(owner="o", repo="r")
for i in f():
    print(i)
