"""The small fixed world that the examples run in: `examples/upstream.json`, served."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

from codemode.testing import FakeReply, FakeRequest
from upstream.service import FactUpstream, paged

TOKENS = {"github": "gh-token-of-the-examples", "slack": "xoxb-examples", "stripe": "sk_examples"}
REPO = "/repos/{owner}/{repo}"
Answer = Callable[[FakeRequest], Any]


def build(upstream: FactUpstream, data: dict[str, Any]) -> None:
    """Make *upstream* answer every service of *data*, as on its first day."""
    upstream.forget()
    _github(upstream, data["github"])
    for name, serve in (
        ("slack", _slack),
        ("stripe", _stripe),
        ("frankfurter", _frankfurter),
        ("hacker_news", _hacker_news),
        ("open_meteo", _open_meteo),
        ("osv", _osv),
        ("nager_date", _nager_date),
        ("open_library", _open_library),
        ("usgs_earthquakes", _usgs_earthquakes),
        ("nominatim", _nominatim),
        ("crossref", _crossref),
    ):
        serve(upstream, data[name])


def gone(message: str = "Not Found") -> FakeReply:
    return FakeReply(status=404, json={"message": message})


# -- GitHub ------------------------------------------------------------------------------------


class _GitHub:
    """Issues that stay once they are opened, labels that cannot be made twice."""

    def __init__(self, upstream: FactUpstream, data: dict[str, Any]) -> None:
        self._upstream, self._data = upstream, data
        self._issues = {n: self._issue(n) for n in range(1, data["issues"]["count"] + 1)}
        self._labels = {name: self._label(name, color) for name, color in data["labels"]}
        self._comments: dict[int, list[dict[str, Any]]] = {}

    def user(self, login: str) -> dict[str, Any]:
        number = sum(map(ord, login))
        html_url = f"https://github.com/{login}"
        return {"login": login, "id": number, "type": "User", "html_url": html_url}

    def _label(self, name: str, color: str = "ededed") -> dict[str, Any]:
        return {"id": sum(map(ord, name)), "name": name, "color": color, "description": None}

    def _issue(self, number: int, **given: Any) -> dict[str, Any]:
        facts = self._data["issues"]
        opened = date.fromisoformat(facts["first_day"]) + timedelta(days=number - 1)
        touched = opened + timedelta(days=number % 9)
        closed = number in facts["closed"]
        people = [None, "ada", "lin", None]
        assignee = people[number % len(people)]
        issue = {
            "number": number,
            "id": 5000 + number,
            "title": f"Issue {number}",
            "state": "closed" if closed else "open",
            "body": None,
            "user": self.user("sam"),
            "labels": [self._label(facts["labels"][number % len(facts["labels"])])],
            "assignees": [self.user(assignee)] if assignee else [],
            "milestone": None,
            "comments": number % 4,
            "created_at": f"{opened}T08:00:00Z",
            "updated_at": f"{touched}T08:00:00Z",
            "closed_at": f"{touched}T08:00:00Z" if closed else None,
            "html_url": f"https://github.com/octo/api/issues/{number}",
        }
        if number in facts["pulls"]:
            issue["pull_request"] = {"html_url": None, "merged_at": None}
        return {**issue, **given}

    def issues(self, request: FakeRequest) -> FakeReply:
        state = request.first("state", "open")
        found = [i for i in self._issues.values() if state in ("all", i["state"])]
        newest_first = sorted(found, key=lambda issue: -issue["number"])
        return paged(request, newest_first, url=self._upstream.url)

    def search(self, request: FakeRequest) -> dict[str, Any]:
        """The few qualifiers that the examples use."""
        query = request.first("q")
        found = [issue for issue in self._issues.values() if "pull_request" not in issue]
        if "is:open" in query:
            found = [issue for issue in found if issue["state"] == "open"]
        if before := re.search(r"updated:<(\S+)", query):
            found = [issue for issue in found if issue["updated_at"] < before[1]]
        if words := re.search(r'in:title "([^"]*)"', query):
            found = [issue for issue in found if words[1].lower() in issue["title"].lower()]
        if request.first("sort") == "updated":
            descending = request.first("order", "desc") == "desc"
            found.sort(key=lambda issue: issue["updated_at"], reverse=descending)
        size = int(request.first("per_page", "30"))
        return {"total_count": len(found), "incomplete_results": False, "items": found[:size]}

    def create(self, request: FakeRequest) -> dict[str, Any]:
        number = max(self._issues) + 1
        labels = [self._label(name) for name in request.json.get("labels", [])]
        issue = self._issue(number, title=request.json["title"], labels=labels)
        self._issues[number] = issue
        return issue

    def comment(self, request: FakeRequest) -> Any:
        number = int(request.path_args["issue_number"])
        if number not in self._issues:
            return gone()
        comments = self._comments.setdefault(number, [])
        when = "2026-03-02T10:00:00Z"
        comments.append(
            {
                "id": 900 + len(comments),
                "body": request.json["body"],
                "user": self.user("octo"),
                "created_at": when,
                "updated_at": when,
                "html_url": f"https://github.com/octo/api/issues/{number}#comment",
            }
        )
        return comments[-1]

    def comments(self, request: FakeRequest) -> list[dict[str, Any]]:
        return self._comments.get(int(request.path_args["issue_number"]), [])

    def labels(self, request: FakeRequest) -> FakeReply:
        return paged(request, list(self._labels.values()), url=self._upstream.url)

    def create_label(self, request: FakeRequest) -> Any:
        name = request.json["name"]
        if name.lower() in map(str.lower, self._labels):
            errors = [{"resource": "Label", "code": "already_exists", "field": "name"}]
            return FakeReply(status=422, json={"message": "Validation Failed", "errors": errors})
        self._labels[name] = self._label(name, request.json.get("color", "ededed"))
        return self._labels[name]

    def pull(self, facts: dict[str, Any]) -> dict[str, Any]:
        number = facts["number"]
        return {
            "number": number,
            "id": 7000 + number,
            "title": facts["title"],
            "state": "open",
            "draft": facts.get("draft", False),
            "body": None,
            "user": self.user(facts["author"]),
            "labels": [],
            "head": {"label": "octo:work", "ref": "work", "sha": "1" * 40},
            "base": {"label": "octo:main", "ref": "main", "sha": "2" * 40},
            "created_at": "2026-02-20T09:00:00Z",
            "updated_at": "2026-02-25T09:00:00Z",
            "closed_at": None,
            "merged_at": None,
            "html_url": f"https://github.com/octo/api/pull/{number}",
        }

    def reviews(self, request: FakeRequest) -> Any:
        number = int(request.path_args["pull_number"])
        for pull in self._data["pulls"]:
            if pull["number"] == number:
                return [
                    {"id": at, "user": self.user(who), "body": "", "state": state, "html_url": ""}
                    for at, (who, state) in enumerate(pull["reviews"], 1)
                ]
        return gone()

    def compare(self, request: FakeRequest) -> Any:
        if request.path_args["base"] != "v1.1.0":
            return gone()
        commits = [
            {
                "sha": f"{at:040x}",
                "html_url": f"https://github.com/octo/api/commit/{at:040x}",
                "commit": {"message": message, "author": {"name": who.title()}},
                "author": self.user(who),
                "parents": [],
            }
            for at, (message, who) in enumerate(self._data["commits"], 1)
        ]
        total = len(commits)
        counts = {"status": "ahead", "ahead_by": total, "behind_by": 0, "total_commits": total}
        return {**counts, "commits": commits, "files": []}

    def content(self, request: FakeRequest) -> Any:
        path = request.path_args["path"]
        text = self._data["files"].get(path)
        if text is None:
            return gone()
        name = path.rsplit("/", 1)[-1]
        about = {"type": "file", "name": name, "path": path, "sha": "3" * 40, "size": len(text)}
        return {**about, "content": text, "encoding": "base64"}

    def profile(self, request: FakeRequest) -> Any:
        login = request.path_args["username"]
        if login not in self._data["users"]:
            return gone()
        return {**self.user(login), "email": self._data["users"][login]}

    def contributors(self, request: FakeRequest) -> list[dict[str, Any]]:
        return [
            {"login": login, "id": at, "type": kind, "contributions": count}
            for at, (login, kind, count) in enumerate(self._data["contributors"], 1)
        ]

    def runs(self, request: FakeRequest) -> dict[str, Any]:
        runs = [
            {
                "id": 80000 + at,
                "name": name,
                "run_number": at,
                "display_title": f"{name} {at}",
                "event": "push",
                "status": "completed",
                "conclusion": conclusion,
                "head_branch": "main",
                "workflow_id": 1,
                "created_at": "2026-03-01T00:00:00Z",
                "updated_at": "2026-03-01T00:10:00Z",
                "html_url": f"https://github.com/octo/api/actions/runs/{80000 + at}",
            }
            for at, (name, conclusion) in enumerate(self._data["runs"], 1)
        ]
        page, size = int(request.first("page", "1")), int(request.first("per_page", "30"))
        return {"total_count": len(runs), "workflow_runs": runs[(page - 1) * size : page * size]}


def _github(upstream: FactUpstream, data: dict[str, Any]) -> None:
    github = _GitHub(upstream, data)
    pulls = [github.pull(facts) for facts in data["pulls"]]
    for method, path, answer in (
        ("GET", f"{REPO}/issues", github.issues),
        ("POST", f"{REPO}/issues", github.create),
        ("GET", f"{REPO}/issues/{{issue_number}}/comments", github.comments),
        ("POST", f"{REPO}/issues/{{issue_number}}/comments", github.comment),
        ("GET", "/search/issues", github.search),
        ("GET", f"{REPO}/labels", github.labels),
        ("POST", f"{REPO}/labels", github.create_label),
        ("GET", f"{REPO}/pulls", pulls),
        ("GET", f"{REPO}/pulls/{{pull_number}}/reviews", github.reviews),
        ("GET", f"{REPO}/compare/{{base}}...{{head}}", github.compare),
        ("GET", f"{REPO}/contents/{{path}}", github.content),
        ("GET", f"{REPO}/contributors", github.contributors),
        ("GET", f"{REPO}/actions/runs", github.runs),
        ("GET", "/users/{username}", github.profile),
    ):
        upstream.serve("github", method, path, answer)


# -- the others --------------------------------------------------------------------------------


def _slack(upstream: FactUpstream, data: dict[str, Any]) -> None:
    def look_up(request: FakeRequest) -> dict[str, Any]:
        found = data["users"].get(request.first("email"))
        if found is None:
            return {"ok": False, "error": "users_not_found"}
        return {"ok": True, "user": {"id": found, "name": request.first("email").split("@")[0]}}

    def post(request: FakeRequest) -> dict[str, Any]:
        form = dict(request.form)
        message = {"type": "message", "ts": "1772445600.000100", "text": form.get("text", "")}
        return {"ok": True, "channel": form["channel"], "ts": message["ts"], "message": message}

    upstream.serve("slack", "GET", "/users.lookupByEmail", look_up)
    upstream.serve("slack", "POST", "/chat.postMessage", post)


def _stripe(upstream: FactUpstream, data: dict[str, Any]) -> None:
    invoices = [
        {
            "id": name,
            "object": "invoice",
            "status": "open",
            "currency": currency,
            "amount_due": amount,
            "amount_paid": 0,
            "amount_remaining": amount,
            "total": amount,
            "created": 1772400000,
            "livemode": False,
        }
        for name, currency, amount in data["invoices"]
    ]

    def listed(request: FakeRequest) -> dict[str, Any]:
        names = [invoice["id"] for invoice in invoices]
        after = request.first("starting_after")
        start = names.index(after) + 1 if after else 0
        end = start + int(request.first("limit", "10"))
        return {"object": "list", "data": invoices[start:end], "has_more": end < len(invoices)}

    upstream.serve("stripe", "GET", "/v1/invoices", listed)


def _frankfurter(upstream: FactUpstream, data: dict[str, Any]) -> None:
    def rates(request: FakeRequest) -> Any:
        day = request.path_args.get("date", data["latest"])
        if day not in data["rates"]:
            return gone("not found")
        table = data["rates"][day]
        base, amount = request.first("base", "EUR"), float(request.first("amount", "1"))
        wanted = request.first("symbols").split(",") if request.first("symbols") else table
        values = {
            code: round(amount * table[code] / table[base], 2 if amount != 1 else 5)
            for code in wanted
            if code != base and code in table
        }
        return {"amount": amount, "base": base, "date": day, "rates": values}

    upstream.serve("frankfurter", "GET", "/v1/latest", rates)
    upstream.serve("frankfurter", "GET", "/v1/{date}", rates)


def _hacker_news(upstream: FactUpstream, data: list[list[Any]]) -> None:
    items = {}
    for number, kind, title, url, score, comments in data:
        about = {"title": title, "url": url, "score": score, "descendants": comments}
        known = {name: value for name, value in about.items() if value is not None}
        items[str(number)] = {"id": number, "type": kind, **known} if kind else None

    def item(request: FakeRequest) -> FakeReply:
        return FakeReply(json=items.get(request.path_args["id"]))

    upstream.serve("hacker_news", "GET", "/topstories.json", [int(number) for number in items])
    upstream.serve("hacker_news", "GET", "/item/{id}.json", item)


def _open_meteo(upstream: FactUpstream, data: dict[str, Any]) -> None:
    def geocode(request: FakeRequest) -> dict[str, Any]:
        found = [
            {"id": at, "name": name, "latitude": lat, "longitude": lon, "timezone": zone}
            for at, (name, lat, lon, zone) in enumerate(data["places"], 1)
            if request.first("name").lower() == name.lower()
        ]
        return {"results": found} if found else {}

    def forecast(request: FakeRequest) -> Any:
        lat, lon = float(request.first("latitude")), float(request.first("longitude"))
        for name, at_lat, at_lon, zone in data["places"]:
            if (at_lat, at_lon) == (lat, lon):
                warm, rain = data["daily"][name]
                days = ["2026-03-02", "2026-03-03", "2026-03-04"]
                daily = {"time": days, "temperature_2m_max": warm, "precipitation_sum": rain}
                return {"latitude": lat, "longitude": lon, "timezone": zone, "daily": daily}
        return FakeReply(status=400, json={"error": True, "reason": "no such point here"})

    upstream.serve("open_meteo", "GET", "/v1/search", geocode)
    upstream.serve("open_meteo", "GET", "/v1/forecast", forecast)


def _osv(upstream: FactUpstream, data: list[dict[str, Any]]) -> None:
    stamp = "2024-01-01T00:00:00Z"

    def batch(request: FakeRequest) -> dict[str, Any]:
        results = []
        for query in request.json["queries"]:
            found = [
                {"id": fault["id"], "modified": stamp}
                for fault in data
                if fault["package"] == query["package"]["name"]
                and query["version"] in fault["versions"]
            ]
            results.append({"vulns": found} if found else {})
        return {"results": results}

    def one(request: FakeRequest) -> Any:
        for fault in data:
            if fault["id"] == request.path_args["id"]:
                fixed = [{"fixed": fault["fixed"]}] if fault["fixed"] else []
                ranges = [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, *fixed]}]
                package = {"name": fault["package"], "ecosystem": "PyPI"}
                affected = [{"package": package, "ranges": ranges}]
                about = {"id": fault["id"], "modified": stamp, "summary": fault["summary"]}
                return {**about, "affected": affected}
        return gone("Bug not found.")

    upstream.serve("osv", "POST", "/v1/querybatch", batch)
    upstream.serve("osv", "GET", "/v1/vulns/{id}", one)


def _nager_date(upstream: FactUpstream, data: dict[str, Any]) -> None:
    def holidays(request: FakeRequest) -> Any:
        country = request.path_args["countryCode"]
        if country not in data:
            return gone()
        return [
            {
                "date": day,
                "localName": name,
                "name": name,
                "countryCode": country,
                "global": everywhere,
                "counties": None if everywhere else ["DE-BB"],
                "types": ["Public"],
            }
            for day, name, everywhere in data[country]
        ]

    path = "/api/v3/PublicHolidays/{year}/{countryCode}"
    upstream.serve("nager_date", "GET", path, holidays)


def _open_library(upstream: FactUpstream, data: list[list[Any]]) -> None:
    books = sorted(data, key=lambda book: book[1] or 9999)

    def search(request: FakeRequest) -> dict[str, Any]:
        page, size = int(request.first("page", "1")), int(request.first("limit", "100"))
        start = (page - 1) * size
        docs = [
            {"key": f"/works/OL{start + at}W", "title": title}
            | ({"first_publish_year": year} if year else {})
            for at, (title, year) in enumerate(books[start : start + size], 1)
        ]
        return {"numFound": len(books), "start": start, "docs": docs}

    upstream.serve("open_library", "GET", "/search.json", search)


def _usgs_earthquakes(upstream: FactUpstream, data: list[list[Any]]) -> None:
    features = [
        {
            "id": name,
            "properties": {"mag": mag, "place": None, "time": 1772400000000},
            "geometry": {"type": "Point", "coordinates": [lon, lat, depth]},
        }
        for name, mag, lon, lat, depth in data
    ]
    metadata = {"count": len(features)}
    feed = {"type": "FeatureCollection", "metadata": metadata, "features": features}
    path = "/earthquakes/feed/v1.0/summary/{magnitude}_{period}.geojson"
    upstream.serve("usgs_earthquakes", "GET", path, feed)


def _nominatim(upstream: FactUpstream, data: list[list[Any]]) -> None:
    def reverse(request: FakeRequest) -> Any:
        lat, lon = float(request.first("lat")), float(request.first("lon"))
        if lat < 0:
            return FakeReply(status=429, json={"error": "Too many requests"})
        for at, (known_lat, known_lon, name) in enumerate(data, 1):
            if (known_lat, known_lon) == (lat, lon):
                return {"place_id": at, "lat": str(lat), "lon": str(lon), "display_name": name}
        return {"error": "Unable to geocode"}

    upstream.serve("nominatim", "GET", "/reverse", reverse)


def _crossref(upstream: FactUpstream, data: list[dict[str, Any]]) -> None:
    works = [
        {
            "DOI": work["DOI"],
            "type": "journal-article",
            "title": [work["title"]],
            "author": [{"given": "A.", "family": name} for name in work["authors"]],
            "issued": {"date-parts": [[work["year"]]]},
            "is-referenced-by-count": work["cited"],
        }
        for work in data
    ]

    def search(request: FakeRequest) -> dict[str, Any]:
        cursor, size = request.first("cursor", "*"), int(request.first("rows", "20"))
        start = 0 if cursor == "*" else int(cursor)
        items = works[start : start + size]
        message = {"total-results": len(works), "items": items, "next-cursor": str(start + size)}
        return {"status": "ok", "message": message}

    upstream.serve("crossref", "GET", "/works", search)
