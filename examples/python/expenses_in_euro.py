import asyncio
from tools import frankfurter

expenses = input["expenses"]


async def in_euro(expense):
    if expense["currency"] == "EUR":
        return round(expense["amount"], 2)
    answer = await frankfurter.on_date(
        date=expense["date"], base=expense["currency"], symbols="EUR", amount=expense["amount"]
    )
    return answer["rates"]["EUR"]


amounts = await asyncio.gather(*[in_euro(expense) for expense in expenses])

per_person = {}
for expense, amount in zip(expenses, amounts):
    per_person[expense["who"]] = per_person.get(expense["who"], 0) + amount

return {
    "rows": [{**expense, "eur": amount} for expense, amount in zip(expenses, amounts)],
    "per_person": {who: f"{total:.2f}" for who, total in sorted(per_person.items())},
}
