import requests

return requests.get("https://example.org").json()
