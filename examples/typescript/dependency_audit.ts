import { github, osv } from "tools";

const file = await github.reposGetContent({ owner: "octo", repo: "api", path: "requirements.txt" });
if (Array.isArray(file) || file.type !== "file" || !("content" in file)) {
  throw new Error("requirements.txt is not a file");
}
const lines = atob(file.content.replaceAll("\n", "")).split("\n");
const packages = lines
  .map((line) => line.trim().match(/^([A-Za-z0-9._-]+)==([^\s#]+)/))
  .filter((match) => match !== null)
  .map(([, name, version]) => ({ name, version }));

const { results } = await osv.queryBatch({
  queries: packages.map(({ name, version }) => ({ package: { name, ecosystem: "PyPI" }, version })),
});

const hits = results.flatMap((result, index) => (result.vulns ?? []).map((vuln) => ({ ...packages[index], id: vuln.id })));
const details = await Promise.all(hits.map((hit) => osv.vulnerability({ id: hit.id })));

return {
  checked: packages.length,
  vulnerable: hits.map((hit, index) => {
    const events = (details[index].affected ?? []).flatMap((one) => one.ranges ?? []).flatMap((range) => range.events);
    return { ...hit, summary: details[index].summary, fixed_in: events.find((event) => event.fixed)?.fixed ?? null };
  }),
};
