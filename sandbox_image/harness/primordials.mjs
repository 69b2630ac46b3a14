// What the harness uses of the language, taken before a script can replace any of it.
//
// A script may patch every prototype it sees; it then changes its own behaviour, not the
// frames. So harness code that runs beside a script calls `push(list, x)`, never
// `list.push(x)`, walks lists by index, and builds frames without prototypes.

export const {
  Array, ArrayBuffer, BigInt, Blob, Boolean, DataView, Date, Error, Map, Math, Number, Object, Promise, Proxy,
  RangeError, Reflect, RegExp, Set, String, Symbol, SyntaxError, TextDecoder, TextEncoder, TypeError,
  Uint8Array, Uint8ClampedArray, WeakMap, performance, setTimeout,
} = globalThis;

const { bind, call } = Function.prototype;

/** *method* as a function whose first argument is `this`. */
export const uncurry = bind.bind(call);

export const { parse: parseJson, stringify: toText, rawJSON } = JSON;
export const {
  assign, create, defineProperty, entries, freeze, getOwnPropertyDescriptor, getOwnPropertyNames,
  getPrototypeOf, hasOwn, is, keys, setPrototypeOf,
} = Object;
export const { apply } = Reflect;
export const { isArray } = Array;
export const { isFinite, isInteger, isNaN, isSafeInteger } = Number;
export const { isView } = ArrayBuffer;
export const { captureStackTrace } = Error;
export const objectPrototype = Object.prototype;
export const { max, min, round, trunc } = Math;

export const push = uncurry(Array.prototype.push);
export const pop = uncurry(Array.prototype.pop);
export const shift = uncurry(Array.prototype.shift);
export const includes = uncurry(Array.prototype.includes);
export const join = uncurry(Array.prototype.join);
export const slice = uncurry(String.prototype.slice);
export const split = uncurry(String.prototype.split);
export const indexOf = uncurry(String.prototype.indexOf);
export const startsWith = uncurry(String.prototype.startsWith);
export const lower = uncurry(String.prototype.toLowerCase);
export const codePointAt = uncurry(String.prototype.codePointAt);
export const isWellFormed = uncurry(String.prototype.isWellFormed);
export const toWellFormed = uncurry(String.prototype.toWellFormed);
export const exec = uncurry(RegExp.prototype.exec);
export const then = uncurry(Promise.prototype.then);
export const getTime = uncurry(Date.prototype.getTime);
export const toISOString = uncurry(Date.prototype.toISOString);
export const symbolText = uncurry(Symbol.prototype.toString);
export const errorText = uncurry(Error.prototype.toString);
export const mapForEach = uncurry(Map.prototype.forEach);
export const setForEach = uncurry(Set.prototype.forEach);
export const weakGet = uncurry(WeakMap.prototype.get);
export const weakSet = uncurry(WeakMap.prototype.set);

const bytesPrototype = getPrototypeOf(Uint8Array.prototype);
export const byteLength = uncurry(getOwnPropertyDescriptor(bytesPrototype, "byteLength").get);
export const subarray = uncurry(bytesPrototype.subarray);
export const setBytes = uncurry(bytesPrototype.set);
export const copyWithin = uncurry(bytesPrototype.copyWithin);
const encoder = new TextEncoder();
const encodeText = uncurry(TextEncoder.prototype.encode);
const encodeInto = uncurry(TextEncoder.prototype.encodeInto);
const decodeText = uncurry(TextDecoder.prototype.decode);

export function encode(text) {
  return encodeText(encoder, text);
}

export function decode(bytes) {
  return decodeText(new TextDecoder(), bytes);
}

export function utf8Length(text) {
  return byteLength(encodeText(encoder, text));
}

/** The longest beginning of *text* that fits in *bytes*, never half a character. */
export function cut(text, bytes) {
  return slice(text, 0, encodeInto(encoder, text, new Uint8Array(max(0, bytes))).read);
}

/** A list without a prototype: nothing added to `Array.prototype` is found through it. */
export function bare(list) {
  return setPrototypeOf(list, null);
}

/** What *change* makes of each item, as a list. */
export function each(list, change) {
  const out = [];
  for (let i = 0; i < list.length; i += 1) push(out, change(list[i], i));
  return out;
}

/** Parts of *text* that do not match *pattern* (without the g flag), and what *change* makes of the others. */
export function replaceEach(text, pattern, change) {
  let out = "";
  for (let found; (found = exec(pattern, text)) !== null; ) {
    const end = found.index + (found[0].length || 1);
    out += slice(text, 0, found.index) + change(found[0]);
    text = slice(text, end);
  }
  return out + text;
}

function sealed(kind, names) {
  const own = class extends kind {};
  for (const name of names) {
    defineProperty(own.prototype, name, getOwnPropertyDescriptor(kind.prototype, name));
  }
  setPrototypeOf(own.prototype, null);
  freeze(own.prototype);
  return own;
}

/** Map and Set with methods of their own; walk them with forEach. */
export const OwnMap = sealed(Map, ["get", "set", "has", "delete", "forEach", "size"]);
export const OwnSet = sealed(Set, ["add", "has", "delete", "forEach", "size"]);

/** Keep what the runtime itself looks up late from being replaced: a script that tries is told. */
export function lock(target, names) {
  for (const name of names) {
    const own = getOwnPropertyDescriptor(target, name);
    defineProperty(target, name, own.get ? { configurable: false } : { configurable: false, writable: false });
  }
}

// What the runtime itself looks up late: `await` asks a promise for its constructor, streams
// ask bytes for their place and call functions by `call`.
lock(Promise.prototype, ["constructor"]);
lock(Promise, [Symbol.species]);
lock(bytesPrototype, ["length", "byteLength", "byteOffset", "buffer"]);
lock(Function.prototype, ["call", "apply", "bind"]);
