import asyncio
from tools import github

async def main():
    issues = await github.issues_list(owner="o", repo="r")
    return [{"number": i["number"], "title": i["title"]} for i in issues]

if __name__ == "__main__":
    asyncio.run(main())
