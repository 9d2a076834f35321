// Buffers of elements and how long they live. Storages are freed by the last `dispose` of a tensor that
// was given one, by a scope, or by the garbage collector; a finalizer only queues a token (it may run
// at any macrotask), the queue is drained at the next allocation. Not here: watermarks (core/engine).
import { DisposedError } from "./errors.ts";
import type { Backend, Buffer } from "../backends/backend.ts";

interface Token {
  readonly backend: Backend;
  buffer: Buffer | null;
  readonly bytes: number;
}

const freed: Token[] = [];
const registry = new FinalizationRegistry<Token>((token) => {
  freed.push(token);
});

/** Counters over all places. */
export interface StorageStats {
  /** Bytes of storages that are not freed (some may be garbage that V8 has not collected) and of running plans. */
  live: number;
  /** The highest `live` since the start or the last reset. */
  peak: number;
  /** Number of live storages. */
  count: number;
}

/** The counters; the engine reads them, users get copies from `memory.stats()`. */
export const storageStats: StorageStats = { live: 0, peak: 0, count: 0 };

/** Counts bytes taken or (negative) given back; plans count what they hold while they run. */
export function countBytes(bytes: number): void {
  storageStats.live += bytes;
  if (storageStats.live > storageStats.peak) storageStats.peak = storageStats.live;
}

let scopes: Set<Storage>[] = [];

/** The scopes that are open, innermost last; swapped by the engine around asynchronous scopes. */
export function openScopes(): Set<Storage>[] {
  return scopes;
}

/** Replaces the stack of open scopes. */
export function setOpenScopes(stack: Set<Storage>[]): void {
  scopes = stack;
}

function release(token: Token): void {
  if (token.buffer === null) return;
  token.backend.free(token.buffer);
  token.buffer = null;
  storageStats.live -= token.bytes;
  storageStats.count--;
}

/** Gives back what the collector has found since the last call. Returns how many storages that were. */
export function drainFreed(): number {
  const n = freed.length;
  if (n === 0) return 0;
  for (let i = 0; i < n; i++) release(freed[i]);
  freed.length = 0;
  return n;
}

/** A buffer on one backend, shared by a tensor and its views. */
export class Storage {
  /** Rises with every in-place change. */
  version = 0;
  /** Rises with every in-place change that autograd recorded. */
  history = 0;
  readonly backend: Backend;
  readonly bytes: number;
  readonly #token: Token;
  #handles = 0;

  /** Takes over a buffer of the backend. */
  constructor(backend: Backend, buffer: Buffer, bytes: number) {
    this.backend = backend;
    this.bytes = bytes;
    this.#token = { backend, buffer, bytes };
    registry.register(this, this.#token, this.#token);
    countBytes(bytes);
    storageStats.count++;
    if (scopes.length > 0) scopes[scopes.length - 1].add(this);
  }

  /** The buffer. Throws if it has been freed. */
  get buffer(): Buffer {
    const buffer = this.#token.buffer;
    if (buffer === null) {
      throw new DisposedError(
        "Cannot use a tensor whose memory was freed: it was disposed, left a scope() or its `using` block; " +
          "return it from the scope, or clone() it before",
      );
    }
    return buffer;
  }

  /** Whether the buffer has been given back. */
  get isFreed(): boolean {
    return this.#token.buffer === null;
  }

  /** Counts one more tensor that may dispose of the storage. */
  retain(): void {
    this.#handles++;
  }

  /** Counts one less; the last frees the buffer. */
  drop(): void {
    if (--this.#handles <= 0) this.free();
  }

  /** Gives the buffer back now. */
  free(): void {
    if (this.#token.buffer === null) return;
    registry.unregister(this.#token);
    release(this.#token);
  }
}
