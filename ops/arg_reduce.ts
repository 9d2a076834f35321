// Positions of extremes over axes, alone or with the values. The values alone are in reduce.ts.
import { expectTensors } from "../core/operands.ts";
import { engine, promote, type ReduceOp, reduction, type Sample } from "../core/op.ts";
import type { DType } from "../core/dtype.ts";
import * as k from "../core/ir/expr.ts";
import { normalizeAxis, type Shape } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { extreme, reduceAttrs, refuseEmpty } from "./common.ts";
import { placeAlong } from "./placing.ts";
import type { ReduceOptions } from "./reduce.ts";

const BEHIND_ALL = 2 ** 31 - 1;

/**
 * Folds (value, position) to the best value's first position; NaN is better than anything (PyTorch,
 * NumPy). `sign` 1 looks for the largest, -1 for the smallest.
 */
function search(sign: 1 | -1): Pick<ReduceOp, "dtype" | "init" | "lift" | "combine"> {
  return {
    dtype: promote,
    init: (t) => [extreme(t, sign > 0 ? -1 : 1), k.constant(BEHIND_ALL, "int32")],
    lift: ([x], ctx) => [x, ctx.position()],
    combine: ([lv, li], [rv, ri]) => {
      const rightNan = k.isNan(rv);
      const leftNan = k.isNan(lv);
      const better = k.or(
        sign > 0 ? k.lt(lv, rv) : k.lt(rv, lv),
        k.and(rightNan, k.not(leftNan)),
      );
      const tied = k.or(k.eq(lv, rv), k.and(rightNan, leftNan));
      const take = k.or(better, k.and(tied, k.lt(ri, li)));
      return [k.where(take, rv, lv), k.where(take, ri, li)];
    },
  };
}

const samples = (): readonly Sample[] => [
  { inputs: [{ shape: [2, 3, 4] }], attrs: { axes: [1], keepdim: false } },
  { inputs: [{ shape: [2, 3] }], attrs: { axes: [1], keepdim: true } },
  {
    inputs: [{ values: [1, 3, 3, 1, 2, 2, 2, 2], shape: [2, 4] }],
    attrs: { axes: [1], keepdim: false },
    noGrad: true,
  },
  {
    inputs: [{
      values: [1, NaN, 3, NaN, Infinity, -Infinity, 0, -0, -Infinity, -Infinity, NaN, NaN],
      shape: [3, 4],
    }],
    attrs: { axes: [1], keepdim: false },
    noGrad: true,
  },
  {
    inputs: [{ values: [-3, 5, 5, -7], dtype: "int64" }],
    attrs: { axes: [0], keepdim: false },
    noGrad: true,
  },
  { inputs: [{ shape: [0, 3] }], attrs: { axes: [1], keepdim: false }, noGrad: true },
];

const position = (): readonly DType[] => ["int32"];
const valueAndPosition = (out: DType): readonly DType[] => [out, "int32"];

const ARGMAX = reduction({
  name: "argmax",
  ...search(1),
  outs: position,
  post: ([, i]) => [i],
  check: (metas, attrs) => refuseEmpty("argmax", metas, attrs),
  vjp: null,
  saves: "none",
  samples,
});

/**
 * Position of the largest value; of the first if several are equal. NaN is the largest.
 *
 * @param x Any shape and real dtype.
 * @param axis The axis to look along; none looks at all elements in row-major order.
 * @returns int32; `x`'s shape without the axis, or with size 1 there if `keepdim`.
 * @throws {ShapeError} if the axis is out of range.
 * @throws {ValueError} if there are no elements to choose from.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { argmax, tensor } from "../mod.ts";
 *
 * assertEquals(await argmax(tensor([[1, 5], [7, 2]]), 1).toArray(), [1, 0]);
 * ```
 */
export function argmax(x: Tensor, axis?: number, options: ReduceOptions = {}): Tensor {
  return engine.call(ARGMAX, [x], reduceAttrs("argmax", x, axis, options));
}

const ARGMIN = reduction({
  name: "argmin",
  ...search(-1),
  outs: position,
  post: ([, i]) => [i],
  check: (metas, attrs) => refuseEmpty("argmin", metas, attrs),
  vjp: null,
  saves: "none",
  samples,
});

/**
 * Position of the smallest value; of the first if several are equal. A NaN is taken before any number.
 *
 * @param x Any shape and real dtype.
 * @param axis The axis to look along; none looks at all elements in row-major order.
 * @returns int32; `x`'s shape without the axis, or with size 1 there if `keepdim`.
 * @throws {ShapeError} if the axis is out of range.
 * @throws {ValueError} if there are no elements to choose from.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { argmin, tensor } from "../mod.ts";
 *
 * assertEquals(await argmin(tensor([[1, 5], [7, 2]]), 1).toArray(), [0, 1]);
 * ```
 */
export function argmin(x: Tensor, axis?: number, options: ReduceOptions = {}): Tensor {
  return engine.call(ARGMIN, [x], reduceAttrs("argmin", x, axis, options));
}

/** Gradient to the chosen element alone. */
function toChosen(
  g: Tensor,
  index: Tensor,
  shape: Shape,
  attrs: Readonly<Record<string, unknown>>,
): Tensor {
  const [axis] = attrs.axes as readonly number[];
  const kept = (y: Tensor): Tensor => attrs.keepdim ? y : op.unsqueeze(y, axis);
  return placeAlong(kept(g), kept(index), axis, shape[axis]);
}

const MAX_WITH_INDEX = reduction({
  name: "maxWithIndex",
  ...search(1),
  outs: valueAndPosition,
  check: (metas, attrs) => refuseEmpty("maxWithIndex", metas, attrs),
  vjp: ([g], { outputs: [, index], shapes: [s], attrs }) => [toChosen(g, index, s, attrs)],
  saves: "out",
  samples,
});

/**
 * Largest values along an axis and their positions (the first of equal ones). NaN is the largest.
 * The gradient goes to the chosen elements only.
 *
 * @param x Rank of at least 1, any real dtype.
 * @param axis The axis to look along.
 * @returns `[values, indices]` (int32): `x`'s shape without the axis, or with size 1 there if `keepdim`.
 * @throws {ShapeError} if the axis is out of range.
 * @throws {ValueError} if there are no elements to choose from.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { maxWithIndex, tensor } from "../mod.ts";
 *
 * const [values, indices] = maxWithIndex(tensor([[1, 5], [7, 2]]), 1);
 * assertEquals([await values.toArray(), await indices.toArray()], [[5, 7], [1, 0]]);
 * ```
 */
export function maxWithIndex(x: Tensor, axis: number, options: ReduceOptions = {}): Tensor[] {
  expectTensors("maxWithIndex", x);
  const attrs = reduceAttrs(
    "maxWithIndex",
    x,
    normalizeAxis("maxWithIndex", axis, x.rank),
    options,
  );
  return engine.callMany(MAX_WITH_INDEX, [x], attrs);
}

const MIN_WITH_INDEX = reduction({
  name: "minWithIndex",
  ...search(-1),
  outs: valueAndPosition,
  check: (metas, attrs) => refuseEmpty("minWithIndex", metas, attrs),
  vjp: ([g], { outputs: [, index], shapes: [s], attrs }) => [toChosen(g, index, s, attrs)],
  saves: "out",
  samples,
});

/**
 * Smallest values along an axis and their positions (the first of equal ones). A NaN is taken before
 * any number. The gradient goes to the chosen elements only.
 *
 * @param x Rank of at least 1, any real dtype.
 * @param axis The axis to look along.
 * @returns `[values, indices]` (int32): `x`'s shape without the axis, or with size 1 there if `keepdim`.
 * @throws {ShapeError} if the axis is out of range.
 * @throws {ValueError} if there are no elements to choose from.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { minWithIndex, tensor } from "../mod.ts";
 *
 * const [values, indices] = minWithIndex(tensor([[1, 5], [7, 2]]), 1);
 * assertEquals([await values.toArray(), await indices.toArray()], [[1, 2], [0, 1]]);
 * ```
 */
export function minWithIndex(x: Tensor, axis: number, options: ReduceOptions = {}): Tensor[] {
  expectTensors("minWithIndex", x);
  const attrs = reduceAttrs(
    "minWithIndex",
    x,
    normalizeAxis("minWithIndex", axis, x.rank),
    options,
  );
  return engine.callMany(MIN_WITH_INDEX, [x], attrs);
}
