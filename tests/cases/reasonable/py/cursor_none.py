from tools import mail_box
letters = []
cursor = None
while True:
    kwargs = {"limit": 50}
    if cursor:
        kwargs["cursor"] = cursor
    page = await mail_box.page(**kwargs)
    letters.extend(page["letters"])
    cursor = page.get("next_cursor")
    if not cursor:
        break
return len(letters)
