// What a script threw, told in words that a model can act on.

import { inspect } from "./console.mjs";
import { ToolError } from "./tools.mjs";

const MOST_CHARACTERS = 8000;
const MOST_NESTED = 5;

/** {code, message, hint} of anything that can be thrown; causes and grouped errors kept. */
export function describeError(error) {
  const known = read(error, "codemode");
  const code = error instanceof ToolError ? error.code : (known?.code ?? codeOf(error));
  const hint = error instanceof ToolError ? error.hint : (known?.hint ?? "");
  return { code, message: shorten(messageOf(error, 0)), hint };
}

function codeOf(error) {
  const text = `${read(error, "name")} ${read(error, "message")}`;
  return /SyntaxError/.test(text) ? "syntax" : "exception";
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
    if (Array.isArray(inner)) {
      for (const [i, one] of inner.slice(0, 20).entries()) {
        lines.push(indent(`${i + 1}) ${messageOf(one, level + 1)}`));
      }
      if (inner.length > 20) lines.push(indent(`and ${inner.length - 20} more`));
    }
    const cause = read(error, "cause");
    if (cause !== undefined) lines.push(`Caused by: ${messageOf(cause, level + 1)}`);
  }
  return lines.join("\n");
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
  return block.replaceAll("\n", "\n  ").replace(/^/, "  ");
}

function shorten(message) {
  const whole = message.toWellFormed();
  return whole.length <= MOST_CHARACTERS ? whole : `${whole.slice(0, MOST_CHARACTERS).toWellFormed()}…`;
}

/** {line, column} in the script, from 1, columns in code points; zeros if unknown. */
export function locate(error, scriptFrame, source) {
  const places = [read(error, "stack"), read(error, "message")];
  for (const place of places) {
    const found = typeof place === "string" ? scriptFrame.exec(place) : null;
    if (!found) continue;
    const line = Number(found[1]);
    const units = Number(found[2] ?? 1);
    const before = (source.split("\n")[line - 1] ?? "").slice(0, units - 1);
    return { line, column: [...before].length + 1 };
  }
  return { line: 0, column: 0 };
}
