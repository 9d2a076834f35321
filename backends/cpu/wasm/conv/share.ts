// How convolutions are shared out over threads: by images, or by sections of channels or groups where there are few
// images. Every element is summed up in the same order whatever the cut. Not here: kernels, blocks, the pool.
import type { Arg, SharedCode, Tail } from "../../threads/job.ts";
import type { Fork } from "../../threads/pool.ts";
import type { ElementSpec } from "../gemm/spec.ts";
import { type Job, JOB_BYTES, writeJob } from "./job.ts";

/** Nanoseconds, roughly, of a multiplication with addition. */
const MADD_NS = { 4: 0.06, 8: 0.12 } as const;
/** Rows of a tile of the filters' gradient. */
const WEIGHT_ROWS = 3;

/** A job that is written, ready to be shared out. */
export interface Shared {
  readonly fork: Fork;
  readonly code: SharedCode;
  readonly spec: ElementSpec;
  readonly memory: WebAssembly.Memory;
  readonly job: Job;
  /** Address of the job. */
  readonly at: number;
  /** Address of room for one job a thread. */
  readonly records: number;
  /** Scratch memory of the first thread, and bytes from one thread's to the next. */
  readonly scratch: Arg;
}

/** What the products of a job cost, in nanoseconds: of a result [images, groups, m, positions]. */
export function convCost(job: Job, images: number, spec: ElementSpec): number {
  const { groups, m, height, width, channels, taps } = job;
  return images * groups * m * height * width * channels * taps * MADD_NS[spec.size];
}

/** Writes one job for every section, the k-th changed by `part(k · size, its size)`; gives their number. */
function writeSections(
  { memory, job, records, fork }: Shared,
  length: number,
  grain: number,
  part: (first: number, count: number) => Partial<Job>,
): { readonly count: number; readonly size: number } {
  const size = Math.ceil(Math.ceil(length / grain) / fork.threads) * grain;
  let count = 0;
  for (let first = 0; first < length; first += size) {
    const own = { ...job, ...part(first, Math.min(size, length - first)) };
    writeJob(memory.buffer, records + JOB_BYTES * count, "i32", own);
    count++;
  }
  return { count, size };
}

/** Sections of the groups; everything of a group lies together. */
function groupSections(shared: Shared): { readonly count: number; readonly size: number } {
  const { job } = shared;
  return writeSections(shared, job.groups, 1, (first, groups) => ({
    groups,
    a: job.a + first * job.aGroup,
    source: job.source + first * job.sourceGroup,
    c: job.c + first * job.cGroup,
  }));
}

/** Runs the kernel `correlate` on images start to end - 1; `tail` is on planes of the result. */
export function shareCorrelate(
  shared: Shared,
  [start, end]: readonly [number, number],
  tail: Tail | undefined,
): void {
  const { fork, code, job, at, records, scratch, spec } = shared;
  const cost = convCost(job, end - start, spec);
  const call = { code, name: "correlate", grain: 1 } as const;
  const place = { base: 0, item: 0, begin: 0, scale: 1, columns: false };
  if (end - start >= fork.threads || (job.groups === 1 && job.m < 2 * spec.rows)) {
    const args = [at, scratch, { base: start, begin: 1 }, { base: start, end: 1 }];
    fork.run({
      ...call,
      args,
      items: 1,
      length: end - start,
      tail: tail && { ...tail, ...place },
    }, cost);
    return;
  }
  const byGroups = job.groups > 1;
  const { count, size } = byGroups
    ? groupSections(shared)
    : writeSections(shared, job.m, spec.rows, (first, m) => ({
      m,
      chunk: Math.min(m, job.chunk),
      a: job.a + first * job.aRow,
      c: job.c + first * job.cRow,
    }));
  const item = byGroups ? size * job.m : size;
  for (let image = start; image < end; image++) {
    const args = [{ base: records, item: JOB_BYTES }, scratch, image, image + 1];
    const job = { ...call, args, items: count, length: 1 };
    fork.run({ ...job, tail: tail && { ...tail, ...place, item } }, cost / (end - start));
  }
}

/** Runs the kernel `weights`. */
export function shareWeights(shared: Shared): void {
  const { fork, code, job, at, records, scratch, spec } = shared;
  const { m, groups, channels, taps, sourcePlane } = job;
  const cost = convCost(job, job.images, spec);
  const call = { code, name: "weights" } as const;
  const { threads } = fork;
  // Sections stage a part of the images each, rows stage all of them again.
  const byChannels = groups === 1 && job.direct === 0 && channels >= 2 * threads;
  if (groups >= threads || byChannels) {
    const { count } = groups >= threads
      ? groupSections(shared)
      : writeSections(shared, channels, 1, (first, count) => ({
        channels: count,
        source: job.source + first * sourcePlane,
        c: job.c + first * taps * spec.size,
      }));
    const args = [{ base: records, item: JOB_BYTES }, scratch, 0, m];
    fork.run({ ...call, args, items: count, length: 1, grain: 1 }, cost);
    return;
  }
  const args = [at, scratch, { base: 0, begin: 1 }, { base: 0, end: 1 }];
  const rows = { items: 1, length: m, grain: WEIGHT_ROWS };
  fork.run({ ...call, args, ...rows }, cost, job.direct === 1 ? undefined : threads);
}
