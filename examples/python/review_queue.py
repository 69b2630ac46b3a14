import asyncio
from tools import github

pulls = await github.pulls_list(owner="octo", repo="api", state="open", sort="created", direction="asc")
reviews = await asyncio.gather(
    *(github.pulls_list_reviews(owner="octo", repo="api", pull_number=pull["number"]) for pull in pulls)
)

queue = []
for pull, given in zip(pulls, reviews):
    if pull["draft"]:
        continue
    latest = {}
    for review in given:
        reviewer = review["user"]
        if reviewer is not None and review["state"] in ("APPROVED", "CHANGES_REQUESTED"):
            latest[reviewer["login"]] = review["state"]
    verdicts = list(latest.values())
    if "CHANGES_REQUESTED" in verdicts:
        state = "waits for its author"
    elif verdicts.count("APPROVED") >= 2:
        state = "can be merged"
    else:
        state = f"needs {2 - verdicts.count('APPROVED')} more"
    queue.append({"number": pull["number"], "title": pull["title"], "state": state, "reviewers": sorted(latest)})

return queue
