// Values that cross the channel: JSON, exact in both directions.
//
// Rules (the same in Python): no NaN or infinity; -0 is 0; BigInt and integers beyond
// 2^53 stay exact; dates are ISO 8601; Map with text keys is an object; Set is an array;
// bytes are base64; whatever JSON cannot say is an error that names where it stands.

import {
  Blob, Boolean, DataView, ArrayBuffer, BigInt, Date, Error, Map, Number, Promise, Set, String, Uint8Array,
  Uint8ClampedArray, bare, create, entries, exec, getPrototypeOf, getTime, includes, isArray, isFinite, isNaN,
  isSafeInteger, isView, isWellFormed, mapForEach, objectPrototype, parseJson, pop, push, rawJSON, setForEach,
  toISOString, toText, utf8Length,
} from "./primordials.mjs";

export const MAX_DEPTH = 100;

/** A value that has no JSON form. The message names the path. */
export class BadValue extends Error {
  constructor(path, problem, hint = "") {
    super(`${path} ${problem}.`);
    this.name = "BadValue";
    this.hint = hint;
  }
}

/** Digits of the longest integer that crosses; the same in Python. */
const MOST_DIGITS = 1000;

const UNSAFE_INTEGER = /\d{16}/;

/** JSON to values; integers that a double cannot hold become BigInt. */
export function parse(text) {
  if (exec(UNSAFE_INTEGER, text) === null) return parseJson(text);
  return parseJson(text, (_key, value, context) => {
    if (typeof value !== "number" || isSafeInteger(value)) return value;
    return exec(/^-?\d+$/, context.source) !== null ? BigInt(context.source) : value;
  });
}

/** Values made by `toJson` (or plain frames) to JSON text, always well-formed. */
export function stringify(value) {
  return toText(value);
}

/** What JSON says of *value*: a tree of null-prototype objects. Throws `BadValue`. */
export function toJson(value, root) {
  return convert(value, root, [], 0);
}

function convert(value, path, above, depth) {
  switch (typeof value) {
    case "string":
      if (!isWellFormed(value)) {
        throw new BadValue(path, "is text with half a surrogate pair", "Use text.toWellFormed().");
      }
      return value;
    case "number":
      if (isFinite(value)) return value === 0 ? 0 : value;
      throw new BadValue(path, `is ${value}, which JSON cannot say`, "Return null or text instead.");
    case "boolean":
      return value;
    case "bigint": {
      const digits = `${value}`;
      if (digits.length <= MOST_DIGITS + (value < 0n ? 1 : 0)) return rawJSON(digits);
      throw new BadValue(path, `is an integer with more than ${MOST_DIGITS} digits`, "Return text instead.");
    }
    case "undefined":
      return null; // in an array, as JSON has it; an object's property is left out
    case "function":
      throw new BadValue(path, "is a function");
    case "symbol":
      throw new BadValue(path, "is a symbol");
  }
  if (value === null) return null;
  if (includes(above, value)) throw new BadValue(path, "is circular: it contains itself");
  if (depth >= MAX_DEPTH) throw new BadValue(path, `is nested more than ${MAX_DEPTH} deep`);
  push(above, value);
  try {
    return compound(value, path, above, depth + 1);
  } catch (error) {
    if (error instanceof BadValue) throw error;
    throw new BadValue(path, `cannot be read: ${safeMessage(error)}`);
  } finally {
    pop(above);
  }
}

function compound(value, path, above, depth) {
  if (isArray(value)) return list(value, path, above, depth);
  const proto = getPrototypeOf(value);
  if (proto === null || proto === objectPrototype) {
    return object(entries(value), path, above, depth);
  }
  if (value instanceof Map) {
    const pairs = [];
    mapForEach(value, (item, key) => {
      if (typeof key !== "string") {
        throw new BadValue(path, `is a Map with a key that is a ${typeof key}, not text`);
      }
      push(pairs, [key, item]);
    });
    return object(pairs, path, above, depth);
  }
  if (value instanceof Set) {
    const items = [];
    setForEach(value, (item) => push(items, item));
    return list(items, path, above, depth);
  }
  if (value instanceof Date) {
    if (isNaN(getTime(value))) throw new BadValue(path, "is an invalid Date");
    return toISOString(value);
  }
  if (value instanceof ArrayBuffer) return base64(new Uint8Array(value));
  if (value instanceof Uint8Array || value instanceof Uint8ClampedArray) {
    return base64(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
  }
  if (value instanceof DataView) {
    return base64(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
  }
  if (isView(value)) return list(value, path, above, depth);
  if (value instanceof String || value instanceof Number || value instanceof Boolean) {
    return convert(value.valueOf(), path, above, depth);
  }
  if (value instanceof Promise) {
    throw new BadValue(path, "is a promise that was not awaited", "Put await before it.");
  }
  const hint =
    value instanceof Error
      ? "Return its message instead."
      : value instanceof Blob
        ? "Return await blob.text(), or its bytes."
        : "Return a plain object with the fields you need.";
  throw new BadValue(path, `is an instance of ${className(value)}`, hint);
}

function list(items, path, above, depth) {
  const out = [];
  for (let i = 0; i < items.length; i += 1) push(out, convert(items[i], `${path}[${i}]`, above, depth));
  return bare(out);
}

function object(pairs, path, above, depth) {
  const out = create(null);
  for (let i = 0; i < pairs.length; i += 1) {
    const key = pairs[i][0];
    const item = pairs[i][1];
    if (item === undefined) continue;
    const below = exec(/^[A-Za-z_$][\w$]*$/, key) !== null ? `${path}.${key}` : `${path}[${toText(key)}]`;
    if (!isWellFormed(key)) throw new BadValue(below, "has half a surrogate pair in its name");
    out[key] = convert(item, below, above, depth);
  }
  return out;
}

export function className(value) {
  try {
    const name = value.constructor?.name;
    return typeof name === "string" && name !== "" ? name : "a class";
  } catch {
    return "a class";
  }
}

function base64(bytes) {
  if (typeof bytes.toBase64 === "function") return bytes.toBase64();
  let text = "";
  for (let i = 0; i < bytes.length; i += 0x8000) {
    text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  }
  return btoa(text);
}

function safeMessage(error) {
  try {
    return String(error?.message ?? error);
  } catch {
    return "it threw";
  }
}
