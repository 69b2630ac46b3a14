import json
import re
from tools import github
issue = await github.issues_get(owner="o", repo="r", number=1)
match = re.search(r"(\d+)", issue["title"])
number = int(match.group(1)) if match else 0
data = json.loads(issue.get("body") or "{}")
return {"number": number, "names": [x["name"] for x in data.get("items", [])]}
