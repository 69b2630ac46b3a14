from tools import describe, search
found = await search(query="issues", limit=3)
return await describe(names=[found["tools"][0]["path"]])
