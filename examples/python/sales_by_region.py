from statistics import mean
from tools import data, sqlite

sales = await data.csv_join(left="sales.csv", right="shops.csv", on="shop", keep_unmatched=True)

values = ", ".join(
    f"('{sale['day']}', '{sale.get('region') or 'unknown'}', {round(float(sale['amount']) * 100)})" for sale in sales
)
await sqlite.execute(
    database="sales.db",
    sql=f"create table sale (day text, region text, cents integer); insert into sale values {values};",
)
rows = await sqlite.query(
    database="sales.db",
    sql="select region, count(*) as sales, sum(cents) as cents from sale group by region order by cents desc",
)
return {"rows": rows, "mean_cents": mean(row["cents"] for row in rows)}
