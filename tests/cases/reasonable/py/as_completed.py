import asyncio
from tools import github
titles = []
for done in asyncio.as_completed([github.issues_get(owner="o", repo="r", number=n) for n in (1, 2)]):
    issue = await done
    titles.append(issue["title"])
return titles
