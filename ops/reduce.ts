// Reductions over axes to one value: sums, products, extremes, truth, counts. Positions of extremes
// are in arg_reduce.ts, spreads, norms and logSumExp in statistics.ts.
import {
  composite,
  type DTypeRule,
  engine,
  logical,
  promote,
  promoteFloat,
  reduction,
  type Sample,
  type VjpContext,
} from "../core/op.ts";
import { type DType, isFloat, isInteger } from "../core/dtype.ts";
import { DTypeError } from "../core/errors.ts";
import * as k from "../core/ir/expr.ts";
import { sizeOf } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import {
  expandReduced,
  extreme,
  keepReduced,
  reduceAttrs,
  reducedCount,
  refuseEmpty,
  toFloat,
} from "./common.ts";

/** Whether the axes of a reduction stay with size 1. */
export interface ReduceOptions {
  /** Keep the reduced axes, with size 1. Default false. */
  readonly keepdim?: boolean;
}

/** Options of `sum` and `prod`. */
export interface SumOptions extends ReduceOptions {
  /** What to compute in, and the dtype of the result. */
  readonly dtype?: DType;
}

const EVERYWHERE: readonly Sample[] = [
  { inputs: [{ shape: [2, 3] }], attrs: { axes: [0, 1], keepdim: false } },
  { inputs: [{ shape: [2, 3, 4] }], attrs: { axes: [1], keepdim: true } },
  { inputs: [{ shape: [2, 3, 4] }], attrs: { axes: [0, 2], keepdim: false } },
  { inputs: [{ shape: [] }], attrs: { axes: [], keepdim: false } },
];

const EMPTY: readonly Sample[] = [
  { inputs: [{ shape: [0, 3] }], attrs: { axes: [0], keepdim: true }, noGrad: true },
  { inputs: [{ shape: [0, 3] }], attrs: { axes: [1], keepdim: false }, noGrad: true },
];

const SPECIAL: readonly Sample[] = [
  {
    inputs: [{
      values: [NaN, 1, 2, Infinity, 1, 2, Infinity, -Infinity, 0, -0, 0, -0],
      shape: [4, 3],
    }],
    attrs: { axes: [1], keepdim: false },
    noGrad: true,
  },
];

/** bool and integers are counted in int64 (array API standard), unless a dtype is asked for. */
const accumulate: DTypeRule = (name, metas, attrs) => {
  const dtype = attrs.dtype as DType | undefined;
  if (dtype === "bool") {
    throw new DTypeError(`Cannot ${name} in bool: bools do not add up; use any() or all()`);
  }
  if (dtype !== undefined) return { compute: dtype, out: dtype };
  const r = promote(name, metas, attrs);
  return isInteger(r.out) || r.out === "bool" ? { compute: "int64", out: "int64" } : r;
};

const SUM = reduction({
  name: "sum",
  amp: "black",
  dtype: accumulate,
  init: (t) => [k.constant(0, t)],
  lift: ([x]) => [x],
  combine: ([a], [b]) => [k.add(a, b)],
  vjp: ([g], { shapes: [s], attrs }) => [expandReduced(g, s, attrs)],
  saves: "none",
  samples: () => [...EVERYWHERE, ...EMPTY, ...SPECIAL],
});

/**
 * Sum over axes.
 *
 * @param x Any shape; integers and bools are summed in int64.
 * @param axis One axis, several, or none for all.
 * @returns `x`'s shape without the axes, or with size 1 there if `keepdim`. Nothing sums to 0.
 * @throws {ShapeError} if an axis is out of range or repeated.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { sum, tensor } from "../mod.ts";
 *
 * assertEquals(await sum(tensor([[1, 2], [3, 4]]), 0).toArray(), [4, 6]);
 * ```
 */
export function sum(
  x: Tensor,
  axis?: number | readonly number[],
  options: SumOptions = {},
): Tensor {
  return engine.call(SUM, [x], sumAttrs("sum", x, axis, options));
}

function sumAttrs(
  name: string,
  x: Tensor,
  axis: number | readonly number[] | undefined,
  options: SumOptions,
): Record<string, unknown> {
  const attrs = reduceAttrs(name, x, axis, options);
  return options.dtype === undefined ? attrs : { ...attrs, dtype: options.dtype };
}

const MEAN = reduction({
  name: "mean",
  amp: "black",
  dtype: promoteFloat,
  init: (t) => [k.constant(0, t)],
  lift: ([x]) => [x],
  combine: ([a], [b]) => [k.add(a, b)],
  post: ([s], ctx) => [k.div(s, ctx.count(s.dtype))],
  vjp: ([g], { shapes: [s], attrs }) => [
    expandReduced(op.div(g, reducedCount(s, attrs)), s, attrs),
  ],
  saves: "none",
  samples: () => [...EVERYWHERE, ...EMPTY, ...SPECIAL],
});

/**
 * Arithmetic mean over axes.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @param axis One axis, several, or none for all.
 * @returns `x`'s shape without the axes, or with size 1 there if `keepdim`. The mean of nothing is NaN.
 * @throws {ShapeError} if an axis is out of range or repeated.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { mean, tensor } from "../mod.ts";
 *
 * assertEquals(await mean(tensor([[1, 2], [3, 6]]), 1).toArray(), [1.5, 4.5]);
 * ```
 */
export function mean(
  x: Tensor,
  axis?: number | readonly number[],
  options: ReduceOptions = {},
): Tensor {
  return engine.call(MEAN, [x], reduceAttrs("mean", x, axis, options));
}

/**
 * For each element, the product of the others along the axes: running products from both ends, so
 * that zeros need no division.
 */
function productOfOthers(x: Tensor, axes: readonly number[]): Tensor {
  const kept = x.shape.map((_, i) => i).filter((i) => !axes.includes(i));
  const order = [...kept, ...axes];
  const moved = op.permute(x, order);
  const rows = kept.map((i) => x.shape[i]);
  const n = sizeOf(axes.map((i) => x.shape[i]));
  const flat = op.reshape(moved, [...rows, n]);
  const last = rows.length;
  const exclusive = (y: Tensor): Tensor => {
    const front = op.slice(y, { axes: [last], starts: [0], ends: [n - 1] });
    return op.pad(op.cumprod(front, last), [...rows.map(() => [0, 0]), [1, 0]], { value: 1 });
  };
  const others = op.mul(exclusive(flat), op.flip(exclusive(op.flip(flat, last)), last));
  const back = order.map((_, i) => order.indexOf(i));
  return op.permute(op.reshape(others, moved.shape), back);
}

const PROD = reduction({
  name: "prod",
  amp: "black",
  dtype: accumulate,
  init: (t) => [k.constant(1, t)],
  lift: ([x]) => [x],
  combine: ([a], [b]) => [k.mul(a, b)],
  vjp: ([g], { inputs, attrs }) => {
    const x = inputs[0] as Tensor;
    const spread = expandReduced(g, x.shape, attrs);
    if (x.numel === 0) return [spread];
    return [op.mul(spread, productOfOthers(x, attrs.axes as readonly number[]))];
  },
  samples: () => [
    ...EVERYWHERE,
    ...EMPTY,
    ...SPECIAL,
    {
      inputs: [{ values: [0, 2, 3, 4, 0, 0, 2, 3, 4], shape: [3, 3] }],
      attrs: { axes: [1], keepdim: false },
    },
  ],
});

/**
 * Product over axes. The gradient is right where elements are 0, too.
 *
 * @param x Any shape; integers and bools are multiplied in int64.
 * @param axis One axis, several, or none for all.
 * @returns `x`'s shape without the axes, or with size 1 there if `keepdim`. The product of nothing is 1.
 * @throws {ShapeError} if an axis is out of range or repeated.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { prod, tensor } from "../mod.ts";
 *
 * assertEquals(await prod(tensor([[1, 2], [3, 4]]), 1).toArray(), [2, 12]);
 * ```
 */
export function prod(
  x: Tensor,
  axis?: number | readonly number[],
  options: SumOptions = {},
): Tensor {
  return engine.call(PROD, [x], sumAttrs("prod", x, axis, options));
}

/** The gradient of max and min: tied elements share it evenly (PyTorch's amax), NaN among them, which is the largest. */
function shareTies(
  [g]: readonly Tensor[],
  { inputs, outputs, attrs }: VjpContext,
): readonly Tensor[] {
  const x = inputs[0] as Tensor;
  const picked = op.equal(x, keepReduced(outputs[0], x.shape, attrs));
  const tied = op.logicalOr(picked, op.isNan(x));
  const axes = attrs.axes as readonly number[];
  const count = op.maximum(op.sum(tied, axes, { keepdim: true, dtype: g.dtype }), 1);
  return [op.where(tied, op.div(keepReduced(g, x.shape, attrs), count), 0)];
}

const TIES: readonly Sample[] = [
  {
    inputs: [{ values: [3, 1, 3, 1, 1, 1], shape: [2, 3] }],
    attrs: { axes: [1], keepdim: false },
    noGrad: true,
  },
  { inputs: [{ values: [0, -0] }], attrs: { axes: [0], keepdim: false }, noGrad: true },
  {
    inputs: [{ values: [-5, 7, 7, -9], shape: [2, 2], dtype: "int32" }],
    attrs: { axes: [0], keepdim: false },
    noGrad: true,
  },
];

const NOTHING_LEFT: Sample = {
  inputs: [{ shape: [0, 3] }],
  attrs: { axes: [1], keepdim: false },
  noGrad: true,
};

const MAX = reduction({
  name: "max",
  dtype: promote,
  init: (t) => [extreme(t, -1)],
  lift: ([x]) => [x],
  combine: ([a], [b]) => [k.max(a, b)],
  check: (metas, attrs) => refuseEmpty("max", metas, attrs),
  vjp: shareTies,
  saves: "both",
  samples: () => [...EVERYWHERE, NOTHING_LEFT, ...SPECIAL, ...TIES],
});

/**
 * Largest value over axes; NaN if there is one. Ties share the gradient evenly.
 *
 * @param x Any shape and real dtype.
 * @param axis One axis, several, or none for all.
 * @returns `x`'s shape without the axes, or with size 1 there if `keepdim`; the dtype of `x`.
 * @throws {ShapeError} if an axis is out of range or repeated.
 * @throws {ValueError} if there are no elements to choose from.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { max, tensor } from "../mod.ts";
 *
 * assertEquals(await max(tensor([[1, 5], [7, 2]]), 1).toArray(), [5, 7]);
 * ```
 */
export function max(
  x: Tensor,
  axis?: number | readonly number[],
  options: ReduceOptions = {},
): Tensor {
  return engine.call(MAX, [x], reduceAttrs("max", x, axis, options));
}

const MIN = reduction({
  name: "min",
  dtype: promote,
  init: (t) => [extreme(t, 1)],
  lift: ([x]) => [x],
  combine: ([a], [b]) => [k.min(a, b)],
  check: (metas, attrs) => refuseEmpty("min", metas, attrs),
  vjp: shareTies,
  saves: "both",
  samples: () => [...EVERYWHERE, NOTHING_LEFT, ...SPECIAL, ...TIES],
});

/**
 * Smallest value over axes; NaN if there is one. Ties share the gradient evenly.
 *
 * @param x Any shape and real dtype.
 * @param axis One axis, several, or none for all.
 * @returns `x`'s shape without the axes, or with size 1 there if `keepdim`; the dtype of `x`.
 * @throws {ShapeError} if an axis is out of range or repeated.
 * @throws {ValueError} if there are no elements to choose from.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { min, tensor } from "../mod.ts";
 *
 * assertEquals(await min(tensor([[1, 5], [7, 2]]), 1).toArray(), [1, 2]);
 * ```
 */
export function min(
  x: Tensor,
  axis?: number | readonly number[],
  options: ReduceOptions = {},
): Tensor {
  return engine.call(MIN, [x], reduceAttrs("min", x, axis, options));
}

/**
 * Same as {@linkcode max}: Paddle's and PyTorch's other name.
 *
 * @throws {ValueError} if there are no elements to choose from.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { amax, tensor } from "../mod.ts";
 *
 * assertEquals(await amax(tensor([1, 5])).item(), 5);
 * ```
 */
export function amax(
  x: Tensor,
  axis?: number | readonly number[],
  options: ReduceOptions = {},
): Tensor {
  return max(x, axis, options);
}

/**
 * Same as {@linkcode min}: Paddle's and PyTorch's other name.
 *
 * @throws {ValueError} if there are no elements to choose from.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { amin, tensor } from "../mod.ts";
 *
 * assertEquals(await amin(tensor([1, 5])).item(), 1);
 * ```
 */
export function amin(
  x: Tensor,
  axis?: number | readonly number[],
  options: ReduceOptions = {},
): Tensor {
  return min(x, axis, options);
}

const TRUTH = (): readonly Sample[] => [
  {
    inputs: [{ values: [0, NaN, 0.5, -0, 0, 0], shape: [3, 2] }],
    attrs: { axes: [1], keepdim: false },
  },
  {
    inputs: [{ values: [1, 0, 1, 1], shape: [2, 2], dtype: "bool" }],
    attrs: { axes: [0, 1], keepdim: true },
  },
  { inputs: [{ shape: [0, 2] }], attrs: { axes: [0], keepdim: false } },
];

const ANY = reduction({
  name: "any",
  dtype: logical,
  init: (t) => [k.constant(false, t)],
  lift: ([x]) => [x],
  combine: ([a], [b]) => [k.or(a, b)],
  vjp: null,
  saves: "none",
  samples: TRUTH,
});

/**
 * Whether at least one element over the axes is true: not 0 (NaN is true).
 *
 * @param x Any shape and real dtype.
 * @param axis One axis, several, or none for all.
 * @returns bool; `x`'s shape without the axes, or with size 1 there if `keepdim`. Of nothing: false.
 * @throws {ShapeError} if an axis is out of range or repeated.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { any, tensor } from "../mod.ts";
 *
 * assertEquals(await any(tensor([[0, 0], [0, 3]]), 1).toArray(), [false, true]);
 * ```
 */
export function any(
  x: Tensor,
  axis?: number | readonly number[],
  options: ReduceOptions = {},
): Tensor {
  return engine.call(ANY, [x], reduceAttrs("any", x, axis, options));
}

const ALL = reduction({
  name: "all",
  dtype: logical,
  init: (t) => [k.constant(true, t)],
  lift: ([x]) => [x],
  combine: ([a], [b]) => [k.and(a, b)],
  vjp: null,
  saves: "none",
  samples: TRUTH,
});

/**
 * Whether every element over the axes is true: not 0 (NaN is true).
 *
 * @param x Any shape and real dtype.
 * @param axis One axis, several, or none for all.
 * @returns bool; `x`'s shape without the axes, or with size 1 there if `keepdim`. Of nothing: true.
 * @throws {ShapeError} if an axis is out of range or repeated.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { all, tensor } from "../mod.ts";
 *
 * assertEquals(await all(tensor([[1, 2], [0, 3]]), 1).toArray(), [true, false]);
 * ```
 */
export function all(
  x: Tensor,
  axis?: number | readonly number[],
  options: ReduceOptions = {},
): Tensor {
  return engine.call(ALL, [x], reduceAttrs("all", x, axis, options));
}

const COUNT = reduction({
  name: "countNonzero",
  dtype: (name, metas, attrs) => ({ ...promote(name, metas, attrs), out: "int64" }),
  init: () => [k.constant(0, "int64")],
  lift: ([x]) => [k.cast(k.ne(x, 0), "int64")],
  combine: ([a], [b]) => [k.add(a, b)],
  vjp: null,
  saves: "none",
  samples: TRUTH,
});

/**
 * How many elements over the axes are not 0 (NaN counts).
 *
 * @param x Any shape and real dtype.
 * @param axis One axis, several, or none for all.
 * @returns int64; `x`'s shape without the axes, or with size 1 there if `keepdim`.
 * @throws {ShapeError} if an axis is out of range or repeated.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { countNonzero, tensor } from "../mod.ts";
 *
 * assertEquals(await countNonzero(tensor([[0, 1], [2, 3]]), 1).toArray(), [1, 2]);
 * ```
 */
export function countNonzero(
  x: Tensor,
  axis?: number | readonly number[],
  options: ReduceOptions = {},
): Tensor {
  return engine.call(COUNT, [x], reduceAttrs("countNonzero", x, axis, options));
}

/** x where it is a number, else 0. */
const orZero = (x: k.Expr): k.Expr => isFloat(x.dtype as DType) ? k.where(k.isNan(x), 0, x) : x;

const GAPS: readonly Sample[] = [
  {
    inputs: [{ values: [NaN, 1, 2, 4, NaN, NaN], shape: [2, 3] }],
    attrs: { axes: [1], keepdim: false },
    noGrad: true,
  },
];

const NAN_SUM = reduction({
  name: "nanSum",
  amp: "black",
  dtype: accumulate,
  init: (t) => [k.constant(0, t)],
  lift: ([x]) => [orZero(x)],
  combine: ([a], [b]) => [k.add(a, b)],
  vjp: ([g], { inputs, attrs }) => {
    const x = inputs[0] as Tensor;
    return [op.where(op.isNan(x), 0, keepReduced(g, x.shape, attrs))];
  },
  samples: () => [...EVERYWHERE, ...EMPTY, ...SPECIAL, ...GAPS],
});

/**
 * Sum over axes of the elements that are not NaN.
 *
 * @param x Any shape; integers and bools are summed in int64.
 * @param axis One axis, several, or none for all.
 * @returns `x`'s shape without the axes, or with size 1 there if `keepdim`. Nothing sums to 0.
 * @throws {ShapeError} if an axis is out of range or repeated.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nanSum, tensor } from "../mod.ts";
 *
 * assertEquals(await nanSum(tensor([1, NaN, 2])).item(), 3);
 * ```
 */
export function nanSum(
  x: Tensor,
  axis?: number | readonly number[],
  options: ReduceOptions = {},
): Tensor {
  return engine.call(NAN_SUM, [x], reduceAttrs("nanSum", x, axis, options));
}

const NAN_MEAN = composite({
  name: "nanMean",
  amp: "black",
  body: ([operand], attrs) => {
    const x = toFloat(operand as Tensor);
    const axes = attrs.axes as readonly number[];
    const keepdim = attrs.keepdim as boolean;
    const count = op.sum(op.logicalNot(op.isNan(x)), axes, { keepdim, dtype: x.dtype });
    return op.div(nanSum(x, axes, { keepdim }), count);
  },
  samples: () => [...EVERYWHERE, ...EMPTY, ...SPECIAL, ...GAPS],
});

/**
 * Mean over axes of the elements that are not NaN.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @param axis One axis, several, or none for all.
 * @returns `x`'s shape without the axes, or with size 1 there if `keepdim`. The mean of nothing is NaN.
 * @throws {ShapeError} if an axis is out of range or repeated.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nanMean, tensor } from "../mod.ts";
 *
 * assertEquals(await nanMean(tensor([1, NaN, 2])).item(), 1.5);
 * ```
 */
export function nanMean(
  x: Tensor,
  axis?: number | readonly number[],
  options: ReduceOptions = {},
): Tensor {
  return engine.call(NAN_MEAN, [x], reduceAttrs("nanMean", x, axis, options));
}
