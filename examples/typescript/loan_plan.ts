interface Payment { month: number; interest: number; principal: number; balance: number }

/** Equal payments; everything in cents so that the last payment settles the rest exactly. */
function plan(amount: number, yearlyRate: number, months: number): Payment[] {
  const rate = yearlyRate / 12;
  const payment = Math.round((amount * rate) / (1 - (1 + rate) ** -months));
  const rows: Payment[] = [];
  let balance = amount;
  for (let month = 1; month <= months; month++) {
    const interest = Math.round(balance * rate);
    const principal = month === months ? balance : payment - interest;
    balance -= principal;
    rows.push({ month, interest, principal, balance });
  }
  return rows;
}

async function main() {
  const rows = plan(1_200_000, 0.036, 12);
  const interest = rows.reduce((sum, row) => sum + row.interest, 0);
  console.log(`first ${JSON.stringify(rows[0])}`);
  return { interest_cents: interest, first: rows[0], last: rows.at(-1) };
}

main();
