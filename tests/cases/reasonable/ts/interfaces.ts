import { github } from "tools";
interface Row { number: number; title: string; by?: string }
type Rows = Record<string, Row[]>;
const rows: Rows = {};
for (const i of await github.issuesList({ owner: "o", repo: "r" })) {
  (rows[i.state] ??= []).push({ number: i.number, title: i.title, by: i.closed_by?.login });
}
return rows;
