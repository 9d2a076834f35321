// Matrix products on a WebAssembly memory: C = A·B with any strides of A and B. Chooses the kernel
// and the blocks for a shape; compiles one module per element type, when first asked for it.

import type { SharedCode } from "../../threads/job.ts";
import type { Fork } from "../../threads/pool.ts";
import { ModuleBuilder, type PtrType } from "../asm/mod.ts";
import { emitAxpy, emitDot } from "./gemv.ts";
import { emitPackers } from "./pack.ts";
import { planProduct } from "./plan.ts";
import { type GemmTail, productCost, shareTiles, shareVectors } from "./share.ts";
import { type ElementSpec, elementSpec, type GemmDType } from "./spec.ts";
import { emitTiles, REPORT_BYTES, TILE_FLAGS } from "./tiles.ts";

/** A matrix operand: byte address and strides in elements, which may be zero or negative. */
export interface GemmOperand {
  ptr: number;
  rowStride: number;
  colStride: number;
}

/** Shape, operands and options of one matrix product, or of a batch of them. */
export interface GemmArgs {
  dtype: GemmDType;
  /** Rows of A and C. */
  m: number;
  /** Columns of B and C. */
  n: number;
  /** Columns of A, rows of B; 0 gives zeros. */
  k: number;
  a: GemmOperand;
  b: GemmOperand;
  /** Result; its columns are adjacent. It must not overlap the operands or the scratch memory. */
  c: { ptr: number; rowStride: number };
  /** Address, divisible by 16, of at least `scratchBytes(args)` bytes. */
  scratch: number;
  /** Add to C instead of overwriting it. */
  accumulate?: boolean;
  /** Compute only rows start ≤ i < end. Results do not depend on how rows are split. */
  rows?: readonly [start: number, end: number];
  /** Repeat with operands moved on by these numbers of elements each time. */
  batch?: { count: number; a: number; b: number; c: number };
  /**
   * Called for each run of rows of C once all their columns are final, in rising order, while
   * the rows are likely still in cache. The third argument is the number of the batch item.
   */
  onRows?: (rowStart: number, rowCount: number, item: number) => void;
  /** What `onRows` does, as other threads can do it; without it a product with `onRows` stays on one. */
  tail?: GemmTail;
}

/** What a product needs to know to size its scratch memory. */
export type GemmShape = Pick<GemmArgs, "dtype" | "m" | "n" | "k" | "a" | "b">;

/** Where the kernels live and what the engine offers. */
export interface GemmOptions {
  memory: WebAssembly.Memory;
  /** Address width of the memory. */
  ptr: PtrType;
  /** Whether the engine has relaxed vector instructions (fused multiply-add). */
  relaxed: boolean;
  /** Other threads on the memory, if there are any; addresses are then of 32 bits. */
  fork?: Fork | null;
}

/** Largest page counts that any memory of that address width may have. */
const ANY_MAX = { i32: 65536, i64: 2 ** 37 } as const;

type Kernel = (...args: (number | bigint)[]) => void;

interface Kernels {
  readonly spec: ElementSpec;
  readonly tiles: Kernel;
  readonly dot: Kernel;
  readonly axpy: Kernel;
  readonly copy: Kernel;
  readonly code: SharedCode | null;
}

/** Matrix products on one memory; make it with `createGemm`. Keeps no state between calls. */
export class Gemm {
  readonly #memory: WebAssembly.Memory;
  readonly #ptr: PtrType;
  readonly #relaxed: boolean;
  readonly #fork: Fork | null;
  readonly #kernels = new Map<GemmDType, Kernels>();
  #onRows: ((start: number, count: number) => void) | undefined;

  constructor(options: GemmOptions) {
    this.#memory = options.memory;
    this.#ptr = options.ptr;
    this.#relaxed = options.relaxed;
    this.#fork = options.fork ?? null;
  }

  #load(dtype: GemmDType): Kernels {
    const known = this.#kernels.get(dtype);
    if (known !== undefined) return known;
    const spec = elementSpec(dtype, this.#relaxed);
    const module = new ModuleBuilder({ ptr: this.#ptr });
    const shared = !(this.#memory.buffer instanceof ArrayBuffer);
    const max = shared ? ANY_MAX[this.#ptr] : undefined;
    module.importMemory("env", "memory", { shared, max });
    const onRows = module.importFunction("env", "onRows", { params: ["i32", "i32"] });
    const packers = emitPackers(module, spec);
    emitTiles(module, spec, packers, onRows);
    emitDot(module, spec);
    emitAxpy(module, spec);
    const bytes = module.bytes();
    const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes), {
      env: {
        memory: this.#memory,
        onRows: (start: number, count: number) => this.#onRows?.(start, count),
      },
    });
    const code = this.#fork?.code(bytes, instance) ?? null;
    const kernels = { spec, code, ...instance.exports } as unknown as Kernels;
    this.#kernels.set(dtype, kernels);
    return kernels;
  }

  #call(kernel: Kernel, ...args: number[]): void {
    if (this.#ptr === "i64") kernel(...args.map(BigInt));
    else kernel(...args);
  }

  /** Bytes of scratch memory that `run` needs for a product, on all threads together. */
  scratchBytes(shape: GemmShape): number {
    if (shape.m <= 0 || shape.n <= 0 || shape.k <= 0) return 0;
    const { scratchBytes } = planProduct(shape, elementSpec(shape.dtype, this.#relaxed));
    return scratchBytes * (this.#fork?.threads ?? 1);
  }

  /** Computes the product, or the batch of products. */
  run(args: GemmArgs): void {
    const { dtype, m, n } = args;
    const count = args.batch?.count ?? 1;
    const [start, end] = args.rows ?? [0, m];
    if (n <= 0 || end <= start || count <= 0) return;
    const kernels = this.#load(dtype);
    const size = kernels.spec.size;
    const { batch, onRows } = args;
    const previous = this.#onRows;
    try {
      if (this.#shareTiles(kernels, args, start, end)) return;
      for (let item = 0; item < count; item++) {
        this.#onRows = onRows && ((start, count) => onRows(start, count, item));
        this.#one(
          kernels,
          args,
          args.a.ptr + item * size * (batch?.a ?? 0),
          args.b.ptr + item * size * (batch?.b ?? 0),
          args.c.ptr + item * size * (batch?.c ?? 0),
          start,
          end,
        );
      }
    } finally {
      this.#onRows = previous;
    }
  }

  /** Shares the whole call out over threads, if that is worth it and can be done. */
  #shareTiles(kernels: Kernels, args: GemmArgs, start: number, end: number): boolean {
    const fork = this.#fork;
    const { n, k, tail } = args;
    if (fork === null || k === 0 || (args.onRows !== undefined && tail === undefined)) return false;
    const cost = productCost({ m: end - start, n, k }, "tiles", kernels.spec);
    if (!fork.wants(cost * (args.batch?.count ?? 1))) return false;
    const plan = planProduct(args, kernels.spec);
    if (plan.path !== "tiles") return false;
    this.#onRows = tail && fork.report;
    shareTiles(fork, kernels.code!, kernels.spec, args, plan, [start, end]);
    return true;
  }

  #one(
    kernels: Kernels,
    args: GemmArgs,
    a: number,
    b: number,
    c: number,
    start: number,
    end: number,
  ): void {
    const { n, k, scratch } = args;
    const { size } = kernels.spec;
    const cRow = args.c.rowStride * size;
    const add = args.accumulate === true ? 1 : 0;
    if (k === 0) {
      if (add === 0) this.#zero(c + start * cRow, cRow, end - start, n * size);
      this.#onRows?.(start, end - start);
      return;
    }
    const plan = planProduct(args, kernels.spec);
    const { path, swapped, directA, directB, kBlock, nBlock } = plan;
    const aRow = args.a.rowStride * size;
    const aColumn = args.a.colStride * size;
    const bRow = args.b.rowStride * size;
    const bColumn = args.b.colStride * size;
    if (path === "tiles") {
      const flags = (add ? TILE_FLAGS.accumulate : 0) | (directB ? TILE_FLAGS.directB : 0) |
        (directA ? TILE_FLAGS.directA : 0) | (this.#onRows ? TILE_FLAGS.report : 0);
      const group = Math.max(1, Math.floor(REPORT_BYTES / (n * size)));
      // deno-fmt-ignore
      this.#call(kernels.tiles, a, aRow, aColumn, b, bRow, bColumn, c, cRow, n, k, start, end,
        scratch, kBlock, nBlock, group, flags);
      return;
    }
    // The vector paths see outputs j of a matrix, rows of A (swapped) or columns of B, and a few
    // vectors, columns of B or rows of A.
    const [x, xStep, matrix, line, inner, outStep, from, to] = swapped
      ? [b, bRow, a, aRow, aColumn, cRow, start, end]
      : [a + start * aRow, aColumn, b, bColumn, bRow, size, 0, n];
    const [vectors, vectorStep, outs] = swapped ? [n, bColumn, size] : [end - start, aRow, cRow];
    const outputs = swapped ? c : c + start * cRow;
    if (this.#fork?.wants(productCost({ m: vectors, n: to - from, k }, path, kernels.spec))) {
      // deno-fmt-ignore
      const product = { path, vectors, x, xStep, vectorStep, matrix, line, inner,
        out: outputs, outStep, outs, from, to, k, add };
      if (shareVectors(this.#fork, kernels.code!, kernels.spec, product)) {
        this.#onRows?.(start, end - start);
        return;
      }
    }
    for (let v = 0; v < vectors; v++) {
      const vector = x + v * vectorStep;
      const out = outputs + v * outs;
      if (path === "dot") {
        const packed = xStep === size || k === 1 ? vector : scratch;
        if (packed === scratch) this.#call(kernels.copy, scratch, 0, size, vector, 0, xStep, 1, k);
        this.#call(kernels.dot, packed, matrix, line, out, outStep, from, to, k, add);
        continue;
      }
      const [first, place] = [from * size, out + from * outStep];
      const direct = outStep === size || to - from === 1;
      const target = direct ? place : scratch;
      const copy = (...sides: number[]) => this.#call(kernels.copy, ...sides, 1, to - from);
      if (!direct && add) copy(scratch, 0, size, place, 0, outStep);
      this.#call(kernels.axpy, vector, xStep, matrix + first, inner, target, to - from, k, add);
      if (!direct) copy(place, 0, outStep, scratch, 0, size);
    }
    this.#onRows?.(start, end - start);
  }

  #zero(c: number, rowBytes: number, rows: number, bytes: number): void {
    const all = new Uint8Array(this.#memory.buffer);
    for (let row = 0; row < rows; row++) {
      all.fill(0, c + row * rowBytes, c + row * rowBytes + bytes);
    }
  }
}

/** Matrix products on a memory. Nothing is compiled before the first `run`. */
export function createGemm(options: GemmOptions): Gemm {
  return new Gemm(options);
}
