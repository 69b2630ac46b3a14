// What both engines really have beside ECMAScript; no DOM, no network, no file system.

interface Console {
  log(...values: unknown[]): void;
  info(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
  debug(...values: unknown[]): void;
  trace(...values: unknown[]): void;
  dir(value?: unknown, options?: object): void;
  dirxml(...values: unknown[]): void;
  table(value?: unknown, columns?: readonly string[]): void;
  assert(condition?: unknown, ...values: unknown[]): void;
  group(...values: unknown[]): void;
  groupCollapsed(...values: unknown[]): void;
  groupEnd(): void;
  count(label?: string): void;
  countReset(label?: string): void;
  time(label?: string): void;
  timeLog(label?: string, ...values: unknown[]): void;
  timeEnd(label?: string): void;
  clear(): void;
}
declare const console: Console;

declare function setTimeout(
  callback: (...args: any[]) => unknown, delay_ms?: number, ...args: unknown[]): any;
declare function clearTimeout(id?: any): void;
declare function setInterval(
  callback: (...args: any[]) => unknown, delay_ms?: number, ...args: unknown[]): any;
declare function clearInterval(id?: any): void;
declare function queueMicrotask(callback: () => void): void;
declare function structuredClone<T>(value: T, options?: { transfer?: readonly object[] }): T;
declare function atob(data: string): string;
declare function btoa(data: string): string;

declare class TextEncoder {
  readonly encoding: string;
  encode(input?: string): Uint8Array<ArrayBuffer>;
}
declare class TextDecoder {
  constructor(label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean });
  readonly encoding: string;
  decode(input?: ArrayBuffer | ArrayBufferView, options?: { stream?: boolean }): string;
}

declare class URLSearchParams implements Iterable<[string, string]> {
  constructor(init?: string | Record<string, string> | Iterable<[string, string]> | URLSearchParams);
  readonly size: number;
  append(name: string, value: string): void;
  delete(name: string, value?: string): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string, value?: string): boolean;
  set(name: string, value: string): void;
  sort(): void;
  forEach(callback: (value: string, key: string, parent: URLSearchParams) => void): void;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  toString(): string;
  [Symbol.iterator](): IterableIterator<[string, string]>;
}
declare class URL {
  constructor(url: string | URL, base?: string | URL);
  static canParse(url: string | URL, base?: string | URL): boolean;
  static parse(url: string | URL, base?: string | URL): URL | null;
  hash: string;
  host: string;
  hostname: string;
  href: string;
  readonly origin: string;
  password: string;
  pathname: string;
  port: string;
  protocol: string;
  search: string;
  readonly searchParams: URLSearchParams;
  username: string;
  toString(): string;
  toJSON(): string;
}

declare const crypto: {
  randomUUID(): `${string}-${string}-${string}-${string}-${string}`;
  getRandomValues<T extends ArrayBufferView>(array: T): T;
  readonly subtle: {
    digest(algorithm: string, data: ArrayBuffer | ArrayBufferView): Promise<ArrayBuffer>;
  };
};
declare const performance: { now(): number; readonly timeOrigin: number };

declare class Event {
  constructor(type: string, options?: { bubbles?: boolean; cancelable?: boolean });
  readonly type: string;
  readonly target: EventTarget | null;
  readonly defaultPrevented: boolean;
  preventDefault(): void;
}
declare class CustomEvent<T = any> extends Event {
  constructor(type: string, options?: { detail?: T; cancelable?: boolean });
  readonly detail: T;
}
declare class EventTarget {
  addEventListener(
    type: string, listener: ((event: any) => void) | null, options?: { once?: boolean; signal?: AbortSignal }): void;
  removeEventListener(type: string, listener: ((event: any) => void) | null): void;
  dispatchEvent(event: Event): boolean;
}
declare class DOMException extends Error {
  constructor(message?: string, name?: string);
  readonly code: number;
}
declare class AbortSignal extends EventTarget {
  private constructor();
  static abort(reason?: unknown): AbortSignal;
  static any(signals: Iterable<AbortSignal>): AbortSignal;
  static timeout(delay_ms: number): AbortSignal;
  readonly aborted: boolean;
  readonly reason: any;
  onabort: ((event: Event) => void) | null;
  throwIfAborted(): void;
}
declare class AbortController {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
}

declare class ReadableStream<R = any> implements AsyncIterable<R> {
  constructor(source?: object, strategy?: object);
  getReader(): { read(): Promise<{ done: boolean; value: any }>; cancel(): Promise<void>; releaseLock(): void };
  pipeThrough<T>(pair: { readable: ReadableStream<T>; writable: WritableStream }): ReadableStream<T>;
  pipeTo(to: WritableStream): Promise<void>;
  cancel(reason?: unknown): Promise<void>;
  [Symbol.asyncIterator](): AsyncIterableIterator<R>;
}
declare class WritableStream<W = any> {
  constructor(sink?: object, strategy?: object);
  getWriter(): { write(chunk: W): Promise<void>; close(): Promise<void>; releaseLock(): void };
  close(): Promise<void>;
}
declare class TransformStream<I = any, O = any> {
  constructor(transformer?: object, writing?: object, reading?: object);
  readonly readable: ReadableStream<O>;
  readonly writable: WritableStream<I>;
}
declare class CompressionStream extends TransformStream {
  constructor(format: "gzip" | "deflate" | "deflate-raw");
}
declare class DecompressionStream extends TransformStream {
  constructor(format: "gzip" | "deflate" | "deflate-raw");
}
declare class TextEncoderStream extends TransformStream<string, Uint8Array<ArrayBuffer>> {}
declare class TextDecoderStream extends TransformStream<Uint8Array<ArrayBuffer>, string> {
  constructor(label?: string);
}
declare class Blob {
  constructor(parts?: Iterable<string | ArrayBuffer | ArrayBufferView | Blob>, options?: { type?: string });
  readonly size: number;
  readonly type: string;
  text(): Promise<string>;
  bytes(): Promise<Uint8Array<ArrayBuffer>>;
  arrayBuffer(): Promise<ArrayBuffer>;
  slice(start?: number, end?: number, type?: string): Blob;
  stream(): ReadableStream<Uint8Array<ArrayBuffer>>;
}
