import { frankfurter, stripe } from "tools";

const invoices: stripe.Invoice[] = [];
let startingAfter: string | undefined;
do {
  const page = await stripe.invoicesList({ status: "open", limit: 3, ...(startingAfter ? { starting_after: startingAfter } : {}) });
  invoices.push(...page.data);
  startingAfter = page.has_more ? page.data.at(-1)?.id : undefined;
} while (startingAfter);

const currencies = [...new Set(invoices.map((invoice) => invoice.currency.toUpperCase()))].filter((code) => code !== "EUR");
const { rates, date } = await frankfurter.latest({ base: "EUR", symbols: currencies.join(",") });

let totalCents = 0;
const rows = invoices.map((invoice) => {
  const code = invoice.currency.toUpperCase();
  const cents = Math.round(code === "EUR" ? invoice.amount_remaining : invoice.amount_remaining / rates[code]);
  totalCents += cents;
  return { id: invoice.id, due: `${(invoice.amount_remaining / 100).toFixed(2)} ${code}`, eur: (cents / 100).toFixed(2) };
});
return { rate_of: date, rows, total_eur: (totalCents / 100).toFixed(2) };
