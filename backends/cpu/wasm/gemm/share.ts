// How a product is shared out over threads: by items of a batch, rows or columns of the result. Every element is
// summed up in the same order whatever the cut. Not here: the kernels, the plan, the pool.
import type { Tail } from "../../threads/job.ts";
import type { Fork } from "../../threads/pool.ts";
import type { SharedCode } from "../../threads/job.ts";
import type { GemmArgs } from "./gemm.ts";
import type { Plan } from "./plan.ts";
import type { ElementSpec } from "./spec.ts";
import { REPORT_BYTES, TILE_FLAGS } from "./tiles.ts";

/** A tail that runs on finished rows of C: positions base + item·item + row·scale of its leading axes. */
export interface GemmTail extends Tail {
  readonly base: number;
  readonly item: number;
  readonly scale: number;
  /** Whether its last axis are the columns of C, so that it can run on some of them. */
  readonly byColumns: boolean;
}

/** Nanoseconds, roughly, of a multiplication with addition: from the cache, and streaming through a matrix. */
const TILE_NS = { 4: 0.04, 8: 0.08 } as const;
const STREAM_NS = { 4: 0.1, 8: 0.2 } as const;
/** Rows or columns for which one vector is multiplied end at multiples of this. */
const VECTOR_GRAIN = 32;

/** What a product costs, in nanoseconds. */
export function productCost(
  { m, n, k }: { readonly m: number; readonly n: number; readonly k: number },
  path: Plan["path"],
  spec: ElementSpec,
): number {
  return m * n * k * (path === "tiles" ? TILE_NS : STREAM_NS)[spec.size];
}

/** Shares out the rows start to end - 1 of all items by tiles. */
export function shareTiles(
  fork: Fork,
  code: SharedCode,
  spec: ElementSpec,
  args: GemmArgs,
  { directA, directB, kBlock, nBlock, scratchBytes }: Plan,
  [start, end]: readonly [number, number],
): void {
  const { n, k, a, b, c, batch, tail } = args;
  const { size } = spec;
  const { threads } = fork;
  const items = batch?.count ?? 1;
  const rows = end - start;
  // What one more cut packs again.
  const again = { rows: directB ? 0 : k * n, columns: directA ? 0 : k * rows };
  const enough = (length: number, grain: number) => items * Math.ceil(length / grain) >= threads;
  const columnGrain = 2 * spec.width;
  const byColumns = (tail === undefined || tail.byColumns) && enough(n, columnGrain) &&
    (again.columns < again.rows || !enough(rows, spec.rows));
  const repeated = byColumns ? again.columns : again.rows;
  const most = repeated === 0 ? undefined : threads;
  const flags = (args.accumulate === true ? TILE_FLAGS.accumulate : 0) |
    (directB ? TILE_FLAGS.directB : 0) | (directA ? TILE_FLAGS.directA : 0) |
    (tail === undefined ? 0 : TILE_FLAGS.report);
  const width = byColumns ? Math.ceil(n / threads) : n;
  const group = Math.max(1, Math.floor(REPORT_BYTES / (width * size)));
  const bColumn = b.colStride * size;
  const column = byColumns ? 1 : 0;
  const row = 1 - column;
  fork.run(
    {
      code,
      name: "tiles",
      args: [
        { base: a.ptr, item: size * (batch?.a ?? 0) },
        a.rowStride * size,
        a.colStride * size,
        { base: b.ptr, item: size * (batch?.b ?? 0), begin: column * bColumn },
        b.rowStride * size,
        bColumn,
        { base: c.ptr, item: size * (batch?.c ?? 0), begin: column * size },
        c.rowStride * size,
        byColumns ? { base: 0, begin: -1, end: 1 } : n,
        k,
        { base: start, begin: row },
        byColumns ? end : { base: start, end: row },
        { base: args.scratch, slot: scratchBytes },
        kBlock,
        nBlock,
        group,
        flags,
      ],
      items,
      length: byColumns ? n : rows,
      grain: byColumns ? columnGrain : spec.rows,
      tail: tail && { ...tail, begin: 0, columns: byColumns },
    },
    items * productCost({ m: rows, n, k }, "tiles", spec),
    most,
  );
}

/** One or a few vectors times a matrix, as the vector kernels see them; addresses and steps in bytes. */
export interface VectorProduct {
  readonly path: "dot" | "axpy";
  readonly vectors: number;
  readonly x: number;
  readonly xStep: number;
  readonly vectorStep: number;
  readonly matrix: number;
  readonly line: number;
  readonly inner: number;
  readonly out: number;
  readonly outStep: number;
  readonly outs: number;
  readonly from: number;
  readonly to: number;
  readonly k: number;
  readonly add: number;
}

/** Shares out the outputs of every vector; false where a vector would have to be copied first. */
export function shareVectors(
  fork: Fork,
  code: SharedCode,
  spec: ElementSpec,
  p: VectorProduct,
): boolean {
  const { size } = spec;
  const count = p.to - p.from;
  const vector = { base: p.x, item: p.vectorStep };
  const shape = { code, items: p.vectors, length: count, grain: VECTOR_GRAIN };
  const cost = productCost({ m: p.vectors, n: count, k: p.k }, p.path, spec);
  if (p.path === "dot") {
    if (p.xStep !== size && p.k > 1) return false;
    const out = { base: p.out, item: p.outs };
    const range = [{ base: p.from, begin: 1 }, { base: p.from, end: 1 }];
    const args = [vector, p.matrix, p.line, out, p.outStep, ...range, p.k, p.add];
    fork.run({ ...shape, name: "dot", args }, cost);
    return true;
  }
  if (p.outStep !== size) return false;
  const first = p.from * size;
  const args = [
    vector,
    p.xStep,
    { base: p.matrix + first, begin: size },
    p.inner,
    { base: p.out + first, item: p.outs, begin: size },
    { base: 0, begin: -1, end: 1 },
    p.k,
    p.add,
  ];
  fork.run({ ...shape, name: "axpy", args }, cost);
  return true;
}
