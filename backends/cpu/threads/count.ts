// How many threads the embedded place computes with. Not here: the threads (pool.ts).
import { ValueError } from "../../../core/errors.ts";
import { MAX_THREADS } from "./layout.ts";

/** Whether threads are used unless the program says otherwise. */
const ON = false;

const VARIABLE = "PLESIO_NUM_THREADS";

let wanted: number | null = null;
const listeners = new Set<() => void>();

/** What the environment says, if it may be read without asking. */
function fromEnvironment(): number | null {
  try {
    const permission = Deno.permissions.querySync({ name: "env", variable: VARIABLE });
    if (permission.state !== "granted") return null;
    const n = Number(Deno.env.get(VARIABLE) ?? NaN);
    return Number.isInteger(n) && n >= 1 ? Math.min(n, MAX_THREADS) : null;
  } catch {
    return null;
  }
}

function fromMachine(): number {
  if (!ON) return 1;
  return Math.max(1, Math.min(globalThis.navigator?.hardwareConcurrency ?? 1, MAX_THREADS));
}

/**
 * The number of threads that operations on the place "cpu" may use, the calling one included.
 *
 * At first that is the environment variable `PLESIO_NUM_THREADS`, if the program may read it without
 * asking, else the number of processors. Where memory cannot be shared, everything runs on one thread
 * whatever the number.
 *
 * @returns An integer from 1 to 64.
 * @example
 * ```ts
 * import { assert } from "jsr:@std/assert@1";
 * import { getNumThreads } from "../../../mod.ts";
 *
 * assert(getNumThreads() >= 1);
 * ```
 */
export function getNumThreads(): number {
  return wanted ??= fromEnvironment() ?? fromMachine();
}

/**
 * Sets the number of threads that operations on the place "cpu" may use. Results are the same to the last
 * bit for any number. Threads are started when there is enough work for them; those running now end.
 *
 * @param n An integer from 1 to 64; 1 means that no thread but the calling one is used.
 * @throws {ValueError} if it is none.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { getNumThreads, setNumThreads } from "../../../mod.ts";
 *
 * const before = getNumThreads();
 * setNumThreads(1);
 * assertEquals(getNumThreads(), 1);
 * setNumThreads(before);
 * ```
 */
export function setNumThreads(n: number): void {
  if (!Number.isInteger(n) || n < 1 || n > MAX_THREADS) {
    throw new ValueError(
      `Cannot setNumThreads to ${n}: it must be an integer from 1 to ${MAX_THREADS}`,
    );
  }
  if (n === getNumThreads()) return;
  wanted = n;
  for (const listener of listeners) listener();
}

/** Calls back when the number changes, until the returned function is called. */
export function onNumThreads(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}
