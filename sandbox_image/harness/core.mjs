// The JavaScript half of a sandbox: runs one TypeScript script and carries its calls.
//
// No I/O of its own and no host API, so Deno (isolate) and Node (container) share it.
// An adapter supplies the transport and how a module is imported:
//
//   const harness = new Harness({
//     send(text),              // one frame's JSON, in order; the adapter adds the length prefix
//     importScript(source),    // -> module namespace; resolves "tools" to toolsModule()
//     scriptFrame,             // RegExp: (line) and (column) of a stack frame of the script
//     versions,                // {typescript: "..."} for the `ready` frame
//     usage(),                 // -> {cpu_ms, peak_memory_mib}
//     handle(frame),           // optional: write_file, read_file, command -> answer frame or null
//     collect(job),            // optional: -> [{path, data}] for `done`, when collect_files is set
//   });
//   harness.receive(text)      // one frame's JSON from the host; never throws
//   harness.rejected(promise, reason)   // wire to unhandledrejection
//   harness.recovered(promise)          // wire to rejectionhandled
//   await harness.finished     // resolves after `done` was handed to send
//
// `toolsModule()` is the source of the module "tools" for this run; `serve(options,
// frames)` does all of the above for an async iterable of frame texts.

import { describeError, locate } from "./errors.mjs";
import { makeConsole } from "./console.mjs";
import {
  Error, OwnMap, OwnSet, Promise, RegExp, TypeError, apply, bare, cut, defineProperty, exec, hasOwn, join, keys, push,
  setTimeout, shift, slice, split, toWellFormed, utf8Length,
} from "./primordials.mjs";
import { parse, stringify, toJson, BadValue } from "./values.mjs";
import { makeTools, nearest, ToolError } from "./tools.mjs";

export { parse, stringify, ToolError };

export const PROTOCOL = 1;
const BRIDGE = Symbol.for("codemode.tools");
const MOST_ARGS_LENGTH = 8 * 1024 * 1024; // of one call, as JSON
const MOST_LINES = 10_000; // of one run's logs; the host keeps no more
const ABSENT = new OwnSet();
for (const name of split("fetch XMLHttpRequest WebSocket require process Deno Bun Buffer", " ")) ABSENT.add(name);

/** Source of the module "tools": what the script may import, and nothing else. */
export function toolsModule() {
  const names = Object.keys(globalThis[BRIDGE]);
  const lines = names.map((name, i) => `const $${i} = all[${JSON.stringify(name)}];`);
  const exported = names.map((name, i) => `$${i} as ${name}`).join(", ");
  return (
    `const all = globalThis[Symbol.for("codemode.tools")];\n${lines.join("\n")}\n` +
    `export { ${exported} };\nexport default all.tools;\n`
  );
}

export class Harness {
  #options;
  #framePattern;
  #job = null;
  #calls = new OwnSet(); // every call the script made and has not awaited, or that is in flight
  #waiting = new OwnMap(); // id -> call in flight
  #queue = []; // calls beyond max_in_flight
  #lastId = 0;
  #rejections = new OwnMap();
  #logBytes = 0;
  #logLines = 0;
  #logsFull = false;
  #lostBytes = 0;
  #raced = false;
  #onReply = () => {};
  #done = false;
  #resolveFinished;
  finished = new Promise((resolve) => (this.#resolveFinished = resolve));

  constructor(options) {
    this.#options = options;
    this.#framePattern = new RegExp(` at ${options.scriptFrame.source}`);
  }

  receive(text) {
    let frame;
    try {
      frame = parse(text);
    } catch (error) {
      this.#finish(failure("crashed", `bad frame: ${error}`));
      return;
    }
    switch (frame.type) {
      case "hello":
        return this.#send({ __proto__: null, type: "ready", protocol: PROTOCOL, ...this.#options.versions && { versions: this.#options.versions } });
      case "run":
        return void this.#run(frame.job);
      case "reply":
        return this.#reply(frame);
      case "cancel":
        return this.#finish(failure("cancelled", "The run was cancelled."));
      default:
        return void this.#delegate(frame);
    }
  }

  rejected(promise, reason) {
    this.#rejections.set(promise, reason);
  }

  recovered(promise) {
    this.#rejections.delete(promise);
  }

  #send(frame) {
    this.#options.send(stringify(frame));
  }

  async #delegate(frame) {
    const answer = this.#options.handle ? await this.#options.handle(frame) : null;
    if (answer) this.#send(answer);
  }

  async #run(job) {
    this.#job = job;
    const all = makeTools(job.names, (call) => this.#begin(call), (call) => this.#calls.add(call));
    globalThis[BRIDGE] = all;
    globalThis.tools = all.tools;
    globalThis.input = job.input;
    globalThis.console = makeConsole((stream, text) => this.#log(stream, text));
    let outcome;
    try {
      const module = await this.#options.importScript(job.source);
      delete globalThis[BRIDGE];
      if (typeof module.default !== "function") {
        throw new TypeError("The script has no default export that can be run.");
      }
      this.#send({ __proto__: null, type: "started" });
      this.#noticeRaces();
      const value = await module.default();
      // Rejections are reported in a task of their own, after the microtasks of this one.
      await new Promise((resolve) => setTimeout(resolve, 0));
      while (this.#waiting.size > 0 && !this.#raced) {
        await new Promise((resolve) => (this.#onReply = resolve));
        await new Promise((resolve) => setTimeout(resolve, 0));
      }
      outcome = this.#succeeded(value);
    } catch (error) {
      outcome = this.#failed(error);
    }
    await this.#finish(outcome);
  }

  /**
   * Calls in flight when a script ends were forgotten, as in `forEach(async ...)`, so they
   * are waited for; unless it raced some, whose losers nobody wants.
   */
  #noticeRaces() {
    const noticed = (original) => (items) => {
      this.#raced = true;
      return apply(original, Promise, [items]);
    };
    Promise.race = noticed(Promise.race);
    Promise.any = noticed(Promise.any);
  }

  #succeeded(value) {
    const tools = new OwnMap();
    let first;
    this.#calls.forEach((call) => {
      if (call.started) return;
      first ??= call;
      tools.set(call.tool, (tools.get(call.tool) ?? 0) + 1);
    });
    if (first !== undefined) {
      const list = [];
      tools.forEach((n, tool) => push(list, n > 1 ? `${tool} (${n} times)` : tool));
      const error = new Error(`Called but never awaited, so nothing was sent: ${join(list, ", ")}.`);
      error.codemode = { code: "not_awaited", hint: "Put await before the call, or await Promise.all([...])." };
      const { stack } = first.origin;
      defineProperty(error, "stack", { __proto__: null, value: stack });
      return this.#failed(error);
    }
    const rejected = [];
    this.#rejections.forEach((reason) => push(rejected, reason));
    if (rejected.length > 0) return this.#failed(rejected[0]);
    if (value === undefined) return { __proto__: null, status: "succeeded" };
    let json;
    try {
      json = toJson(value, "result");
    } catch (error) {
      if (!(error instanceof BadValue)) throw error;
      return failure("bad_result", toWellFormed(error.message), error.hint);
    }
    const bytes = utf8Length(stringify(json));
    const most = this.#job.limits?.max_result_bytes ?? Infinity;
    if (bytes > most) {
      const message = `The result has ${bytes} bytes; a run may return ${most}.`;
      return failure("result_too_large", message, "Return a summary, or write a file.");
    }
    return { __proto__: null, status: "succeeded", value: json };
  }

  #failed(error) {
    try {
      const place = locate(error, this.#options.scriptFrame, this.#job.source);
      const { code, message, hint } = describeError(error);
      const found = exec(this.#framePattern, message);
      const told = found
        ? slice(message, 0, found.index) + slice(message, found.index + found[0].length)
        : message;
      return failure(code, told, hint === "" ? this.#hintFor(told) : hint, place);
    } catch {
      return failure("exception", "The script failed, and its error cannot be told.");
    }
  }

  /** A name that is not there may be a toolset that was misspelt or not imported. */
  #hintFor(message) {
    const found =
      exec(/^ReferenceError: (\S+) is not defined/, message) ??
      exec(/does not provide an export named '(\S+)'/, message);
    if (found === null) return "";
    const name = found[1];
    if (ABSENT.has(name)) return "A script has no network, files or processes of its own; call a tool.";
    const known = keys(this.#job.names);
    push(known, "search", "describe");
    const near = nearest(name, known);
    if (near.length > 0) return `Did you mean ${join(near, ", ")}?`;
    return exec(/export named/, message) !== null ? `"tools" has ${join(known, ", ")}.` : "";
  }

  async #finish(outcome) {
    if (this.#done) return;
    this.#done = true;
    const done = { __proto__: null, type: "done", ...outcome, truncated: this.#truncated() };
    if (this.#job?.collect_files && this.#options.collect) {
      try {
        done.files = await this.#options.collect(this.#job);
      } catch (error) {
        push(done.truncated, `files: ${error.message}`);
      }
    }
    bare(done.truncated);
    done.usage = this.#options.usage();
    this.#send(done);
    this.#resolveFinished();
  }

  #truncated() {
    const cuts = this.#logsFull ? [`logs: ${this.#lostBytes} bytes dropped`] : [];
    const running = [];
    this.#waiting.forEach((call) => push(running, call.tool));
    for (let i = 0; i < this.#queue.length; i += 1) push(running, this.#queue[i].tool);
    if (running.length > 0) {
      push(cuts, `calls still running when the script ended: ${join(sorted(running), ", ")}`);
    }
    return cuts;
  }

  #begin(call) {
    if (this.#waiting.size >= (this.#job.limits?.max_in_flight ?? Infinity)) {
      push(this.#queue, call);
      return;
    }
    const id = ++this.#lastId;
    const text = stringify({ __proto__: null, type: "call", id, tool: call.tool, args: call.args });
    if (text.length > MOST_ARGS_LENGTH) {
      this.#calls.delete(call);
      const message = `The arguments of ${call.tool} have more than ${MOST_ARGS_LENGTH} characters.`;
      call.settle(null, { code: "bad_arguments", message, hint: "Send less in one call." });
      return;
    }
    this.#waiting.set(id, call);
    this.#options.send(text);
  }

  #reply(frame) {
    const { id } = frame;
    const value = hasOwn(frame, "value") ? frame.value : null;
    const error = hasOwn(frame, "error") ? frame.error : null;
    const call = this.#waiting.get(id);
    if (!call) return;
    this.#waiting.delete(id);
    this.#calls.delete(call);
    const next = shift(this.#queue);
    if (next) this.#begin(next);
    call.settle(value, error);
    this.#onReply();
  }

  #log(stream, text) {
    if (this.#done) return;
    if (this.#logsFull) {
      this.#lostBytes += text.length + 1;
      return;
    }
    const bytes = utf8Length(text);
    const room = (this.#job.limits?.max_log_bytes ?? Infinity) - this.#logBytes;
    if (bytes > room || this.#logLines >= MOST_LINES) {
      this.#logsFull = true;
      const kept = this.#logLines < MOST_LINES ? cut(text, room) : "";
      this.#lostBytes += bytes - utf8Length(kept) + (kept === "" ? 1 : 0);
      if (kept === "") return;
      text = kept;
    }
    this.#logBytes += bytes + 1; // its newline counts, so that empty lines are not free
    this.#logLines += 1;
    this.#send({ __proto__: null, type: "log", stream, text });
  }
}

/** Runs one channel to its end; resolves after `done`, or when the frames end. */
export async function serve(options, frames) {
  const harness = new Harness(options);
  options.wire?.(harness);
  const pump = (async () => {
    for await (const text of frames) harness.receive(text);
  })();
  await Promise.race([pump, harness.finished]);
  return harness;
}

function failure(code, message, hint = "", place = { __proto__: null }) {
  return { __proto__: null, status: "failed", error: { __proto__: null, code, message, hint, ...place } };
}

/** *names* in order, by insertion: what a script did to `sort` does not matter. */
function sorted(names) {
  const out = [];
  for (let i = 0; i < names.length; i += 1) {
    let at = i;
    for (; at > 0 && out[at - 1] > names[i]; at -= 1) out[at] = out[at - 1];
    out[at] = names[i];
  }
  return out;
}
