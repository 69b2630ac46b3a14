from tools import github
rows = []
for issue in await github.issues_list(owner="o", repo="r"):
    rows.append({"number": issue["number"], "title": issue["title"], "n": len(issue["labels"])})
rows.sort(key=lambda row: (-row["n"], row["title"]))
return {"rows": rows, "most": max(row["n"] for row in rows)}
