// What differs between the element types of the contraction kernels: lane count, tile height and the
// few instructions that touch elements. The kernels themselves are written once, over a spec.

import type { FunctionBuilder, Local, MemoryOp, PlainOp } from "../asm/mod.ts";

/** Element types that the contraction kernels compute in. */
export type GemmDType = "float32" | "float64" | "int32" | "int64";

/** One element type's instructions and tile size. */
export interface ElementSpec {
  readonly dtype: GemmDType;
  /** Bytes of an element. */
  readonly size: 4 | 8;
  /** log2 of `size`. */
  readonly shift: 2 | 3;
  /** Elements in a vector. */
  readonly lanes: 2 | 4;
  /** Columns of a full panel: two vectors. */
  readonly width: 4 | 8;
  /** Rows of a full tile; twice as many vectors of sums stay in registers. */
  readonly rows: 4 | 5 | 6;
  /** Loads one element into every lane. */
  readonly loadSplat: MemoryOp;
  /** Loads one element into lane 0 and zero into the others. */
  readonly loadZero: MemoryOp;
  /** Plain integer load and store that move an element's bits. */
  readonly loadBits: MemoryOp;
  readonly storeBits: MemoryOp;
  /** Vector addition. */
  readonly add: PlainOp;
  /** Pops factor, factor and addend; pushes their product plus the addend. */
  madd(f: FunctionBuilder, x: Local, y: Local, sum: Local): void;
}

const BITS_32 = {
  size: 4,
  shift: 2,
  lanes: 4,
  width: 8,
  loadSplat: "v128.load32_splat",
  loadZero: "v128.load32_zero",
  loadBits: "i32.load",
  storeBits: "i32.store",
} as const;

const BITS_64 = {
  size: 8,
  shift: 3,
  lanes: 2,
  width: 4,
  loadSplat: "v128.load64_splat",
  loadZero: "v128.load64_zero",
  loadBits: "i64.load",
  storeBits: "i64.store",
} as const;

function fused(op: PlainOp): ElementSpec["madd"] {
  return (f, x, y, sum) => void f.get(x).get(y).get(sum).op(op).set(sum);
}

function separate(mul: PlainOp, add: PlainOp): ElementSpec["madd"] {
  return (f, x, y, sum) => void f.get(x).get(y).op(mul).get(sum).op(add).set(sum);
}

/**
 * The spec of an element type. Six rows use 15 vector registers, all that x86 leaves after the
 * engine's own; without fused multiply-add the product needs one more, hence five.
 */
export function elementSpec(dtype: GemmDType, relaxed: boolean): ElementSpec {
  switch (dtype) {
    case "float32":
      return {
        dtype,
        ...BITS_32,
        rows: relaxed ? 6 : 5,
        add: "f32x4.add",
        madd: relaxed ? fused("f32x4.relaxed_madd") : separate("f32x4.mul", "f32x4.add"),
      };
    case "float64":
      return {
        dtype,
        ...BITS_64,
        rows: relaxed ? 6 : 5,
        add: "f64x2.add",
        madd: relaxed ? fused("f64x2.relaxed_madd") : separate("f64x2.mul", "f64x2.add"),
      };
    case "int32":
      return {
        dtype,
        ...BITS_32,
        rows: 5,
        add: "i32x4.add",
        madd: separate("i32x4.mul", "i32x4.add"),
      };
    case "int64":
      return {
        dtype,
        ...BITS_64,
        rows: 4,
        add: "i64x2.add",
        madd: separate("i64x2.mul", "i64x2.add"),
      };
    default:
      return dtype satisfies never;
  }
}
