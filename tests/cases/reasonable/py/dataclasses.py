from dataclasses import dataclass, asdict, field
from tools import github

@dataclass
class Row:
    number: int
    title: str
    labels: list[str] = field(default_factory=list)

rows = [Row(i["number"], i["title"], i["labels"]) for i in await github.issues_list(owner="o", repo="r")]
return [asdict(row) for row in rows]
