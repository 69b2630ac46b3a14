from tools import mail_box

mail_box.send(to=["a@example.org"], text="hello")
return "sent"
