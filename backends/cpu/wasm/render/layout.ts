// Where the numbers of a launch lie in memory, and the writer that puts them there. It runs before
// every kernel, so it allocates nothing. Not here: the code that reads them (kernel.ts).
import { type ComputeType, DTYPES } from "../../../../core/dtype.ts";
import type { Kernel, Launch } from "../../../../core/ir/kernel.ts";
import type { PtrType } from "../asm/mod.ts";

/**
 * Bytes of a parameter block, in order: arguments (8 bytes each); then, in words of pointer width,
 * the domain's sizes; then for every input and output its address and its strides in bytes.
 * A block must be 8-byte aligned.
 */
export interface LaunchLayout {
  readonly ptr: PtrType;
  /** Bytes of the whole block. */
  readonly bytes: number;
  readonly args: readonly ComputeType[];
  /** Byte offset of the sizes. */
  readonly sizes: number;
  readonly rank: number;
  readonly buffers: readonly BufferLayout[];
}

/** Where one buffer's numbers lie. */
export interface BufferLayout {
  /** Byte offset of the address; the strides follow it. */
  readonly at: number;
  /** The number of strides. */
  readonly rank: number;
  /** log2 of the bytes of an element. */
  readonly shift: number;
}

/** The layout of a kernel's parameter block; make it once per kernel. */
export function launchLayout(kernel: Kernel, ptr: PtrType): LaunchLayout {
  const word = ptr === "i64" ? 8 : 4;
  const rank = kernel.outerRank + kernel.innerRank;
  const sizes = kernel.args.length * 8;
  let at = sizes + rank * word;
  const buffers: BufferLayout[] = [];
  for (const b of [...kernel.inputs, ...kernel.outputs]) {
    const own = "gatherRank" in b && b.gatherRank !== undefined ? b.gatherRank : rank;
    buffers.push({ at, rank: own, shift: Math.log2(DTYPES[b.dtype].bytes) });
    at += (1 + own) * word;
  }
  return { ptr, bytes: Math.ceil(at / 8) * 8, args: kernel.args, sizes, rank, buffers };
}

/** Views on the place of a parameter block. Make a new one when the memory's buffer changes. */
export class LaunchView {
  /** Address of the block. */
  readonly address: number;
  readonly words: Int32Array;
  readonly floats: Float32Array;
  readonly doubles: Float64Array;
  readonly longs: BigInt64Array;

  /** A view of `bytes` bytes at `address`, which must be a multiple of 8. */
  constructor(buffer: ArrayBufferLike, address: number, bytes: number) {
    this.address = address;
    this.words = new Int32Array(buffer, address, bytes >> 2);
    this.floats = new Float32Array(buffer, address, bytes >> 2);
    this.doubles = new Float64Array(buffer, address, bytes >> 3);
    this.longs = new BigInt64Array(buffer, address, bytes >> 3);
  }
}

/** Writes a launch. `basePtrs` are the addresses of the inputs' and outputs' storages. */
export function writeLaunch(
  view: LaunchView,
  layout: LaunchLayout,
  launch: Launch,
  basePtrs: readonly number[],
): void {
  const { args, buffers, rank } = layout;
  for (let i = 0; i < args.length; i++) {
    const value = launch.args[i];
    switch (args[i]) {
      case "float32":
        view.floats[i * 2] = value as number;
        break;
      case "float64":
        view.doubles[i] = value as number;
        break;
      case "int64":
        view.longs[i] = BigInt(value);
        break;
      default:
        view.words[i * 2] = value as number;
    }
  }
  const words = view.words;
  const { sizes, strides, offsets } = launch;
  let at = layout.sizes >> 2;
  if (layout.ptr === "i32") {
    for (let i = 0; i < rank; i++) words[at++] = sizes[i];
    for (let b = 0; b < buffers.length; b++) {
      const { rank: own, shift } = buffers[b];
      const bytes = 1 << shift;
      words[at++] = basePtrs[b] + offsets[b] * bytes;
      const list = strides[b];
      for (let i = 0; i < own; i++) words[at++] = list[i] * bytes;
    }
    return;
  }
  for (let i = 0; i < rank; i++) at = writeWide(words, at, sizes[i]);
  for (let b = 0; b < buffers.length; b++) {
    const { rank: own, shift } = buffers[b];
    const bytes = 1 << shift;
    at = writeWide(words, at, basePtrs[b] + offsets[b] * bytes);
    const list = strides[b];
    for (let i = 0; i < own; i++) at = writeWide(words, at, list[i] * bytes);
  }
}

function writeWide(words: Int32Array, at: number, x: number): number {
  words[at] = x;
  words[at + 1] = Math.floor(x / 2 ** 32);
  return at + 2;
}
