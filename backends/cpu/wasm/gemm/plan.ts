// Which kernel computes a product, and in which blocks: from the shape alone. Not here: the kernels.

import type { GemmShape } from "./gemm.ts";
import type { ElementSpec } from "./spec.ts";
import { packedRows, TILE_BYTES } from "./tiles.ts";

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

/** How one product is computed. */
export interface Plan {
  readonly path: "dot" | "axpy" | "tiles";
  /** For the vector paths: whether the vector is B (n = 1) and the matrix A. */
  readonly swapped: boolean;
  readonly directA: boolean;
  readonly directB: boolean;
  readonly kBlock: number;
  readonly nBlock: number;
  /** Of one thread; a multiple of 64. */
  readonly scratchBytes: number;
}

const roundUp = (value: number, multiple: number) => Math.ceil(value / multiple) * multiple;

/** The choices for a shape; they must not depend on the range of rows, or splits would differ. */
export function planProduct(shape: GemmShape, spec: ElementSpec): Plan {
  const { m, n, k, a, b } = shape;
  const { size, width, rows } = spec;
  const base = { directA: false, directB: false, kBlock: 0, nBlock: 0 };
  // A few vectors times a matrix: reading the matrix as it lies beats packing it.
  const few = (vectors: number, outputs: number) =>
    vectors === 1 || (vectors <= MAX_VECTORS && outputs * k >= MANY_ELEMENTS);
  const scratchBytes = roundUp(Math.max(k, m) * size, 64);
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
  const blocks = { directA, directB, kBlock, nBlock, scratchBytes: roundUp(tiles, 64) };
  return { path: "tiles", swapped: false, ...blocks };
}
