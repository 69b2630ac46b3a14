"""The world of a seed: equal seeds give equal worlds; every task finds what it needs."""

from __future__ import annotations

from random import Random

from codemode.ab.state import (
    Charge,
    Customer,
    Invoice,
    Issue,
    Message,
    Person,
    Pull,
    Repo,
    State,
)

DAY_S = 86_400
MARCH_S = 1_772_323_200
"""2026-03-01T00:00:00Z: invoices due before are overdue."""

NAMES = "Aster Birch Cedar Dahlia Elm Fern Gorse Hazel Iris Juniper Kale Laurel".split()
KINDS = "Works Foods Labs Press Rail Glass Farms Tools".split()
PARTS = "login search export upload billing-page menu cache importer parser sync".split()
FAULTS = [
    "breaks on empty input",
    "is slow",
    "shows the wrong date",
    "forgets the choice",
    "needs a test",
    "times out",
]


def seeded(seed: int) -> State:
    """The world that every session of *seed* starts in."""
    rng = Random(f"codemode-ab-{seed}")  # noqa: S311 -- data, not secrets
    people = {
        login: Person(
            id=f"U{at:02}", login=login, name=login.title(), email=f"{login}@octo.example"
        )
        for at, login in enumerate(("ada", "lin", "sam", "kim"), 1)
    }
    customers = _customers(rng)
    state = State(
        repos={},
        people=people,
        channels={
            name: f"C{at:02}"
            for at, name in enumerate(("general", "ops", "billing", "releases", "support"), 1)
        },
        messages={},
        customers={one.id: one for one in customers},
        charges={},
        invoices={},
        rates={"USD": 1.25, "GBP": 0.8, "CHF": 0.95},
        holidays={
            "DE": [("2026-01-01", "Neujahr"), ("2026-04-03", "Karfreitag"), ("2026-05-01", "Mai")],
            "FR": [("2026-04-06", "Lundi de Paques"), ("2026-05-01", "Fete du Travail")],
        },
    )
    _payments(state, rng)
    for name in ("octo/api", "octo/web"):
        state.repos[name] = _repo(rng, state, name)
    _chat(state, rng)
    return state


def _customers(rng: Random) -> list[Customer]:
    names = rng.sample(NAMES, 9)
    found = [
        Customer(
            id=f"cus_{at:03}",
            name=f"{name} {rng.choice(KINDS)}",
            email=f"office@{name.lower()}.example",
        )
        for at, name in enumerate(names[:8], 1)
    ]
    twin = rng.choice(found)
    found.append(Customer(id="cus_009", name=f"{twin.name} Ltd", email=twin.email))
    return found


def _payments(state: State, rng: Random) -> None:
    ids = list(state.customers)
    amounts = rng.sample(range(1_100, 9_900, 2), 16)
    for at in range(14):
        status = "failed" if at in (3, 8, 11) else "succeeded"
        id = f"ch_{at + 1:03}"
        state.charges[id] = Charge(
            id=id,
            customer=ids[at % 7],
            amount=amounts[at],
            status=status,
            created=MARCH_S - (30 - at) * DAY_S,
        )
    # One customer was charged the same amount twice, an hour apart.
    twice = Charge(
        id="ch_015", customer=ids[7], amount=amounts[14], status="succeeded", created=MARCH_S - 7200
    )
    state.charges["ch_015"] = twice
    state.charges["ch_016"] = Charge(
        id="ch_016",
        customer=ids[7],
        amount=twice.amount,
        status="succeeded",
        created=twice.created + 3600,
    )
    totals = rng.sample(range(10_000, 90_000), 13)
    for at in range(13):
        status = ("open", "paid", "open", "void")[at % 4]
        id = f"in_{at + 1:03}"
        state.invoices[id] = Invoice(
            id=id,
            customer=ids[rng.randrange(7)],
            status=status,
            total=totals[at],
            remaining=totals[at] if status == "open" else 0,
            due=MARCH_S + (rng.randint(-20, -1) if at % 3 else rng.randint(3, 20)) * DAY_S,
        )


def _repo(rng: Random, state: State, name: str) -> Repo:
    labels = ["bug", "feature", "docs", "urgent", "billing", "wontfix"]
    if name == "octo/api":
        labels += ["security", "good-first-issue"]
    issues: dict[int, Issue] = {}
    for number in range(1, 13):
        issue = Issue(
            number=number,
            title=f"The {rng.choice(PARTS)} {rng.choice(FAULTS)}",
            body=f"Seen {rng.randint(2, 40)} times.",
            author=rng.choice(list(state.people)),
            is_open=number % 3 != 0,
            day=f"2026-02-{number + 1:02}",
        )
        issue.labels.add(("bug", "feature", "docs")[rng.randrange(3)])
        if number in (3, 6):
            issue.labels.add("urgent")
        if number in (4, 5, 9):
            issue.labels.add("wontfix")
        if number in (1, 2):
            issue.labels.add("bug")
        if number not in (2, 8):
            issue.assignees.add(rng.choice(list(state.people)))
        issues[number] = issue
    if name == "octo/api":
        charge = rng.choice([c for c in state.charges.values() if c.status == "succeeded"][:8])
        issues[7].title, issues[7].body = "Refund request", f"Please refund charge {charge.id}."
        asked = rng.choice(list(state.customers.values())[:7])
        issues[8].title = "Customer question"
        issues[8].body = f"Asked by {asked.id}: where is the export?"
        paid = [one.id for one in state.invoices.values() if one.status == "paid"]
        unpaid = [one.id for one in state.invoices.values() if one.status == "open"]
        for number, invoice in (
            (10, rng.choice(paid)),
            (11, rng.choice(unpaid)),
            (4, rng.choice(paid)),
        ):
            issues[number].labels.add("billing")
            issues[number].body = f"Waiting for invoice {invoice} to be paid."
    else:
        debts = debt_by_customer(state)
        large = [id for id, debt in debts.items() if debt > 50_000] or list(debts)
        small = [id for id in state.customers if debts.get(id, 0) <= 50_000]
        for number, customer in ((1, rng.choice(large)), (7, rng.choice(small))):
            issues[number].body = f"Reported by customer {customer}."
    pulls = {
        number: Pull(
            number=number,
            title=f"Mend the {rng.choice(PARTS)}",
            author=rng.choice(["lin", "sam"]),
            reviewers={"kim"} if number == 102 else set(),
        )
        for number in (101, 102, 103)
    }
    tag = rng.randint(1, 9)
    return Repo(
        issues=issues,
        pulls=pulls,
        labels=set(labels),
        releases={f"v1.{tag - 1}.0": "Before", f"v1.{tag}.0": f"Release {tag}"},
        last_issue=103,
    )


def debt_by_customer(state: State) -> dict[str, int]:
    """Customer id -> cents that remain on open invoices."""
    debts: dict[str, int] = {}
    for invoice in state.invoices.values():
        if invoice.status == "open":
            debts[invoice.customer] = debts.get(invoice.customer, 0) + invoice.remaining
    return debts


def _chat(state: State, rng: Random) -> None:
    logins = list(state.people)
    charge = rng.choice(list(state.charges.values()))
    fresh = rng.choice([name for name in NAMES if not _is_taken(state, name)])
    leaked = rng.choice(list(state.customers.values())[:8])
    closed, still_open = rng.choice([3, 6, 9, 12]), rng.choice([1, 2, 5])
    label = rng.choice([1, 2, 5])
    texts = {
        "general": ["Good morning", f"Write to {leaked.email} about it", "Lunch at noon?"],
        "ops": [f"Is #{closed} done?", f"Who looks at #{still_open}?", "The disk is at 80%"],
        "billing": ["Books are closed for February"],
        "releases": [
            f"Please tag v2.{rng.randint(0, 9)}.0 of octo/api",
            f"Ship pull request #{rng.choice([101, 103])} of octo/web",
        ],
        "support": [
            f"What became of {charge.id}?",
            f"octo/api #{label} is urgent for us",
            f"New customer: {fresh} Mills, hello@{fresh.lower()}.example",
        ],
    }
    for at, (channel, said) in enumerate(texts.items()):
        state.messages[state.channels[channel]] = [
            Message(
                ts=f"17724{at}{n:04}.000100", user=state.people[rng.choice(logins)].id, text=text
            )
            for n, text in enumerate(said)
        ]


def _is_taken(state: State, name: str) -> bool:
    return any(name in customer.name for customer in state.customers.values())
