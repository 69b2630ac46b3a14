const started = performance.now();
const text = new Intl.DateTimeFormat("en", { dateStyle: "short" }).format(new Date(0));
const url = new URL("https://a.b/c?d=1");
url.searchParams.set("e", "2");
const copy = structuredClone({ a: [1, { b: 2 }] });
const id = crypto.randomUUID();
return { text, url: url.toString(), copy, id: id.length, took: performance.now() - started };
