import { pdf } from "tools";

const pages = await ["a.pdf", "b.pdf"].map((path) => pdf.text({ path }));
return pages;
