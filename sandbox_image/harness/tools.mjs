// What a script imports from "tools": namespaces, search, describe and ToolError.

import {
  Array, Error, OwnSet, Promise, Proxy, Reflect, String, WeakMap, assign, captureStackTrace, create,
  defineProperty, each, entries, freeze, getPrototypeOf, indexOf, isArray, join, keys, lower, max, objectPrototype,
  push, slice, then, weakGet, weakSet,
} from "./primordials.mjs";
import { BadValue, toJson } from "./values.mjs";

/** Why a call has no value. */
export class ToolError extends Error {
  constructor(message, { code = "error", status = null, retryable = false, hint = "" } = {}) {
    super(message);
    this.name = "ToolError";
    this.code = code;
    this.status = status;
    this.retryable = retryable;
    this.hint = hint;
  }
}

/**
 * A call that starts when it is awaited. It is a Promise so that types and
 * `instanceof` hold; `then` is what starts it.
 */
export class Call extends Promise {
  static get [Symbol.species]() {
    return Promise;
  }
  #resolve;
  #reject;
  #begin;
  #problem;
  started = false;

  static make(tool, args, problem, begin) {
    let resolve, reject;
    const call = new Call((yes, no) => ((resolve = yes), (reject = no)));
    call.tool = tool;
    call.args = args;
    call.#resolve = resolve;
    call.#reject = reject;
    call.#begin = begin;
    call.#problem = problem;
    call.origin = {};
    captureStackTrace(call.origin, Call.make);
    return call;
  }

  then(onValue, onError) {
    this.#start();
    return then(this, onValue, onError);
  }

  #start() {
    if (this.started) return;
    this.started = true;
    if (this.#problem) this.settle(null, this.#problem);
    else this.#begin(this);
  }

  settle(value, error) {
    if (!error) return this.#resolve(value);
    const raised = new ToolError(error.message, error);
    // The place that counts is where the script made the call, not where the answer arrived.
    const stack = String(this.origin.stack);
    const end = indexOf(stack, "\n");
    const stackText = `ToolError: ${error.message}${end < 0 ? "" : slice(stack, end)}`;
    defineProperty(raised, "stack", { __proto__: null, value: stackText, writable: true, configurable: true });
    this.#reject(raised);
  }
}

freeze(Call);
freeze(Call.prototype);

/** Names that engines and libraries look up on any object; they are not invented tools. */
const PROBED = new OwnSet();
for (const name of ["then", "toJSON", "constructor", "inspect", "nodeType", "asymmetricMatch"]) PROBED.add(name);
const namespaces = new WeakMap();

/** Label of a toolset's namespace, or undefined; lets console print one without a call. */
export function labelOf(value) {
  return weakGet(namespaces, value);
}

/**
 * Everything the module "tools" exports, by name, plus `tools` itself.
 *
 * begin(call): sends a call. made(call): is told of each call before it starts.
 */
export function makeTools(names, begin, made) {
  const all = create(null);
  const call = (tool, args, problem) => {
    const made_ = Call.make(tool, args, problem, begin);
    made(made_);
    return made_;
  };
  for (const [toolset, functions] of entries(names)) {
    const namespace = create(null);
    for (const [name, { tool }] of entries(functions)) {
      namespace[name] = named(name, (...given) => {
        const { args, problem } = readArgs(`${toolset}.${name}`, given);
        return call(tool, args, problem);
      });
    }
    all[toolset] = guard(freeze(namespace), toolset);
  }
  all.search = named("search", (query, options) => {
    const rest = typeof options === "number" ? { limit: options } : options;
    const given = typeof query === "string" ? { query, ...rest } : query;
    const { args, problem } = readArgs("search", [given]);
    return call("codemode.search", args, problem);
  });
  all.describe = named("describe", (...given) => {
    const first = given[0];
    const isObject = first !== null && typeof first === "object" && !isArray(first);
    const { args, problem } = readArgs("describe", [isObject ? first : { names: flat(given) }]);
    return call("codemode.describe", args, problem);
  });
  all.ToolError = ToolError;
  all.tools = guardRoot(freeze(assign(create(null), all)));
  return all;
}

function named(name, fn) {
  return freeze(defineProperty(fn, "name", { __proto__: null, value: name }));
}

function flat(given) {
  const names = [];
  for (let i = 0; i < given.length; i += 1) {
    if (!isArray(given[i])) push(names, given[i]);
    else for (let k = 0; k < given[i].length; k += 1) push(names, given[i][k]);
  }
  return names;
}

/** One plain object, or nothing; anything else is a mistake that is told, never guessed at. */
function readArgs(path, given) {
  const value = given[0];
  const bad = (message) => ({
    problem: {
      code: "bad_arguments",
      message: `${path} ${message}.`,
      hint: `Call it as ${path}({ name: value }).`,
    },
  });
  for (let i = 1; i < given.length; i += 1) {
    if (given[i] !== undefined) return bad(`takes one object with named arguments, not ${given.length} values`);
  }
  if (value === undefined) return { args: {} };
  const proto = typeof value === "object" && value !== null ? getPrototypeOf(value) : undefined;
  if (proto !== null && proto !== objectPrototype) {
    const got = value === null ? "null" : isArray(value) ? "an array" : `a ${typeof value}`;
    return bad(`takes one object with named arguments, not ${got}`);
  }
  try {
    return { args: toJson(value, path) };
  } catch (error) {
    if (!(error instanceof BadValue)) throw error;
    return { problem: { code: "bad_arguments", message: error.message, hint: error.hint } };
  }
}

function guard(namespace, toolset) {
  const proxy = new Proxy(namespace, {
    get(target, key) {
      if (key in target) return target[key];
      if (typeof key === "symbol" || PROBED.has(key)) return undefined;
      throw unknown(`${toolset}.${key}`, key, keys(target), toolset);
    },
  });
  weakSet(namespaces, proxy, `[Toolset ${toolset}: ${join(keys(namespace), ", ")}]`);
  return proxy;
}

function guardRoot(root) {
  const toolsets = keys(root).filter((name) => typeof root[name] === "object");
  const listing = () =>
    new ToolError("The tools cannot be listed or called as a whole.", {
      code: "unknown_tool",
      hint: 'Use await search("what you need"), or import a toolset: import { name } from "tools".',
    });
  const proxy = new Proxy(() => {}, {
    get(_, key) {
      if (typeof key === "string" && key in root) return root[key];
      if (typeof key === "symbol" || PROBED.has(key)) return undefined;
      throw unknown(`tools.${key}`, key, toolsets, "");
    },
    apply() {
      throw listing();
    },
    ownKeys() {
      throw listing();
    },
    has: (_, key) => key in root,
    set: () => false,
    defineProperty: () => false,
    deleteProperty: () => false,
    getPrototypeOf: () => null,
  });
  weakSet(namespaces, proxy, `[Tools: ${join(toolsets, ", ")}]`);
  return proxy;
}

function unknown(path, key, known, toolset) {
  const near = each(nearest(key, known), (name) => (toolset ? `${toolset}.${name}` : name));
  return new ToolError(`There is no ${path}.`, {
    code: "unknown_tool",
    hint: near.length > 0 ? `Did you mean ${join(near, ", ")}?` : 'Use await search("...") to find a tool.',
  });
}

/** Up to three of *known* that look most like *name*, best first. */
export function nearest(name, known) {
  const scores = each(known, (candidate) => similarity(lower(name), lower(candidate)));
  const best = [];
  while (best.length < 3) {
    let at = 0;
    for (let i = 1; i < scores.length; i += 1) if (scores[i] > scores[at]) at = i;
    if (!(scores[at] >= 0.6)) break;
    push(best, known[at]);
    scores[at] = 0;
  }
  return best;
}

/** Share of letters in common and in the same order, 0 to 1. */
function similarity(a, b) {
  if (a.length > 100 || b.length > 100) return 0;
  let row = [0];
  for (let i = 0; i < b.length; i += 1) push(row, 0);
  for (let k = 0; k < a.length; k += 1) {
    const next = [0];
    for (let i = 0; i < b.length; i += 1) {
      push(next, a[k] === b[i] ? row[i] + 1 : max(row[i + 1], next[i]));
    }
    row = next;
  }
  return (2 * row[b.length]) / (a.length + b.length || 1);
}
