from tools import github

runs = []
for page in range(1, 11):
    answer = await github.actions_list_workflow_runs_for_repo(
        owner="octo", repo="api", branch="main", status="completed", per_page=20, page=page
    )
    runs.extend(answer["workflow_runs"])
    if len(runs) >= answer["total_count"]:
        break

by_workflow = {}
for run in runs:
    name = run.get("name") or "?"
    counts = by_workflow.setdefault(name, {"runs": 0, "failed": 0})
    counts["runs"] += 1
    if run["conclusion"] == "failure":
        counts["failed"] += 1

table = [
    {"workflow": name, **counts, "failure_rate": f"{counts['failed'] / counts['runs']:.0%}"}
    for name, counts in by_workflow.items()
]
table.sort(key=lambda row: row["failed"], reverse=True)
return {"runs": len(runs), "table": table}
