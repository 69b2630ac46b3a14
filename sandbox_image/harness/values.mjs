// Values that cross the channel: JSON, exact in both directions.
//
// Rules (the same in Python): no NaN or infinity; -0 is 0; BigInt and integers beyond
// 2^53 stay exact; dates are ISO 8601; Map with text keys is an object; Set is an array;
// bytes are base64; whatever JSON cannot say is an error that names where it stands.

export const MAX_DEPTH = 100;

/** A value that has no JSON form. The message names the path. */
export class BadValue extends Error {
  constructor(path, problem, hint = "") {
    super(`${path} ${problem}.`);
    this.name = "BadValue";
    this.hint = hint;
  }
}

// Taken before a script can replace them.
const { parse: parseJson, stringify: toText, rawJSON } = JSON;

/** Digits of the longest integer that both sides read; Python stops at 4300. */
const MOST_DIGITS = 4300;

const UNSAFE_INTEGER = /\d{16}/;

/** JSON to values; integers that a double cannot hold become BigInt. */
export function parse(text) {
  if (!UNSAFE_INTEGER.test(text)) return parseJson(text);
  return parseJson(text, (_key, value, context) => {
    if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
    return /^-?\d+$/.test(context.source) ? BigInt(context.source) : value;
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
      if (!value.isWellFormed()) {
        throw new BadValue(path, "is text with half a surrogate pair", "Use text.toWellFormed().");
      }
      return value;
    case "number":
      if (Number.isFinite(value)) return value === 0 ? 0 : value;
      throw new BadValue(path, `is ${value}, which JSON cannot say`, "Return null or text instead.");
    case "boolean":
      return value;
    case "bigint": {
      const digits = value.toString();
      if (digits.length <= MOST_DIGITS) return rawJSON(digits);
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
  if (above.includes(value)) throw new BadValue(path, "is circular: it contains itself");
  if (depth >= MAX_DEPTH) throw new BadValue(path, `is nested more than ${MAX_DEPTH} deep`);
  above.push(value);
  try {
    return compound(value, path, above, depth + 1);
  } catch (error) {
    if (error instanceof BadValue) throw error;
    throw new BadValue(path, `cannot be read: ${safeMessage(error)}`);
  } finally {
    above.pop();
  }
}

function compound(value, path, above, depth) {
  if (Array.isArray(value)) {
    return Array.from(value, (item, i) => convert(item, `${path}[${i}]`, above, depth));
  }
  const proto = Object.getPrototypeOf(value);
  if (proto === null || proto === Object.prototype) {
    return object(Object.entries(value), path, above, depth);
  }
  if (value instanceof Map) {
    const odd = [...value.keys()].find((key) => typeof key !== "string");
    if (odd !== undefined || [...value.keys()].some((key) => key === undefined)) {
      throw new BadValue(path, `is a Map with a key that is a ${typeof odd}, not text`);
    }
    return object([...value], path, above, depth);
  }
  if (value instanceof Set) {
    return [...value].map((item, i) => convert(item, `${path}[${i}]`, above, depth));
  }
  if (value instanceof Date) {
    if (Number.isNaN(value.getTime())) throw new BadValue(path, "is an invalid Date");
    return value.toISOString();
  }
  if (value instanceof ArrayBuffer) return base64(new Uint8Array(value));
  if (value instanceof Uint8Array || value instanceof Uint8ClampedArray) {
    return base64(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
  }
  if (value instanceof DataView) {
    return base64(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
  }
  if (ArrayBuffer.isView(value)) {
    return Array.from(value, (item, i) => convert(item, `${path}[${i}]`, above, depth));
  }
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

function object(entries, path, above, depth) {
  const out = Object.create(null);
  for (const [key, item] of entries) {
    if (item === undefined) continue;
    const below = /^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${JSON.stringify(key)}]`;
    if (!key.isWellFormed()) throw new BadValue(below, "has half a surrogate pair in its name");
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
