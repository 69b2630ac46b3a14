// TypeScript in the container: core.mjs in a Node process, frames on descriptor 3.

import module from "node:module";
import { Socket } from "node:net";
import { Harness, toolsModule } from "./core.mjs";
import { Array, byteLength, encode, lock, push, setBytes, Uint8Array, uncurry } from "./primordials.mjs";
import { hideHarness } from "./stack.mjs";

const TOOLS = "codemode:tools";
const SCRIPT = "codemode:script";
const WARM = "codemode:warm";
const WARM_TOOLS = "codemode:warm-tools";
const REHEARSAL = `
  import { rehearsal, ToolError } from "tools";
  export default async (): Promise<unknown> => {
    console.log("warm", { n: 1 });
    return await Promise.all([1, 2].map((n: number) => rehearsal.call({ n })));
  };`;

// The script gets the globals that it has in the isolate engine, no more.
const REMOVED = ["process", "Buffer", "global", "navigator", "localStorage", "sessionStorage"];
const host = process;
const Bytes = Buffer;
const write = uncurry(Socket.prototype.write);
const concat = Bytes.concat;
const readLength = uncurry(Bytes.prototype.readUInt32BE);
const readText = uncurry(Bytes.prototype.toString);
const part = uncurry(Bytes.prototype.subarray);

let source = "";

module.registerHooks({
  resolve(specifier, context, next) {
    if (context.parentURL === import.meta.url && specifier.startsWith("codemode:")) {
      return { url: specifier, format: "module", shortCircuit: true };
    }
    if (!context.parentURL?.startsWith("codemode:")) return next(specifier, context);
    if (specifier === "tools") {
      const url = context.parentURL === WARM ? WARM_TOOLS : TOOLS;
      return { url, format: "module", shortCircuit: true };
    }
    throw new Error(`Only "tools" can be imported here, not ${JSON.stringify(specifier)}.`);
  },
  load(url, context, next) {
    if (url === TOOLS || url === WARM_TOOLS) return { format: "module", source: toolsModule(), shortCircuit: true };
    if (url !== SCRIPT && url !== WARM) return next(url, context);
    // "strip" puts blanks where types stood, so every line and column stays.
    return { format: "module", source: stripTypes(source), shortCircuit: true };
  },
});

function stripTypes(text) {
  return module.stripTypeScriptTypes(text, { mode: "strip" });
}

async function importScript(text, url = SCRIPT) {
  source = text;
  return await import(url);
}

const channel = new Socket({ fd: 3, readable: true, writable: true });

/** One frame: four bytes of length, then JSON. libuv writes at once what the kernel takes. */
function send(text) {
  const body = encode(text);
  const length = byteLength(body);
  const bytes = new Uint8Array(4 + length);
  for (let i = 0; i < 4; i += 1) bytes[i] = (length >>> (24 - 8 * i)) & 0xff;
  setBytes(bytes, body, 4);
  write(channel, bytes);
}

function usage() {
  return { __proto__: null }; // the process around this one measures it
}

/** Run a script that nobody sees, so that the first real one finds everything loaded. */
async function rehearse() {
  const rehearsal = new Harness({
    send(text) {
      const { type, id } = JSON.parse(text);
      if (type === "call") rehearsal.receive(`{"type":"reply","id":${id},"value":null}`);
    },
    importScript: (text) => importScript(text, WARM),
    scriptFrame: /$^/,
    usage,
  });
  const names = { rehearsal: { call: { tool: "rehearsal.call" } } };
  const job = { source: REHEARSAL, names, input: null, limits: {} };
  rehearsal.receive(JSON.stringify({ type: "run", job }));
  await rehearsal.finished;
  for (const name of ["tools", "input"]) delete globalThis[name];
}

const harness = new Harness({
  send,
  importScript,
  scriptFrame: /codemode:script:(\d+)(?::(\d+))?/,
  versions: { typescript: `node ${host.versions.node}` },
  usage,
});

host.on("unhandledRejection", (reason, promise) => harness.rejected(promise, reason));
host.on("rejectionHandled", (promise) => harness.recovered(promise));
host.on("uncaughtException", (error) => harness.rejected(error, error));

let parts = [];
let size = 0;
let wanted = 4; // bytes before there is anything to do
channel.on("data", (data) => {
  push(parts, data);
  size += byteLength(data);
  if (size < wanted) return;
  let buffer = parts.length === 1 ? parts[0] : concat(parts, size);
  while (size >= 4 && size >= (wanted = 4 + readLength(buffer))) {
    const text = readText(buffer, "utf8", 4, wanted);
    buffer = part(buffer, wanted);
    size -= wanted;
    wanted = 4;
    harness.receive(text);
  }
  parts = [buffer];
});
channel.on("end", () => host.exit(0));

await rehearse();
for (const name of REMOVED) delete globalThis[name];
lock(Array.prototype, ["pop"]); // Node's own streams call it
hideHarness((file) => file === SCRIPT);
send(JSON.stringify({ warm: host.versions.node }));
