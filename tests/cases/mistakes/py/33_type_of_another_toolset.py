from tools.mail_box import Issue, Leter

found: list[Issue] = []
return found
