// Buffers of elements and how long they live. Storages are freed by the last `dispose` of a tensor that
// was given one, by a scope, or by the garbage collector; a finalizer only queues a number (it may run
// at any macrotask), the queue is drained at the next allocation. Not here: watermarks (core/engine).
import { asyncLocal } from "./async_local.ts";
import { DisposedError } from "./errors.ts";
import type { Backend, Buffer } from "../backends/backend.ts";

// What a finalizer needs, by the number of the storage: it is told a number, since it keeps alive what it is told.
const backends: (Backend | null)[] = [];
const buffers: Buffer[] = [];
const sizes: number[] = [];
/** Numbers to be used again. */
const spare: number[] = [];

/** Numbers of storages that were collected. */
const collected: number[] = [];
const registry = new FinalizationRegistry<number>((id) => {
  collected.push(id);
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

/** Storages that are freed together. */
export class Scope extends Set<Storage> {
  /** Async functions may go on in a scope that has ended. */
  closed = false;
}

const outside: Scope[] = [];
const inside = asyncLocal<Scope[]>();

/** The scopes that are open here, innermost last. */
export function openScopes(): Scope[] {
  return inside.get() ?? outside;
}

/** Runs `fn`, and what it awaits, in a further scope. */
export function inScope<T>(scope: Scope, fn: () => T): T {
  return inside.run([...openScopes(), scope], fn);
}

/** Takes a storage out of all scopes, since something outside holds it. */
export function keepStorage(storage: Storage): void {
  for (const scope of openScopes()) scope.delete(storage);
  storage.settle();
}

/** Hands what a scope held to the one around it, or to the collector. */
export function handOver(storage: Storage, outer: Scope | undefined): void {
  if (outer === undefined || outer.closed) storage.settle();
  else outer.add(storage);
}

/** Gives a storage's buffer back, if it has not been yet. */
function release(id: number): void {
  const backend = backends[id];
  if (backend === null) return;
  backend.free(buffers[id]);
  backends[id] = null;
  buffers[id] = 0;
  storageStats.live -= sizes[id];
  storageStats.count--;
}

/** Gives back what the collector has found since the last call. Returns how many storages that were. */
export function drainFreed(): number {
  const n = collected.length;
  for (let i = 0; i < n; i++) {
    release(collected[i]);
    spare.push(collected[i]);
  }
  if (n > 0) collected.length = 0;
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
  #id: number;
  #handles = 0;
  /** Whether the collector will tell of its end; one in a scope needs no such telling. */
  #registered = false;

  /** Takes over a buffer of the backend. */
  constructor(backend: Backend, buffer: Buffer, bytes: number) {
    this.backend = backend;
    this.bytes = bytes;
    const id = spare.pop() ?? sizes.length;
    backends[id] = backend;
    buffers[id] = buffer;
    sizes[id] = bytes;
    this.#id = id;
    countBytes(bytes);
    storageStats.count++;
    handOver(this, openScopes().at(-1));
  }

  /** The buffer. Throws if it has been freed. */
  get buffer(): Buffer {
    if (this.#id < 0) {
      throw new DisposedError(
        "Cannot use a tensor whose memory was freed: it was disposed, left a scope() or its `using` block; " +
          "return it from the scope, or clone() it before",
      );
    }
    return buffers[this.#id];
  }

  /** Whether the buffer has been given back. */
  get isFreed(): boolean {
    return this.#id < 0;
  }

  /** Leaves it to the collector, when no scope will free it. */
  settle(): void {
    if (this.#registered || this.#id < 0) return;
    this.#registered = true;
    registry.register(this, this.#id);
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
    if (this.#id < 0) return;
    release(this.#id);
    // The number of a registered one is free when the collector has told of it.
    if (!this.#registered) spare.push(this.#id);
    this.#id = -1;
  }
}
