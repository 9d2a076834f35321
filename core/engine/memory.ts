// When memory is given back: the watermark, collections and yields at awaits, the hard limit, scopes. The
// facts behind it: finalizers run only between macrotasks, and V8 does not see memory outside its heap.
import { describe } from "../describe.ts";
import { MemoryError, ValueError } from "../errors.ts";
import { expectFunction } from "../operands.ts";
import {
  drainFreed,
  handOver,
  inScope,
  openScopes,
  Scope,
  type Storage,
  storageStats,
} from "../storage.ts";
import { Tensor } from "../tensor.ts";
import type { Backend, Buffer } from "../../backends/backend.ts";

/** Memory in bytes over all places. */
export interface MemoryReport {
  /** Held by tensors, garbage that is not collected yet included. */
  readonly live: number;
  /** The highest `live` so far (see `resetPeak`). */
  readonly peak: number;
  /** Taken from the system by the default place. */
  readonly reserved: number;
  /** Made since the last collection: at most this much is garbage. */
  readonly garbage: number;
  /** Number of live storages. */
  readonly storages: number;
  /** Above this an await of the library collects garbage. */
  readonly watermark: number;
  /** Above this an allocation fails. */
  readonly limit: number;
}

const MB = 2 ** 20;
let watermark = 256 * MB;
let threshold = watermark;
let limit = 3584 * MB;
let liveAtCollection = 0;

type Gc = (options?: { type: "minor" | "major" }) => void;
let gc: Gc | null | undefined;

/** V8's collector, which `node:v8` exposes without a permission; null where there is none (browsers). */
function collector(): Gc | null {
  if (gc !== undefined) return gc;
  gc = null;
  const own = (globalThis as { gc?: Gc }).gc;
  if (own !== undefined) return gc = own;
  try {
    const proc = (globalThis as { process?: { getBuiltinModule?(name: string): unknown } }).process;
    const v8 = proc?.getBuiltinModule?.("node:v8") as
      | { setFlagsFromString(f: string): void }
      | undefined;
    const vm = proc?.getBuiltinModule?.("node:vm") as
      | { runInNewContext(code: string): unknown }
      | undefined;
    v8?.setFlagsFromString("--expose-gc");
    const found = (globalThis as { gc?: Gc }).gc ?? vm?.runInNewContext("gc");
    if (typeof found === "function") gc = found as Gc;
  } catch {
    gc = null;
  }
  return gc;
}

/** One macrotask: lets finalizers, timers and Ctrl-C in. */
export function yieldMacrotask(): Promise<void> {
  return new Promise((resolve) => {
    const immediate = (globalThis as { setImmediate?: (f: () => void) => void }).setImmediate;
    if (immediate !== undefined) immediate(resolve);
    else setTimeout(resolve, 0);
  });
}

let lastYield = 0;

/** Called at every await of the library: collects when live bytes pass the watermark, and yields now and then. */
export async function checkpoint(): Promise<void> {
  if (storageStats.live <= threshold) {
    // Without a yield now and then an awaiting loop would never see a signal.
    const now = performance.now();
    if (now - lastYield > 50) {
      lastYield = now;
      await yieldMacrotask();
      drainFreed();
    }
    return;
  }
  collector()?.({ type: "minor" });
  await yieldMacrotask();
  drainFreed();
  if (storageStats.live > threshold) {
    collector()?.({ type: "major" });
    await yieldMacrotask();
    drainFreed();
  }
  lastYield = performance.now();
  liveAtCollection = storageStats.live;
  // What is left is in use: wait until as much again as the watermark has been made.
  threshold = Math.max(watermark, liveAtCollection + watermark / 2);
}

function show(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  if (bytes < MB) return `${(bytes / 1024).toFixed(1)} KiB`;
  return `${(bytes / MB).toFixed(1)} MiB`;
}

function refuse(bytes: number, reason: string): MemoryError {
  const garbage = Math.max(0, storageStats.live - liveAtCollection);
  return new MemoryError(
    `Cannot allocate ${show(bytes)}: ${reason}; ${
      show(storageStats.live)
    } are live, of which up to ${show(garbage)} ` +
      "are garbage that only an await can collect; write `await optimizer.step()` (or await item(), data()) in the loop, " +
      "wrap the step in scope(() => …), or make the tensors smaller",
  );
}

/** Allocates, or says why not. */
export function guardAllocation(backend: Backend, bytes: number): Buffer {
  if (!(bytes >= 0) || storageStats.live + bytes > limit) {
    throw refuse(bytes, `the limit of ${show(limit)} would be passed`);
  }
  try {
    return backend.alloc(bytes);
  } catch (e) {
    if (e instanceof MemoryError) throw refuse(bytes, `${backend.place} has no such block left`);
    throw e;
  }
}

/** Finds the storages of the tensors in a value: itself, or in arrays, Maps, Sets and fields of objects. */
function storagesIn(value: unknown): Set<Storage> {
  const found = new Set<Storage>();
  const seen = new Set<object>();
  const todo: unknown[] = [value];
  while (todo.length > 0) {
    const x = todo.pop();
    if (typeof x !== "object" || x === null || seen.has(x)) continue;
    seen.add(x);
    if (x instanceof Tensor) {
      if (x.impl.storage !== null) found.add(x.impl.storage);
      todo.push(x.impl.grad);
    } else if (x instanceof Map) todo.push(...x.keys(), ...x.values());
    else if (x instanceof Set || Array.isArray(x)) todo.push(...x);
    else if (!ArrayBuffer.isView(x)) todo.push(...Object.values(x));
  }
  return found;
}

/**
 * Runs `fn` and frees every tensor made in it at once, except those it returns (in arrays, Maps, Sets and
 * public fields of objects too) and the gradients of leaves. What an async function made, also after its awaits, is
 * freed when it settles; what others make meanwhile is not its own.
 *
 * @throws {ValueError} if `fn` is not a function.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { scope, tensor } from "../../mod.ts";
 *
 * const y = scope(() => tensor([1, 2]).mul(3).add(1));
 * assertEquals(await y.toArray(), [4, 7]);
 * ```
 */
export function scope<T>(fn: () => T): T {
  expectFunction("scope", fn);
  const outer = openScopes().at(-1);
  const own = new Scope();
  const close = (result: unknown): void => {
    own.closed = true;
    const kept = storagesIn(result);
    for (const s of own) {
      if (kept.has(s)) handOver(s, outer);
      else s.free();
    }
    own.clear();
  };
  let result: T;
  try {
    result = inScope(own, fn);
  } catch (e) {
    close(null);
    throw e;
  }
  if (!(result instanceof Promise)) {
    close(result);
    return result;
  }
  return result.then((v) => {
    close(v);
    return v;
  }, (e) => {
    close(null);
    throw e;
  }) as T;
}

/** Memory figures and limits. */
export const memory: {
  stats(): MemoryReport;
  resetPeak(): void;
  setWatermark(bytes: number): void;
  setLimit(bytes: number): void;
  collect(): Promise<void>;
} = {
  /** The figures now. */
  stats(): MemoryReport {
    drainFreed();
    return {
      live: storageStats.live,
      peak: storageStats.peak,
      reserved: reservedBytes(),
      garbage: Math.max(0, storageStats.live - liveAtCollection),
      storages: storageStats.count,
      watermark,
      limit,
    };
  },
  /** Starts a new measurement of `peak`. */
  resetPeak(): void {
    storageStats.peak = storageStats.live;
  },
  /** Sets how many live bytes make an await collect garbage. */
  setWatermark(bytes: number): void {
    if (typeof bytes !== "number" || !(bytes > 0)) {
      throw new ValueError(
        `Cannot setWatermark to ${describe(bytes)}: it must be a positive number of bytes`,
      );
    }
    watermark = bytes;
    threshold = Math.max(watermark, liveAtCollection + watermark / 2);
  },
  /** Sets how many live bytes make an allocation fail. */
  setLimit(bytes: number): void {
    if (typeof bytes !== "number" || !(bytes > 0)) {
      throw new ValueError(
        `Cannot setLimit to ${describe(bytes)}: it must be a positive number of bytes`,
      );
    }
    limit = bytes;
  },
  /** Collects garbage now. */
  async collect(): Promise<void> {
    collector()?.({ type: "major" });
    await yieldMacrotask();
    drainFreed();
    await yieldMacrotask();
    drainFreed();
    liveAtCollection = storageStats.live;
    threshold = Math.max(watermark, liveAtCollection + watermark / 2);
  },
};

let reserved: () => number = () => 0;

/** Tells how much the default place has taken from the system. */
export function setReservedSource(fn: () => number): void {
  reserved = fn;
}

function reservedBytes(): number {
  return reserved();
}
