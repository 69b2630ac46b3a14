from tools import mail_box

return await mail_box.send(to=["a@example.org"], text="hi", form="me@example.org")
