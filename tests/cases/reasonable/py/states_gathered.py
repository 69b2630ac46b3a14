import asyncio
from tools import github
states = ["open", "closed"]
results = await asyncio.gather(*(github.issues_list(owner="o", repo="r", state=s) for s in states))
return dict(zip(states, map(len, results)))
