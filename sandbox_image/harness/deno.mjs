// The isolate engine's TypeScript sandbox: core.mjs in a Deno process without permissions.
//
// Frames go over stdin and stdout, which a script has no name for: before it is imported
// the global object is reduced to the language and a few harmless classes. One that still
// finds a way to write a frame can only make calls it was entitled to.

import module from "node:module";
import {
  Error, Uint8Array, byteLength, copyWithin, decode, encode, setBytes, startsWith, subarray,
} from "./primordials.mjs";
import { hideHarness } from "./stack.mjs";
import { Harness, toolsModule } from "./core.mjs";

const TOOLS = "codemode:tools";
// Everything else on the global object is deleted: most of it reaches the network, the
// channel or native code (WebGPU, images) that a script has no use for.
const KEPT = new Set(
  ("globalThis Infinity NaN undefined Object Function Array Number parseFloat parseInt Boolean String " +
    "Symbol Date Promise RegExp Error AggregateError EvalError RangeError ReferenceError SyntaxError " +
    "TypeError URIError SuppressedError JSON Math Intl Temporal ArrayBuffer Uint8Array Int8Array " +
    "Uint16Array Int16Array Uint32Array Int32Array BigUint64Array BigInt64Array Uint8ClampedArray " +
    "Float16Array Float32Array Float64Array DataView Map BigInt Set Iterator WeakMap WeakSet Proxy " +
    "Reflect FinalizationRegistry WeakRef DisposableStack AsyncDisposableStack Atomics decodeURI " +
    "decodeURIComponent encodeURI encodeURIComponent escape unescape eval isFinite isNaN console URL " +
    "URLSearchParams URLPattern TextEncoder TextDecoder TextEncoderStream TextDecoderStream setTimeout " +
    "clearTimeout setInterval clearInterval queueMicrotask structuredClone atob btoa crypto Crypto " +
    "CryptoKey SubtleCrypto performance Performance Blob File FormData Headers AbortController " +
    "AbortSignal Event EventTarget CustomEvent DOMException ReadableStream WritableStream " +
    "TransformStream CompressionStream DecompressionStream WebAssembly").split(" "),
);
const { exit, memoryUsage, cpuUsage, stdin, stdout, version } = globalThis.Deno;

let scriptUrl = ""; // the one module, apart from "tools", that may be imported
let idleMs = 0; // processor time before the script, which is not its own

module.registerHooks({
  resolve(specifier, _context, next) {
    if (specifier === "tools") return { url: TOOLS, format: "module", shortCircuit: true };
    if (specifier === scriptUrl) return next(specifier);
    throw new Error(`Only "tools" can be imported here, not ${JSON.stringify(specifier)}.`);
  },
  load(url, context, next) {
    if (url !== TOOLS) return next(url, context);
    return { format: "module", source: toolsModule(), shortCircuit: true };
  },
});

function importScript(source) {
  scriptUrl = URL.createObjectURL(new Blob([source], { type: "application/typescript" }));
  return import(scriptUrl).catch((error) => {
    // Deno wraps what a resolve hook or the parser says; the prefix is no help to anyone.
    if (error instanceof TypeError && /^(Syntax)?Error: /.test(error.message)) {
      const plain = new (error.message.startsWith("S") ? SyntaxError : Error)(
        error.message.replace(/^(Syntax)?Error: /, "").replace(/\n +at blob:[^]*$/, ""),
      );
      plain.stack = error.stack;
      throw plain;
    }
    throw error;
  });
}

const writeSync = stdout.writeSync.bind(stdout);
const read = stdin.read.bind(stdin);

function send(text) {
  const body = encode(text);
  const length = byteLength(body);
  const bytes = new Uint8Array(4 + length);
  for (let i = 0; i < 4; i += 1) bytes[i] = (length >>> (24 - 8 * i)) & 0xff;
  setBytes(bytes, body, 4);
  for (let at = 0; at < 4 + length; ) at += writeSync(subarray(bytes, at));
}

/** Hand over each frame until there are no more. */
async function pump(receive) {
  let buffer = new Uint8Array(64 * 1024);
  let size = 0;
  for (;;) {
    while (size >= 4) {
      const length = ((buffer[0] << 24) | (buffer[1] << 16) | (buffer[2] << 8) | buffer[3]) >>> 0;
      if (byteLength(buffer) < 4 + length) {
        const larger = new Uint8Array(4 + length);
        setBytes(larger, subarray(buffer, 0, size));
        buffer = larger;
      }
      if (size < 4 + length) break;
      const text = decode(subarray(buffer, 4, 4 + length));
      copyWithin(buffer, 0, 4 + length, size);
      size -= 4 + length;
      receive(text);
    }
    const n = await read(subarray(buffer, size));
    if (n === null) return;
    size += n;
  }
}

function cpuMs() {
  const { user, system } = cpuUsage();
  return (user + system) / 1000;
}

function usage() {
  return { __proto__: null, cpu_ms: cpuMs() - idleMs, peak_memory_mib: memoryUsage().rss / 2 ** 20 };
}

const harness = new Harness({
  send,
  importScript,
  scriptFrame: /blob:null\/[0-9a-f-]+:(\d+):(\d+)/,
  versions: { typescript: `deno ${version.deno}` },
  usage,
});

addEventListener("unhandledrejection", (event) => {
  event.preventDefault();
  harness.rejected(event.promise, event.reason);
});
addEventListener("rejectionhandled", (event) => harness.recovered(event.promise));
addEventListener("error", (event) => {
  event.preventDefault();
  harness.rejected(event, event.error);
});

await importScript("export const warm: number = 1;"); // the first TypeScript import costs 12-35 ms
for (const name of Object.getOwnPropertyNames(globalThis)) {
  if (!KEPT.has(name)) delete globalThis[name];
}

idleMs = cpuMs();
hideHarness((file) => typeof file === "string" && startsWith(file, "blob:"));
await pump((text) => harness.receive(text));
exit(0);
