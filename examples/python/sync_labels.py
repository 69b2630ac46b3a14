from tools import ToolError, github

wanted = {"bug": "d73a4a", "docs": "0075ca", "security": "b60205", "Bug": "d73a4a"}
existing = await github.issues_list_labels_for_repo(owner="octo", repo="api", per_page=100)
names = [label["name"] for label in existing]

report = {"kept": [], "made": [], "failed": []}
for name, color in wanted.items():
    if name in names:
        report["kept"].append(name)
        continue
    try:
        await github.issues_create_label(owner="octo", repo="api", name=name, color=color)
        report["made"].append(name)
    except ToolError as error:  # GitHub takes Bug for the bug that is there
        report["failed"].append({"name": name, "status": error.status, "retryable": error.retryable})

return report
