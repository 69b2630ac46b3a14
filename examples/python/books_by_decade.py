from collections import Counter
from tools import open_library

decades = Counter()
titles = {}
page, seen = 1, 0
while True:
    answer = await open_library.search(
        author="Ursula Le Guin", fields="key,title,first_publish_year", sort="old", limit=10, page=page
    )
    for book in answer["docs"]:
        year = book.get("first_publish_year")
        if year:
            decade = f"{year // 10 * 10}s"
            decades[decade] += 1
            titles.setdefault(decade, book.get("title"))
    seen += len(answer["docs"])
    if not answer["docs"] or seen >= answer["numFound"]:
        break
    page += 1

return {"books": seen, "decades": [[name, decades[name], titles[name]] for name in sorted(decades)]}
