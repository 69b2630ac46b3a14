import { pdf } from "tools";

const reports = ["january.pdf", "february.pdf", "march.pdf"];

const rows = await Promise.all(
  reports.map(async (input) => {
    const text = await pdf.getText({ input, first_page: 1, last_page: 1 });
    const total = /Total: (\d+) EUR/.exec(text);
    return { input, pages: await pdf.countPages({ input }), total_eur: total ? Number(total[1]) : null };
  }),
);

// The quarter is the first page of each report.
const firstPages = [];
for (const { input } of rows) {
  firstPages.push(await pdf.takePages({ input, pages: "1", output: `first-${input}` }));
}
const output = await pdf.merge({ inputs: firstPages, output: "quarter.pdf" });

return { rows, output, pages: await pdf.countPages({ input: output }), sum_eur: rows.reduce((sum, row) => sum + (row.total_eur ?? 0), 0) };
