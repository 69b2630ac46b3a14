from tools import mail_box

async def letters():
    cursor = None
    while True:
        page = await mail_box.page(cursor=cursor) if cursor else await mail_box.page()
        for letter in page["letters"]:
            yield letter
        cursor = page.get("next_cursor")
        if not cursor:
            return

ids = []
async for letter in letters():
    ids.append(letter["id"])
return ids
