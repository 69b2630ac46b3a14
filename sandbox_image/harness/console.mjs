// console for scripts: one readable line per value, and no value can break it.

import {
  ArrayBuffer, DataView, Date, Error, Map, OwnMap, Promise, RegExp, Set, String, each, exec, getPrototypeOf,
  getTime, includes, is, isArray, isNaN, isView, join, keys, mapForEach, objectPrototype, performance, pop, push,
  replaceEach, round, setForEach, shift, slice, split, symbolText, toISOString, toText, toWellFormed, trunc,
} from "./primordials.mjs";
import { labelOf } from "./tools.mjs";
import { className } from "./values.mjs";

const MOST_DEPTH = 4;
const MOST_ITEMS = 100;
const MOST_TEXT = 10_000;

/** The console object of a run. write(stream, text) takes one call's text, no newline. */
export function makeConsole(write) {
  const counts = new OwnMap();
  const timers = new OwnMap();
  let prefix = "";
  const line = (stream, values) => {
    const text = toWellFormed(format(values));
    write(stream, prefix === "" ? text : prefix + join(split(text, "\n"), `\n${prefix}`));
  };
  const out = (...values) => line("stdout", values);
  const err = (...values) => line("stderr", values);
  const group = (...values) => {
    if (values.length > 0) out(...values);
    prefix += "  ";
  };
  const elapsed = (label = "default") => {
    const start = timers.get(label);
    return start === undefined ? `${label}: no such timer` : `${label}: ${round(performance.now() - start)} ms`;
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
      prefix = slice(prefix, 2);
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
  const rest = each(values, (value) => value);
  const parts = [];
  if (typeof rest[0] === "string" && rest.length > 1) {
    const template = shift(rest);
    push(
      parts,
      replaceEach(template, /%[sdifjoOc%]/, (mark) => {
        if (mark === "%%") return "%";
        if (rest.length === 0) return mark;
        const value = shift(rest);
        if (mark === "%c") return "";
        if (mark === "%s") return plain(value);
        if (mark === "%d" || mark === "%f") return typeof value === "object" ? "NaN" : inspect(value);
        if (mark === "%i") return typeof value === "number" ? String(trunc(value)) : inspect(value);
        return inspect(value);
      }),
    );
  }
  for (let i = 0; i < rest.length; i += 1) push(parts, plain(rest[i]));
  return join(parts, " ");
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
      const text = value.length > MOST_TEXT ? `${slice(value, 0, MOST_TEXT)}…` : value;
      return toText(toWellFormed(text));
    }
    case "bigint":
      return `${value}n`;
    case "symbol":
      return symbolText(value);
    case "function":
      return `[Function${value.name ? ` ${value.name}` : ""}]`;
    case "number":
      return is(value, -0) ? "-0" : String(value);
    case "object":
      break;
    default:
      return String(value);
  }
  if (value === null) return "null";
  const label = labelOf(value);
  if (label !== undefined) return label;
  if (includes(above, value)) return "[Circular]";
  if (value instanceof Error) return showError(value, above, depth);
  if (value instanceof Date) return isNaN(getTime(value)) ? "Invalid Date" : toISOString(value);
  if (value instanceof RegExp) return String(value);
  if (value instanceof Promise) return "Promise { not awaited }";
  if (depth >= MOST_DEPTH) return isArray(value) ? "[Array]" : `[${className(value)}]`;
  push(above, value);
  try {
    return showCompound(value, above, depth + 1);
  } finally {
    pop(above);
  }
}

function showCompound(value, above, depth) {
  const items = (list, one) => {
    const shown = [];
    for (let i = 0; i < list.length && i < MOST_ITEMS; i += 1) push(shown, one(list[i]));
    if (list.length > MOST_ITEMS) push(shown, `... ${list.length - MOST_ITEMS} more`);
    return join(shown, ", ");
  };
  if (isArray(value)) return `[${pad(items(value, (item) => show(item, above, depth)), "")}]`;
  if (isView(value) && !(value instanceof DataView)) {
    return `${className(value)}(${value.length}) [${items(value, (item) => `${item}`)}]`;
  }
  if (value instanceof Map) {
    const pairs = [];
    mapForEach(value, (v, k) => push(pairs, [k, v]));
    const shown = items(pairs, (pair) => `${show(pair[0], above, depth)} => ${show(pair[1], above, depth)}`);
    return `Map(${pairs.length}) {${pad(shown)}}`;
  }
  if (value instanceof Set) {
    const members = [];
    setForEach(value, (member) => push(members, member));
    return `Set(${members.length}) {${pad(items(members, (item) => show(item, above, depth)))}}`;
  }
  const proto = getPrototypeOf(value);
  const name = proto === null || proto === objectPrototype ? "" : `${className(value)} `;
  const body = items(keys(value), (key) => {
    const shownKey = exec(/^[A-Za-z_$][\w$]*$/, key) !== null ? key : toText(key);
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
  const part = (key) => {
    try {
      return String(error[key]);
    } catch {
      return "?";
    }
  };
  const name = part("name");
  const message = part("message");
  const head = message === "" ? name : `${name}: ${message}`;
  const cause = "cause" in error && depth < MOST_DEPTH ? ` (caused by ${show(error.cause, withOne(above, error), depth + 1)})` : "";
  return `${head}${cause}`;
}

function withOne(above, value) {
  const out = each(above, (item) => item);
  push(out, value);
  return out;
}

function pad(body, space = " ") {
  return body === "" ? "" : `${space}${body}${space}`;
}
