import re
from dataclasses import dataclass
from tools import text_search


@dataclass
class Problem:
    message: str
    first: str
    times: int = 1


lines = await text_search.lines(pattern=r"\bERROR\b", folder=".", glob="*.log")
problems: dict[str, Problem] = {}
for line in lines:
    match = re.search(r"(\d{4}-\S+Z) ERROR (.*)", line)
    if match is None:
        continue
    at, message = match.groups()
    if message in problems:
        problems[message].times += 1
    else:
        problems[message] = Problem(message, at)

return sorted(problems.values(), key=lambda problem: -problem.times)
