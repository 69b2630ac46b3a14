"""Exchange rates and public holidays: what can only be read."""

from __future__ import annotations

from typing import Any

from codemode.ab.routes import gone, route
from codemode.ab.state import TODAY, State
from codemode.testing import FakeRequest


def _rates(state: State, request: FakeRequest) -> Any:
    table = {"EUR": 1.0, **state.rates}
    base, amount = request.first("base") or "EUR", float(request.first("amount") or "1")
    if base not in table:
        return gone("not found")
    wanted = request.first("symbols").split(",") if request.first("symbols") else list(table)
    values = {
        code: round(amount * table[code] / table[base], 2 if amount != 1 else 5)
        for code in wanted
        if code != base and code in table
    }
    return {"amount": amount, "base": base, "date": "2026-02-27", "rates": values}


@route("frankfurter", "GET", "/v1/{date}")
def rates_on(state: State, request: FakeRequest) -> Any:
    return _rates(state, request)


@route("frankfurter", "GET", "/v1/currencies")
def currencies(state: State, request: FakeRequest) -> Any:
    return {"EUR": "Euro", **dict.fromkeys(state.rates, "Currency")}


@route("frankfurter", "GET", "/v1/latest")
def rates_latest(state: State, request: FakeRequest) -> Any:
    return _rates(state, request)


def _holidays(state: State, country: str) -> list[dict[str, Any]]:
    return [
        {
            "date": day,
            "localName": name,
            "name": name,
            "countryCode": country,
            "global": True,
            "counties": None,
            "types": ["Public"],
        }
        for day, name in state.holidays[country]
    ]


@route("nager_date", "GET", "/api/v3/PublicHolidays/{year}/{countryCode}")
def public_holidays(state: State, request: FakeRequest) -> Any:
    country = request.path_args["countryCode"]
    if country not in state.holidays:
        return gone()
    return _holidays(state, country) if request.path_args["year"] == "2026" else []


@route("nager_date", "GET", "/api/v3/NextPublicHolidays/{countryCode}")
def next_holidays(state: State, request: FakeRequest) -> Any:
    country = request.path_args["countryCode"]
    if country not in state.holidays:
        return gone()
    return [one for one in _holidays(state, country) if one["date"] >= TODAY]


@route("nager_date", "GET", "/api/v3/AvailableCountries")
def countries(state: State, request: FakeRequest) -> Any:
    return [{"countryCode": code, "name": code} for code in state.holidays]
