// What a script threw, told in words that a model can act on.

import { inspect } from "./console.mjs";
import {
  Error, Number, codePointAt, exec, isArray, join, push, slice, split, toWellFormed,
} from "./primordials.mjs";
import { ToolError } from "./tools.mjs";

const MOST_CHARACTERS = 8000;
const MOST_NESTED = 5;

/** {code, message, hint} of anything that can be thrown; causes and grouped errors kept. */
export function describeError(error) {
  const known = read(error, "codemode");
  const code = error instanceof ToolError ? error.code : (known?.code ?? codeOf(error));
  const hint = error instanceof ToolError ? error.hint : (known?.hint ?? "");
  return { code: plain(code), message: shorten(messageOf(error, 0)), hint: plain(hint) };
}

/** A script can throw a ToolError of its own making. */
function plain(value) {
  return typeof value === "string" ? toWellFormed(value) : text(value);
}

function codeOf(error) {
  const text = `${read(error, "name")} ${read(error, "message")}`;
  return exec(/SyntaxError/, text) !== null ? "syntax" : "exception";
}

function messageOf(error, level) {
  if (typeof error === "string") return error;
  if (!(error instanceof Error)) {
    const message = error !== null && typeof error === "object" ? read(error, "message") : undefined;
    return typeof message === "string" && message !== "" ? message : `${inspect(error)} was thrown`;
  }
  const name = text(read(error, "name")) || "Error";
  const message = text(read(error, "message"));
  const lines = [message === "" ? name : `${name}: ${message}`];
  if (level < MOST_NESTED) {
    const inner = read(error, "errors");
    if (isArray(inner)) {
      for (let i = 0; i < inner.length && i < 20; i += 1) {
        push(lines, indent(`${i + 1}) ${messageOf(inner[i], level + 1)}`));
      }
      if (inner.length > 20) push(lines, indent(`and ${inner.length - 20} more`));
    }
    const cause = read(error, "cause");
    if (cause !== undefined) push(lines, `Caused by: ${messageOf(cause, level + 1)}`);
  }
  return join(lines, "\n");
}

/** A property that may be a getter which throws. */
function read(value, key) {
  try {
    return value?.[key];
  } catch {
    return undefined;
  }
}

function text(value) {
  return typeof value === "string" ? value : value === undefined ? "" : inspect(value);
}

function indent(block) {
  return `  ${join(split(block, "\n"), "\n  ")}`;
}

function shorten(message) {
  const whole = toWellFormed(message);
  return whole.length <= MOST_CHARACTERS ? whole : `${toWellFormed(slice(whole, 0, MOST_CHARACTERS))}…`;
}

/** {line, column} in the script, from 1, columns in code points; zeros if unknown. */
export function locate(error, scriptFrame, source) {
  const places = [read(error, "stack"), read(error, "message")];
  for (let i = 0; i < places.length; i += 1) {
    const found = typeof places[i] === "string" ? exec(scriptFrame, places[i]) : null;
    if (!found) continue;
    const line = Number(found[1]);
    const units = Number(found[2] ?? 1);
    const before = slice(split(source, "\n")[line - 1] ?? "", 0, units - 1);
    let column = 1;
    for (let at = 0; at < before.length; at += codePointAt(before, at) > 0xffff ? 2 : 1) column += 1;
    return { line, column };
  }
  return { line: 0, column: 0 };
}
