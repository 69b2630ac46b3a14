from datetime import datetime
from tools import github

now = datetime.fromisoformat(input["now"])
ages = []
page = 1
while True:
    batch = await github.issues_list_for_repo(owner="octo", repo="api", state="open", per_page=50, page=page)
    for issue in batch:
        if "pull_request" in issue:
            continue
        opened = datetime.fromisoformat(issue["created_at"].replace("Z", "+00:00"))
        ages.append(((now - opened).days, issue["number"], issue["title"]))
    if len(batch) < 50:
        break
    page += 1

ages.sort(key=lambda row: (-row[0], row[1]))
days = [age for age, number, title in ages]
print(f"{len(ages)} open issues on {page} pages")
return {
    "median_days": days[len(days) // 2],
    "oldest": [{"days": age, "number": number, "title": title} for age, number, title in ages[:3]],
    "older_than_60": sum(1 for age in days if age > 60),
}
