// console for scripts: one readable line per value, and no value can break it.

import { labelOf } from "./tools.mjs";
import { className } from "./values.mjs";

const MOST_DEPTH = 4;
const MOST_ITEMS = 100;
const MOST_TEXT = 10_000;

/** The console object of a run. write(stream, text) takes one call's text, no newline. */
export function makeConsole(write) {
  const counts = new Map();
  const timers = new Map();
  let prefix = "";
  const line = (stream, values) => {
    const text = format(values).toWellFormed();
    write(stream, prefix === "" ? text : text.replace(/^/gm, prefix));
  };
  const out = (...values) => line("stdout", values);
  const err = (...values) => line("stderr", values);
  const group = (...values) => {
    if (values.length > 0) out(...values);
    prefix += "  ";
  };
  const elapsed = (label = "default") => {
    const start = timers.get(label);
    return start === undefined ? `${label}: no such timer` : `${label}: ${Math.round(performance.now() - start)} ms`;
  };
  return {
    log: out,
    info: out,
    debug: out,
    dir: (value) => out(value),
    dirxml: out,
    table: (value) => out(value),
    warn: err,
    error: err,
    trace: err,
    assert: (condition, ...values) => {
      if (!condition) err("Assertion failed", ...values);
    },
    group,
    groupCollapsed: group,
    groupEnd: () => {
      prefix = prefix.slice(2);
    },
    count: (label = "default") => {
      counts.set(label, (counts.get(label) ?? 0) + 1);
      out(`${String(label)}: ${counts.get(label)}`);
    },
    countReset: (label = "default") => void counts.delete(label),
    time: (label = "default") => void timers.set(label, performance.now()),
    timeLog: (label, ...values) => out(elapsed(label), ...values),
    timeEnd: (label) => {
      out(elapsed(label));
      timers.delete(label ?? "default");
    },
    clear: () => {},
  };
}

/** The text of one console call; `%s`, `%d`, `%i`, `%f`, `%j`, `%o`, `%O` as elsewhere. */
export function format(values) {
  const rest = [...values];
  const parts = [];
  if (typeof rest[0] === "string" && rest.length > 1 && rest[0].includes("%")) {
    const template = rest.shift();
    parts.push(
      template.replace(/%[sdifjoOc%]/g, (mark) => {
        if (mark === "%%") return "%";
        if (rest.length === 0) return mark;
        const value = rest.shift();
        if (mark === "%c") return "";
        if (mark === "%s") return plain(value);
        if (mark === "%d" || mark === "%f") return typeof value === "object" ? "NaN" : inspect(value);
        if (mark === "%i") return typeof value === "number" ? String(Math.trunc(value)) : inspect(value);
        return inspect(value);
      }),
    );
  }
  for (const value of rest) parts.push(plain(value));
  return parts.join(" ");
}

function plain(value) {
  return typeof value === "string" ? value : inspect(value);
}

/** Readable text for any value; never throws. */
export function inspect(value) {
  try {
    return show(value, [], 0);
  } catch (error) {
    return "[a value that cannot be shown]";
  }
}

function show(value, above, depth) {
  switch (typeof value) {
    case "string": {
      const text = value.length > MOST_TEXT ? `${value.slice(0, MOST_TEXT)}…` : value;
      return JSON.stringify(text.toWellFormed());
    }
    case "bigint":
      return `${value}n`;
    case "symbol":
      return value.toString();
    case "function":
      return `[Function${value.name ? ` ${value.name}` : ""}]`;
    case "number":
      return Object.is(value, -0) ? "-0" : String(value);
    case "object":
      break;
    default:
      return String(value);
  }
  if (value === null) return "null";
  const label = labelOf(value);
  if (label !== undefined) return label;
  if (above.includes(value)) return "[Circular]";
  if (value instanceof Error) return showError(value, above, depth);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "Invalid Date" : value.toISOString();
  if (value instanceof RegExp) return String(value);
  if (value instanceof Promise) return "Promise { not awaited }";
  if (depth >= MOST_DEPTH) return Array.isArray(value) ? "[Array]" : `[${className(value)}]`;
  above.push(value);
  try {
    return showCompound(value, above, depth + 1);
  } finally {
    above.pop();
  }
}

function showCompound(value, above, depth) {
  const items = (list, one) => {
    const shown = list.slice(0, MOST_ITEMS).map(one);
    if (list.length > MOST_ITEMS) shown.push(`... ${list.length - MOST_ITEMS} more`);
    return shown.join(", ");
  };
  if (Array.isArray(value)) return `[${pad(items(value, (item) => show(item, above, depth)), "")}]`;
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    return `${className(value)}(${value.length}) [${items(Array.from(value), String)}]`;
  }
  if (value instanceof Map) {
    const pairs = items([...value], ([k, v]) => `${show(k, above, depth)} => ${show(v, above, depth)}`);
    return `Map(${value.size}) {${pad(pairs)}}`;
  }
  if (value instanceof Set) {
    return `Set(${value.size}) {${pad(items([...value], (item) => show(item, above, depth)))}}`;
  }
  const proto = Object.getPrototypeOf(value);
  const name = proto === null || proto === Object.prototype ? "" : `${className(value)} `;
  const body = items(Object.keys(value), (key) => {
    const shownKey = /^[A-Za-z_$][\w$]*$/.test(key) ? key : JSON.stringify(key);
    return `${shownKey}: ${showProperty(value, key, above, depth)}`;
  });
  return `${name}{${pad(body)}}`;
}

function showProperty(value, key, above, depth) {
  try {
    return show(value[key], above, depth);
  } catch {
    return "[threw when read]";
  }
}

function showError(error, above, depth) {
  const parts = [];
  for (const key of ["name", "message"]) {
    try {
      parts.push(String(error[key]));
    } catch {
      parts.push("?");
    }
  }
  const [name, message] = parts;
  const head = message === "" ? name : `${name}: ${message}`;
  const cause = "cause" in error && depth < MOST_DEPTH ? ` (caused by ${show(error.cause, [...above, error], depth + 1)})` : "";
  return `${head}${cause}`;
}

function pad(body, space = " ") {
  return body === "" ? "" : `${space}${body}${space}`;
}
