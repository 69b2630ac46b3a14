from tools.slack import post_message

return await post_message(text="hello")
