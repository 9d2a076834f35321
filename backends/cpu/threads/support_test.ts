// For tests: runs work with several numbers of threads, sharing out even the smallest, and compares all bits.
// Only tests import it.
import { assert, assertEquals } from "jsr:@std/assert@1";
import { seed, type Tensor, tensor } from "../../../mod.ts";
import { getNumThreads, setNumThreads } from "./count.ts";
import { livePools, tuning } from "./pool.ts";

/** Values between -1 and 1 that are all different in their last bits. */
export function values(n: number, salt = 1): Float32Array<ArrayBuffer> {
  let s = salt * 2654435761 >>> 0;
  return Float32Array.from({ length: n }, () => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    return s / 2 ** 31 - 1;
  });
}

/** A tensor of such values. */
export function filled(shape: readonly number[], salt = 1): Tensor {
  return tensor(values(shape.reduce((a, b) => a * b, 1), salt)).reshape([...shape]);
}

/** Sleeps, with no macrotask in between. */
export function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Starts the workers of all pools and waits until they are up. */
export function startAll(): void {
  for (const pool of livePools()) {
    pool.start();
    const wanted = getNumThreads() - 1;
    for (let i = 0; i < 2000 && pool.workers < wanted; i++) sleep(10);
    assertEquals(pool.workers, wanted);
  }
}

/** How work is shared out in {@linkcode withThreads}. */
export interface Sharing {
  /** Whether even the smallest work is. */
  readonly small?: boolean;
  /** Whether workers alone take it. */
  readonly away?: boolean;
}

/** Sets how work is shared out while `body` runs. */
export function sharing<T>({ small = false, away = false }: Sharing, body: () => T): T {
  const before = { ...tuning };
  try {
    if (small) Object.assign(tuning, { enough: 0, enoughToWake: 0, part: 500 });
    tuning.takesPart = !away;
    return body();
  } finally {
    Object.assign(tuning, before);
  }
}

/** Runs `body` with so many threads, all up. */
export function withThreads<T>(n: number, body: () => T): T {
  const count = getNumThreads();
  try {
    setNumThreads(n);
    if (n > 1) startAll();
    return body();
  } finally {
    setNumThreads(count);
  }
}

/** The bits of tensors. */
export function bits(tensors: readonly Tensor[]): Uint8Array[] {
  return tensors.map((t) => {
    const data = t.dataSync();
    return new Uint8Array(data.buffer, data.byteOffset, data.byteLength).slice();
  });
}

function jobs(): number {
  return livePools().reduce((sum, pool) => sum + pool.jobs, 0);
}

/** Checks that work gives the same bits with 1, 2, 3 and 8 threads, and is at least so many jobs. */
export function sameBits(least: number, make: () => readonly Tensor[]): void {
  const run = () => {
    seed(7);
    return bits(make());
  };
  const alone = withThreads(1, run);
  for (const n of [2, 3, 8]) {
    withThreads(n, () => {
      for (const away of [false, true]) {
        const before = jobs();
        const shared = sharing({ small: true, away }, run);
        assert(jobs() - before >= least, `${jobs() - before} jobs`);
        shared.forEach((bytes, i) => {
          let at = -1;
          for (let k = 0; k < bytes.length && at < 0; k++) if (bytes[k] !== alone[i][k]) at = k;
          assertEquals([n, away, i, at, bytes.length], [n, away, i, -1, alone[i].length]);
        });
      }
    });
  }
}
