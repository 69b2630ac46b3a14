from tools import mail_box
found = []
cursor = ""
while (page := await mail_box.page(cursor=cursor)) and page["letters"]:
    found += [letter["id"] for letter in page["letters"]]
    if not (cursor := page.get("next_cursor") or ""):
        break
return found
