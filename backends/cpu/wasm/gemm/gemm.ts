// Matrix products on a WebAssembly memory: C = A·B with any strides of A and B. Chooses the kernel
// and the blocks for a shape; compiles one module per element type, when first asked for it.

import { ModuleBuilder, type PtrType } from "../asm/mod.ts";
import { emitAxpy, emitDot } from "./gemv.ts";
import { emitPackers } from "./pack.ts";
import { type ElementSpec, elementSpec, type GemmDType } from "./spec.ts";
import { emitTiles, packedRows, TILE_BYTES, TILE_FLAGS } from "./tiles.ts";

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
}

/** Elements of A's and B's blocks along the reduction; both panels then fit a 32 KiB cache. */
const K_BLOCK = 384;
/** Bytes of the packed block of B: half of a small second-level cache. */
const B_BLOCK_BYTES = 256 * 1024;
/** Most vectors that are multiplied one by one with a matrix of at least so many elements. */
const MAX_VECTORS = 3;
const MANY_ELEMENTS = 4096;
/** Rows of B this far apart compete for the same few places of a cache, beyond a few of them. */
const PAGE_BYTES = 2048;
const FEW_ROWS = 8;
/** Bytes of C between two calls of `onRows`. */
const REPORT_BYTES = 32 * 1024;
/** Largest page counts that any memory of that address width may have. */
const ANY_MAX = { i32: 65536, i64: 2 ** 37 } as const;

type Kernel = (...args: (number | bigint)[]) => void;

interface Kernels {
  readonly spec: ElementSpec;
  readonly tiles: Kernel;
  readonly dot: Kernel;
  readonly axpy: Kernel;
  readonly copy: Kernel;
}

/** How one product is computed. */
interface Plan {
  readonly path: "dot" | "axpy" | "tiles";
  /** For the vector paths: whether the vector is B (n = 1) and the matrix A. */
  readonly swapped: boolean;
  readonly directA: boolean;
  readonly directB: boolean;
  readonly kBlock: number;
  readonly nBlock: number;
  readonly scratchBytes: number;
}

const roundUp = (value: number, multiple: number) => Math.ceil(value / multiple) * multiple;

/** Matrix products on one memory; make it with `createGemm`. Keeps no state between calls. */
export class Gemm {
  readonly #memory: WebAssembly.Memory;
  readonly #ptr: PtrType;
  readonly #relaxed: boolean;
  readonly #kernels = new Map<GemmDType, Kernels>();
  #onRows: ((start: number, count: number) => void) | undefined;

  constructor(options: GemmOptions) {
    this.#memory = options.memory;
    this.#ptr = options.ptr;
    this.#relaxed = options.relaxed;
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
    const { exports } = new WebAssembly.Instance(module.compile(), {
      env: {
        memory: this.#memory,
        onRows: (start: number, count: number) => this.#onRows?.(start, count),
      },
    });
    const kernels = { spec, ...exports } as unknown as Kernels;
    this.#kernels.set(dtype, kernels);
    return kernels;
  }

  #call(kernel: Kernel, ...args: number[]): void {
    if (this.#ptr === "i64") kernel(...args.map(BigInt));
    else kernel(...args);
  }

  /** Bytes of scratch memory that `run` needs for a product. */
  scratchBytes(shape: GemmShape): number {
    if (shape.m <= 0 || shape.n <= 0 || shape.k <= 0) return 0;
    return plan(shape, elementSpec(shape.dtype, this.#relaxed)).scratchBytes;
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
    const { path, swapped, directA, directB, kBlock, nBlock } = plan(args, kernels.spec);
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
    for (let v = 0; v < vectors; v++) {
      const vector = x + v * vectorStep;
      const out = (swapped ? c : c + start * cRow) + v * outs;
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

/** The choices for a shape; they must not depend on the range of rows, or splits would differ. */
function plan(shape: GemmShape, spec: ElementSpec): Plan {
  const { m, n, k, a, b } = shape;
  const { size, width, rows } = spec;
  const base = { directA: false, directB: false, kBlock: 0, nBlock: 0 };
  // A few vectors times a matrix: reading the matrix as it lies beats packing it.
  const few = (vectors: number, outputs: number) =>
    vectors === 1 || (vectors <= MAX_VECTORS && outputs * k >= MANY_ELEMENTS);
  const scratchBytes = roundUp(Math.max(k, m) * size, 16);
  if (few(n, m)) {
    if (a.colStride === 1 || k === 1) return { ...base, path: "dot", swapped: true, scratchBytes };
    if (a.rowStride === 1) return { ...base, path: "axpy", swapped: true, scratchBytes };
  }
  if (few(m, n)) {
    if (b.colStride === 1) return { ...base, path: "axpy", swapped: false, scratchBytes };
    if (b.rowStride === 1) return { ...base, path: "dot", swapped: false, scratchBytes };
  }
  const depthBlocks = Math.ceil(k / K_BLOCK);
  const kBlock = roundUp(Math.ceil(k / depthBlocks), 4);
  const columnLimit = Math.max(1, Math.floor(B_BLOCK_BYTES / (kBlock * size * width))) * width;
  const columnBlocks = Math.ceil(n / columnLimit);
  const nBlock = Math.min(columnLimit, roundUp(Math.ceil(n / columnBlocks), width));
  const directA = a.colStride === 1;
  const directB = b.colStride === 1 && m <= 2 * rows &&
    (k <= FEW_ROWS || (b.rowStride * size) % PAGE_BYTES !== 0);
  const packedB = kBlock * (directB ? width : roundUp(nBlock, width)) * size;
  const tiles = TILE_BYTES + roundUp(packedRows(spec) * kBlock * size, 16) + 16 + packedB;
  return { path: "tiles", swapped: false, directA, directB, kBlock, nBlock, scratchBytes: tiles };
}

/** Matrix products on a memory. Nothing is compiled before the first `run`. */
export function createGemm(options: GemmOptions): Gemm {
  return new Gemm(options);
}
