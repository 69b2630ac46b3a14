"""Stripe, as far as the tasks go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from codemode.ab.routes import route
from codemode.ab.state import Charge, Customer, Invoice, Refund, State
from codemode.testing import FakeReply, FakeRequest


def _customer(one: Customer) -> dict[str, Any]:
    head = {"id": one.id, "object": "customer", "created": 1_767_225_600, "livemode": False}
    return {**head, "email": one.email, "name": one.name, "metadata": {}}


def _charge(one: Charge) -> dict[str, Any]:
    paid = one.status == "succeeded"
    head = {"id": one.id, "object": "charge", "created": one.created, "livemode": False}
    return {
        **head,
        "amount": one.amount,
        "amount_refunded": one.refunded,
        "currency": "eur",
        "status": one.status,
        "paid": paid,
        "refunded": one.refunded == one.amount,
        "customer": one.customer,
        "payment_intent": None,
        "description": None,
    }


def _invoice(one: Invoice, state: State) -> dict[str, Any]:
    return {
        "id": one.id,
        "object": "invoice",
        "number": one.id.upper(),
        "status": one.status,
        "customer": one.customer,
        "customer_email": state.customers[one.customer].email,
        "currency": "eur",
        "amount_due": one.total,
        "amount_paid": one.total if one.status == "paid" else 0,
        "amount_remaining": one.remaining,
        "total": one.total,
        "due_date": one.due,
        "created": one.due - 30 * 86_400,
        "livemode": False,
    }


def _range(request: FakeRequest, field: str, value: int) -> bool:
    """Stripe's ``created[gte]`` and its kin."""
    tests: dict[str, Callable[[int], bool]] = {
        "gt": lambda n: value > n,
        "gte": lambda n: value >= n,
        "lt": lambda n: value < n,
        "lte": lambda n: value <= n,
    }
    for name, check in tests.items():
        given = request.first(f"{field}[{name}]")
        if given and not check(int(given)):
            return False
    return True


def _listed(request: FakeRequest, items: list[dict[str, Any]]) -> Any:
    ids = [one["id"] for one in items]
    after = request.first("starting_after")
    if after and after not in ids:
        return FakeReply(status=400, json={"error": {"message": f"No such object: {after}"}})
    start = ids.index(after) + 1 if after else 0
    end = start + min(100, int(request.first("limit", "10")))
    return {"object": "list", "data": items[start:end], "has_more": end < len(items)}


@route("stripe", "GET", "/v1/customers")
def customers_list(state: State, request: FakeRequest) -> Any:
    email = request.first("email")
    found = [one for one in state.customers.values() if email in ("", one.email)]
    return _listed(request, [_customer(one) for one in found])


@route("stripe", "POST", "/v1/customers")
def customers_create(state: State, request: FakeRequest) -> Any:
    form = dict(request.form)
    return _customer(state.add_customer(form.get("name", ""), form.get("email", "")))


@route("stripe", "GET", "/v1/customers/{customer}")
def customers_get(state: State, request: FakeRequest) -> Any:
    """Stands before customers/search, which also fits its path: later routes win."""
    found = state.customers.get(request.path_args["customer"])
    if found is None:
        return FakeReply(status=404, json={"error": {"message": "No such customer"}})
    return _customer(found)


@route("stripe", "GET", "/v1/customers/search")
def customers_search(state: State, request: FakeRequest) -> Any:
    """``email:"a@b.c"`` and ``name~"part"``, the two that are asked for."""
    field, _, value = request.first("query").replace("~", ":").partition(":")
    value = value.strip().strip("'\"")
    found = [
        _customer(one)
        for one in state.customers.values()
        if value and value.lower() in str(getattr(one, field.strip(), "")).lower()
    ]
    return {"object": "search_result", "data": found, "has_more": False, "next_page": None}


@route("stripe", "GET", "/v1/charges")
def charges_list(state: State, request: FakeRequest) -> Any:
    customer = request.first("customer")
    found = [
        one
        for one in sorted(state.charges.values(), key=lambda one: -one.created)
        if customer in ("", one.customer) and _range(request, "created", one.created)
    ]
    return _listed(request, [_charge(one) for one in found])


@route("stripe", "GET", "/v1/invoices")
def invoices_list(state: State, request: FakeRequest) -> Any:
    customer, status = request.first("customer"), request.first("status")
    found = [
        one
        for one in state.invoices.values()
        if customer in ("", one.customer)
        and status in ("", one.status)
        and _range(request, "due_date", one.due)
    ]
    return _listed(request, [_invoice(one, state) for one in found])


def _refund(refund: Refund) -> dict[str, Any]:
    return {
        "id": refund.id,
        "object": "refund",
        "amount": refund.amount,
        "currency": "eur",
        "charge": refund.charge,
        "payment_intent": None,
        "reason": refund.reason,
        "status": "succeeded",
        "metadata": {},
        "created": 1_772_445_600,
    }


@route("stripe", "POST", "/v1/refunds")
def refunds_create(state: State, request: FakeRequest) -> Any:
    form = dict(request.form)
    charge = state.charges.get(form.get("charge", ""))
    if charge is None:
        return FakeReply(status=404, json={"error": {"message": "No such charge"}})
    left = charge.amount - charge.refunded
    amount = int(form["amount"]) if form.get("amount") else left
    if charge.status != "succeeded" or not 0 < amount <= left:
        message = "This charge cannot be refunded by that amount."
        return FakeReply(status=400, json={"error": {"message": message}})
    return _refund(state.refund(charge.id, amount, form.get("reason")))


@route("stripe", "GET", "/v1/refunds")
def refunds_list(state: State, request: FakeRequest) -> Any:
    charge = request.first("charge")
    found = [one for one in state.refunds if charge in ("", one.charge)]
    return _listed(request, [_refund(one) for one in found])
