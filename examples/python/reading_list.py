from tools import crossref

works = []
cursor = "*"
while cursor and len(works) < 5:
    answer = await crossref.works(query="typed directories", select="DOI,title,author,issued,is-referenced-by-count", rows=2, cursor=cursor)
    message = answer["message"]
    if not message["items"]:
        break
    works += message["items"]
    cursor = message.get("next-cursor")

lines = []
for work in sorted(works, key=lambda w: -w.get("is-referenced-by-count", 0)):
    authors = [a["family"] for a in work.get("author", []) if "family" in a]
    who = authors[0] + (" et al." if len(authors) > 1 else "") if authors else "anon."
    year = work.get("issued", {}).get("date-parts", [[None]])[0][0]
    title = (work.get("title") or ["untitled"])[0]
    lines.append(f"{who} ({year}). {title}. doi:{work['DOI']}")

return "\n".join(lines)
