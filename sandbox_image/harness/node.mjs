// TypeScript in the container: core.mjs in a Node process, frames on descriptor 3.

import module from "node:module";
import { Socket } from "node:net";
import { Harness, toolsModule } from "./core.mjs";

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
  const body = Bytes.from(text);
  const head = Bytes.alloc(4);
  head.writeUInt32BE(body.length);
  channel.write(Bytes.concat([head, body]));
}

function usage() {
  return {}; // the process around this one measures it
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
channel.on("data", (data) => {
  parts.push(data);
  size += data.length;
  if (size < 4) return;
  let buffer = parts.length === 1 ? parts[0] : Bytes.concat(parts, size);
  while (buffer.length >= 4 && buffer.length >= 4 + buffer.readUInt32BE()) {
    const end = 4 + buffer.readUInt32BE();
    const text = buffer.toString("utf8", 4, end);
    buffer = buffer.subarray(end);
    harness.receive(text);
  }
  parts = [buffer];
  size = buffer.length;
});
channel.on("end", () => host.exit(0));

await rehearse();
for (const name of REMOVED) delete globalThis[name];
send(JSON.stringify({ warm: host.versions.node }));
