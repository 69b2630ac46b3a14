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
import { parse, stringify, toJson, BadValue } from "./values.mjs";
import { makeTools, nearest, ToolError } from "./tools.mjs";

export { parse, stringify, ToolError };

export const PROTOCOL = 1;
const BRIDGE = Symbol.for("codemode.tools");
const MOST_ARGS_LENGTH = 8 * 1024 * 1024; // of one call, as JSON
const ABSENT = new Set("fetch XMLHttpRequest WebSocket require process Deno Bun Buffer".split(" "));
const { setTimeout } = globalThis; // a script may replace its own

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
  #job = null;
  #calls = new Set(); // every call the script made and has not awaited, or that is in flight
  #waiting = new Map(); // id -> call in flight
  #queue = []; // calls beyond max_in_flight
  #lastId = 0;
  #rejections = new Map();
  #logBytes = 0;
  #lostBytes = 0;
  #raced = false;
  #onReply = () => {};
  #done = false;
  #resolveFinished;
  finished = new Promise((resolve) => (this.#resolveFinished = resolve));

  constructor(options) {
    this.#options = options;
  }

  receive(text) {
    let frame;
    try {
      frame = parse(text);
    } catch (error) {
      this.#finish({ status: "failed", error: { code: "crashed", message: `bad frame: ${error}` } });
      return;
    }
    switch (frame.type) {
      case "hello":
        return this.#send({ type: "ready", protocol: PROTOCOL, ...this.#options.versions && { versions: this.#options.versions } });
      case "run":
        return void this.#run(frame.job);
      case "reply":
        return this.#reply(frame);
      case "cancel":
        return this.#finish({
          status: "failed",
          error: { code: "cancelled", message: "The run was cancelled." },
        });
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
      this.#send({ type: "started" });
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
    for (const name of ["race", "any"]) {
      const original = Promise[name];
      Promise[name] = (items) => {
        this.#raced = true;
        return original.call(Promise, items);
      };
    }
  }

  #succeeded(value) {
    const forgotten = [...this.#calls].filter((call) => !call.started);
    if (forgotten.length > 0) {
      const tools = new Map();
      for (const call of forgotten) tools.set(call.tool, (tools.get(call.tool) ?? 0) + 1);
      const list = [...tools].map(([tool, n]) => (n > 1 ? `${tool} (${n} times)` : tool)).join(", ");
      return this.#failed(
        Object.assign(new Error(`Called but never awaited, so nothing was sent: ${list}.`), {
          codemode: { code: "not_awaited", hint: "Put await before the call, or await Promise.all([...])." },
          stack: forgotten[0].origin.stack,
        }),
      );
    }
    for (const reason of this.#rejections.values()) return this.#failed(reason);
    if (value === undefined) return { status: "succeeded" };
    let json;
    try {
      json = toJson(value, "result");
    } catch (error) {
      if (!(error instanceof BadValue)) throw error;
      return { status: "failed", error: { code: "bad_result", message: error.message, hint: error.hint } };
    }
    const bytes = utf8Length(stringify(json));
    const most = this.#job.limits?.max_result_bytes ?? Infinity;
    if (bytes > most) {
      const message = `The result has ${bytes} bytes; a run may return ${most}.`;
      return {
        status: "failed",
        error: { code: "result_too_large", message, hint: "Return a summary, or write a file." },
      };
    }
    return { status: "succeeded", value: json };
  }

  #failed(error) {
    const place = locate(error, this.#options.scriptFrame, this.#job.source);
    const told = describeError(error);
    told.message = told.message.replace(new RegExp(` at ${this.#options.scriptFrame.source}`), "");
    if (told.hint === "") told.hint = this.#hintFor(told.message);
    return { status: "failed", error: { ...told, ...place } };
  }

  /** A name that is not there may be a toolset that was misspelt or not imported. */
  #hintFor(message) {
    const [, name] =
      /^ReferenceError: (\S+) is not defined/.exec(message) ??
      /does not provide an export named '(\S+)'/.exec(message) ?? [];
    if (name === undefined) return "";
    if (ABSENT.has(name)) return "A script has no network, files or processes of its own; call a tool.";
    const known = [...Object.keys(this.#job.names), "search", "describe"];
    const near = nearest(name, known);
    if (near.length > 0) return `Did you mean ${near.join(", ")}?`;
    return message.includes("export named") ? `"tools" has ${known.join(", ")}.` : "";
  }

  async #finish(outcome) {
    if (this.#done) return;
    this.#done = true;
    const done = { type: "done", ...outcome, truncated: this.#truncated() };
    if (this.#job?.collect_files && this.#options.collect) {
      try {
        done.files = await this.#options.collect(this.#job);
      } catch (error) {
        done.truncated.push(`files: ${error.message}`);
      }
    }
    done.usage = this.#options.usage();
    this.#send(done);
    this.#resolveFinished();
  }

  #truncated() {
    const cut = this.#lostBytes > 0 ? [`logs: ${this.#lostBytes} bytes dropped`] : [];
    const running = [...this.#waiting.values(), ...this.#queue].map((call) => call.tool);
    if (running.length > 0) {
      cut.push(`calls still running when the script ended: ${running.sort().join(", ")}`);
    }
    return cut;
  }

  #begin(call) {
    if (this.#waiting.size >= (this.#job.limits?.max_in_flight ?? Infinity)) {
      this.#queue.push(call);
      return;
    }
    const id = ++this.#lastId;
    const text = stringify({ type: "call", id, tool: call.tool, args: call.args });
    if (text.length > MOST_ARGS_LENGTH) {
      this.#calls.delete(call);
      const message = `The arguments of ${call.tool} have more than ${MOST_ARGS_LENGTH} characters.`;
      call.settle(null, { code: "bad_arguments", message, hint: "Send less in one call." });
      return;
    }
    this.#waiting.set(id, call);
    this.#options.send(text);
  }

  #reply({ id, value, error }) {
    const call = this.#waiting.get(id);
    if (!call) return;
    this.#waiting.delete(id);
    this.#calls.delete(call);
    const next = this.#queue.shift();
    if (next) this.#begin(next);
    call.settle(value ?? null, error);
    this.#onReply();
  }

  #log(stream, text) {
    if (this.#done) return;
    const most = this.#job.limits?.max_log_bytes ?? Infinity;
    const room = most - this.#logBytes;
    const bytes = utf8Length(text);
    if (bytes > room) {
      const kept = room > 0 && this.#lostBytes === 0 ? cut(text, room) : "";
      this.#lostBytes += bytes - utf8Length(kept);
      if (kept === "") return;
      text = kept;
    }
    this.#logBytes += utf8Length(text);
    this.#send({ type: "log", stream, text });
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

const encoder = new TextEncoder();

function utf8Length(text) {
  return encoder.encode(text).length;
}

/** The longest beginning of *text* that fits in *bytes*, never half a character. */
function cut(text, bytes) {
  const { read } = encoder.encodeInto(text, new Uint8Array(Math.max(0, bytes)));
  return text.slice(0, read);
}
