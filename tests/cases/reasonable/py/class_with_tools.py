from tools import github

class Repo:
    def __init__(self, owner):
        self.owner = owner

    async def issues(self):
        return await github.issues_list(owner=self.owner, repo="r")

return len(await Repo("o").issues())
