// Conversion of dtype, and choosing, holding and blending values: cast, clip, nanToNum, where, lerp.
import { type DType, DTYPES, getDefaultDtype, isDType, isFloat } from "../core/dtype.ts";
import { DTypeError } from "../core/errors.ts";
import {
  type DTypeRule,
  elementwise,
  engine,
  type Operand,
  promote,
  promoteFloat,
  type Sample,
} from "../core/op.ts";
import type { Expr } from "../core/ir/expr.ts";
import * as k from "../core/ir/expr.ts";
import { expectOptions, expectTensors } from "../core/operands.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { POINTS, unarySamples, widened } from "./rules.ts";

/** Bounds of the integer dtypes narrower than what they are computed in. */
const NARROW: Partial<Record<DType, readonly [number, number]>> = {
  uint8: [0, 255],
  int8: [-128, 127],
  int16: [-32768, 32767],
};

const castRule: DTypeRule = (name, [x], attrs) => {
  const out = attrs.dtype as DType;
  for (const dtype of [x.dtype, out]) {
    if (DTYPES[dtype].kind === "complex") {
      throw new DTypeError(
        `Cannot ${name} ${x.dtype} to ${out}: complex dtypes have no kernels yet`,
      );
    }
  }
  // A number given at run time has no dtype of its own.
  return { compute: x.scalar ? out : x.dtype, out };
};

const CAST = elementwise({
  name: "cast",
  dtype: castRule,
  scalar: ([x], { attrs }) => {
    const to = attrs.dtype as DType;
    const bounds = NARROW[to];
    const fromFloat = x.dtype === "float32" || x.dtype === "float64";
    // Integers wrap; floats saturate, as they do to int32.
    const value = bounds !== undefined && fromFloat ? k.min(k.max(x, bounds[0]), bounds[1]) : x;
    return k.cast(value, k.computeType(to));
  },
  vjp: ([g], { dtypes: [from] }) => [op.cast(g, from)],
  saves: "none",
  samples: () => {
    const floats = [0, 1.5, -1.5, 2.999, -2.999, 300, -300, 1e6, 3e9, -3e9, 0.1, ...POINTS];
    const list: Sample[] = [{ inputs: [{ shape: [2, 3] }], attrs: { dtype: "float64" } }];
    for (const dtype of ["int8", "uint8", "int32", "int64", "bool", "float16", "bfloat16"]) {
      list.push({ inputs: [{ values: floats }], attrs: { dtype }, noGrad: true });
      list.push({
        inputs: [{ values: [0, 1, -1, 300, -129, 70000], dtype: "int32" }],
        attrs: { dtype },
        noGrad: true,
      });
    }
    return list;
  },
});

/**
 * The same values in another dtype.
 *
 * Float to integer drops the fraction and saturates (NaN gives 0); integer to narrower integer wraps;
 * anything but 0 is true, NaN too; to a narrower float rounds to nearest, ties to even.
 *
 * @param x Any shape and real dtype.
 * @param dtype The dtype to have.
 * @returns The shape of `x`; `x` itself if it has the dtype. The gradient is cast back.
 * @throws {DTypeError} if `dtype` is not the name of a dtype, or either is complex.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { cast, tensor } from "../mod.ts";
 *
 * assertEquals(await cast(tensor([1.7, -1.7, 300]), "int8").toArray(), [1, -1, 127]);
 * ```
 */
export function cast(x: Tensor, dtype: DType): Tensor {
  expectTensors("cast", x);
  if (!isDType(dtype)) {
    throw new DTypeError(
      `Cannot cast to "${dtype}": it must be one of ${Object.keys(DTYPES).join(", ")}`,
    );
  }
  return x.dtype === dtype ? x : engine.call(CAST, [x], { dtype });
}

/** Which bounds a clip has; they are its operands after x, in this order. */
interface Bounds {
  readonly low: boolean;
  readonly high: boolean;
}

function within(x: Operand, min?: Operand, max?: Operand): Tensor {
  const above = min === undefined ? null : op.greaterEqual(x, min);
  const below = max === undefined ? null : op.lessEqual(x, max);
  return above !== null && below !== null ? op.logicalAnd(above, below) : (above ?? below)!;
}

/** Where a bound is taken, given where x passes it: if the bounds cross, the upper one always is. */
function whenTaken(passed: Tensor, upper: boolean, min?: Operand, max?: Operand): Tensor {
  if (min === undefined || max === undefined) return passed;
  return upper
    ? op.logicalOr(passed, op.greaterThan(min, max))
    : op.logicalAnd(passed, op.lessEqual(min, max));
}

const CLIP = elementwise({
  name: "clip",
  dtype: promote,
  scalar: ([x, ...bounds], { attrs }) => {
    const { low, high } = attrs as unknown as Bounds;
    const raised = low ? k.max(x, bounds[0]) : x;
    return high ? k.min(raised, bounds[low ? 1 : 0]) : raised;
  },
  vjp: ([g], { inputs: [x, ...bounds], attrs, needs }) => {
    const { low, high } = attrs as unknown as Bounds;
    const min = low ? bounds[0] : undefined;
    const max = high ? bounds[low ? 1 : 0] : undefined;
    const only = (taken: Tensor) => op.where(taken, g, 0);
    const grads = [needs[0] ? only(within(x, min, max)) : null];
    if (min !== undefined) {
      grads.push(needs[1] ? only(whenTaken(op.lessThan(x, min), false, min, max)) : null);
    }
    if (max !== undefined) {
      grads.push(
        needs[low ? 2 : 1] ? only(whenTaken(op.greaterThan(x, max), true, min, max)) : null,
      );
    }
    return grads;
  },
  samples: () => [
    ...unarySamples([-3, 3], [...POINTS, 2, -2], [-1, 1])()
      .map((s) => ({ ...s, attrs: { low: true, high: true } })),
    { inputs: [{ shape: [5], range: [-3, 3] }, -1], attrs: { low: true, high: false } },
    { inputs: [{ shape: [5], range: [-3, 3] }, 1], attrs: { low: false, high: true } },
    {
      inputs: [{ shape: [2, 3], range: [-3, 3] }, { values: [-1, 2, 0] }, { values: [1, -2, 3] }],
      attrs: { low: true, high: true },
    },
  ],
});

/**
 * Each element held within `min` … `max`.
 *
 * @param x Any shape and real dtype.
 * @param min Number or tensor that broadcasts; none if left out.
 * @param max Number or tensor that broadcasts; none if left out. It wins where it is below `min`.
 * @returns The broadcast shape, the promoted dtype (a fractional bound makes integers float). The
 * gradient at a bound is 1, outside 0; NaN stays NaN.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { clip, tensor } from "../mod.ts";
 *
 * assertEquals(await clip(tensor([-3, 0.5, 3]), -1, 1).toArray(), [-1, 0.5, 1]);
 * assertEquals(await clip(tensor([-3, 0.5, 3]), undefined, 1).toArray(), [-3, 0.5, 1]);
 * ```
 */
export function clip(x: Tensor, min?: Operand, max?: Operand): Tensor {
  expectTensors("clip", x);
  const operands: Operand[] = [x];
  if (min !== undefined) operands.push(min);
  if (max !== undefined) operands.push(max);
  if (operands.length === 1) return x;
  return engine.call(CLIP, operands, { low: min !== undefined, high: max !== undefined });
}

/** The largest finite value. */
const LARGEST: Partial<Record<DType, number>> = {
  float16: 65504,
  bfloat16: (2 - 2 ** -7) * 2 ** 127,
  float32: (2 - 2 ** -23) * 2 ** 127,
  float64: Number.MAX_VALUE,
};

const NAN_TO_NUM = elementwise({
  name: "nanToNum",
  dtype: promoteFloat,
  scalar: ([x, nan, high, low]) => {
    const finite = k.where(k.eq(x, Infinity), high, k.where(k.eq(x, -Infinity), low, x));
    return k.where(k.isNan(x), nan, finite);
  },
  vjp: ([g], { inputs: [x] }) => [
    op.where(op.isFinite(x as Tensor), g, 0),
    null,
    null,
    null,
  ],
  samples: unarySamples([-2, 2], POINTS, [0.5, 9, -9]),
});

/** What stands in for the values that are no numbers. */
export interface NanToNumOptions {
  /** For NaN; default 0. */
  readonly nan?: number;
  /** For Infinity; default the largest finite value of the dtype. */
  readonly posinf?: number;
  /** For -Infinity; default the smallest finite value of the dtype. */
  readonly neginf?: number;
}

/**
 * NaN and infinities replaced by finite numbers.
 *
 * @param x Any shape and real dtype; integers come back as they are.
 * @returns The shape and dtype of `x`. The gradient is 0 where something was replaced.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nanToNum, tensor } from "../mod.ts";
 *
 * assertEquals(await nanToNum(tensor([NaN, Infinity, 2]), { posinf: 9 }).toArray(), [0, 9, 2]);
 * ```
 */
export function nanToNum(x: Tensor, options: NanToNumOptions = {}): Tensor {
  expectTensors("nanToNum", x);
  expectOptions("nanToNum", options);
  if (!isFloat(x.dtype)) return x;
  const largest = LARGEST[x.dtype]!;
  const { nan = 0, posinf = largest, neginf = -largest } = options;
  return engine.call(NAN_TO_NUM, [x, nan, posinf, neginf]);
}

/** `dtype` in attrs: what two bare numbers mean; tensors promote. */
const whereRule: DTypeRule = (name, metas, attrs) => {
  const out = attrs.dtype as DType | undefined ?? promote(name, metas.slice(1), attrs).out;
  return { compute: ["bool", out, out], out };
};

const WHERE = elementwise({
  name: "where",
  dtype: whereRule,
  scalar: ([cond, a, b]) => k.where(cond, a, b),
  vjp: ([g], { inputs: [cond], needs }) => [
    null,
    needs[1] ? op.where(cond, g, 0) : null,
    needs[2] ? op.where(cond, 0, g) : null,
  ],
  reads: [[], [0], [0]],
  samples: () => [
    { inputs: [{ values: [0, 1, 2], dtype: "int32" }, { shape: [2, 3] }, { shape: [2, 1] }] },
    { inputs: [{ values: [1, 0, 1], dtype: "bool" }, { shape: [3] }, 2.5] },
    {
      inputs: [
        { values: [1, 0, NaN, -0] },
        { values: [NaN, NaN, Infinity, 1] },
        { values: [1, 2, -Infinity, NaN] },
      ],
      noGrad: true,
    },
    { inputs: [{ shape: [0], dtype: "bool" }, { shape: [0] }, { shape: [1] }] },
    {
      inputs: [
        { values: [1, 0], dtype: "bool" },
        { values: [1, 0], dtype: "bool" },
        { values: [0, 1], dtype: "bool" },
      ],
      noGrad: true,
    },
  ],
});

/**
 * `a` where the condition holds, `b` elsewhere; all three broadcast.
 *
 * @param cond Bools, or numbers of which 0 is false and everything else true, NaN too.
 * @param a Tensor or number.
 * @param b Tensor or number.
 * @returns The broadcast shape; the promoted dtype of `a` and `b`, the default float if both are numbers.
 * No gradient goes to the side that is not taken, even where it is NaN.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { tensor, where } from "../mod.ts";
 *
 * const x = tensor([1, -2]);
 * assertEquals(await where(x.greaterThan(0), x, 0).toArray(), [1, 0]);
 * ```
 */
export function where(cond: Operand, a: Operand, b: Operand): Tensor {
  const bare = typeof a !== "object" && typeof b !== "object";
  return engine.call(WHERE, [cond, a, b], bare ? { dtype: bareType(a, b) } : undefined);
}

/** Two numbers mean the default float, whole or not, as in `tensor`. */
function bareType(a: Operand, b: Operand): DType {
  const kinds = [typeof a, typeof b];
  if (kinds.every((kind) => kind === "boolean")) return "bool";
  return kinds.includes("number") ? getDefaultDtype() : "int64";
}

/** a + w (b - a), computed from the nearer end: exact at both. */
function blend(a: Expr, b: Expr, w: Expr): Expr {
  const d = k.sub(b, a);
  const fromB = k.sub(b, k.mul(d, k.sub(1, w)));
  return k.where(k.lt(k.abs(w), 0.5), k.add(a, k.mul(w, d)), fromB);
}

const LERP = elementwise({
  name: "lerp",
  dtype: promoteFloat,
  scalar: ([a, b, w]) => blend(a, b, w),
  vjp: ([g], { inputs: [a, b, w], needs }) => [
    needs[0] ? (typeof w === "object" ? op.sub(g, op.mul(g, w)) : op.mul(g, 1 - Number(w))) : null,
    needs[1] ? op.mul(g, w) : null,
    needs[2] ? op.mul(g, op.sub(widened(b, g), widened(a, g))) : null,
  ],
  reads: [[2], [2], [0, 1]],
  samples: () => [
    { inputs: [{ shape: [2, 3] }, { shape: [3] }, { shape: [2, 1], range: [0, 1] }] },
    { inputs: [{ shape: [3] }, { shape: [3] }, 0.25] },
    { inputs: [{ values: [1, 2, -3, Infinity] }, { values: [4, 5, 6, 1] }, 1], noGrad: true },
  ],
});

/**
 * Linear interpolation `a + weight * (b - a)`; all three broadcast.
 *
 * @param a Tensor or number.
 * @param b Tensor or number.
 * @param weight Tensor or number: 0 gives `a`, 1 gives `b`.
 * @returns The broadcast shape; the promoted dtype, the default float for integers and bools.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { lerp, tensor } from "../mod.ts";
 *
 * assertEquals(await lerp(tensor([0, 4]), tensor([2, 8]), 0.25).toArray(), [0.5, 5]);
 * ```
 */
export function lerp(a: Operand, b: Operand, weight: Operand): Tensor {
  return engine.call(LERP, [a, b, weight]);
}
