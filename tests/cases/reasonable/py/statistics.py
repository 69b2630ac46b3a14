import statistics
from tools import github
issues = await github.issues_list(owner="o", repo="r")
counts = [i["comments"] for i in issues]
return {"mean": statistics.mean(counts), "median": statistics.median(counts)}
