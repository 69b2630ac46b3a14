page = await notion.pages_create(title="Plan")
return page["id"]
