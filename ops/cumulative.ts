// Running folds along an axis, with gradients that are right where elements are 0 or -Infinity: they go
// through one linear recurrence and never divide.
import {
  engine,
  kernelOp,
  type LoweredKernel,
  type Meta,
  promote,
  promoteFloat,
  type Sample,
  scan,
} from "../core/op.ts";
import { type DType, isFloat, isInteger } from "../core/dtype.ts";
import * as k from "../core/ir/expr.ts";
import { makeKernel } from "../core/ir/kernel.ts";
import { normalizeAxis, sizeOf } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import { expectTensors } from "../core/operands.ts";
import type { DTypeRule, ScanOp, Vjp } from "../core/op.ts";
import type { Tensor } from "../core/tensor.ts";
import { extreme, toFloat } from "./common.ts";
import { scatterAlong } from "./placing.ts";

/** bool and integers are counted in int64 (array API standard). */
const accumulate: DTypeRule = (name, metas, attrs) => {
  const r = promote(name, metas, attrs);
  return isInteger(r.out) || r.out === "bool" ? { compute: "int64", out: "int64" } : r;
};

const samples = (): readonly Sample[] => [
  { inputs: [{ shape: [5] }], attrs: { axis: 0 } },
  { inputs: [{ shape: [2, 3, 2] }], attrs: { axis: 1 } },
  { inputs: [{ shape: [2, 4] }], attrs: { axis: 1 } },
  { inputs: [{ shape: [2, 0] }], attrs: { axis: 1 }, noGrad: true },
  { inputs: [{ values: [1, NaN, 2, Infinity] }], attrs: { axis: 0 }, noGrad: true },
];

/** Runs `f` along a normalized axis; a scalar is a row of one. */
function along<T extends Tensor | Tensor[]>(
  name: string,
  x: Tensor,
  axis: number,
  f: (x: Tensor, axis: number) => T,
): T {
  expectTensors(name, x);
  const a = normalizeAxis(name, axis, x.rank, true);
  if (x.rank > 0) return f(x, a);
  const out = f(op.reshape(x, [1]), 0);
  const drop = (y: Tensor): Tensor => op.reshape(y, []);
  return (Array.isArray(out) ? out.map(drop) : drop(out as Tensor)) as T;
}

const backward = (x: Tensor, axis: number, f: (x: Tensor) => Tensor): Tensor =>
  op.flip(f(op.flip(x, axis)), axis);

/** The elements one step on along the axis, with `value` behind the last. */
function next(x: Tensor, axis: number, value: number): Tensor {
  const rest = op.slice(x, { axes: [axis], starts: [1], ends: [x.shape[axis]] });
  return op.pad(rest, x.shape.map((_, d) => (d === axis ? [0, 1] : [0, 0])), { value });
}

/** The elements one step back along the axis, with `value` before the first. */
function previous(x: Tensor, axis: number, value: number): Tensor {
  const rest = op.slice(x, { axes: [axis], starts: [0], ends: [x.shape[axis] - 1] });
  return op.pad(rest, x.shape.map((_, d) => (d === axis ? [1, 0] : [0, 0])), { value });
}

// --- the linear recurrence ---------------------------------------------------------------------------

/** One scan over two operands; pairs (a, b) are the maps h → a·h + b, composed. */
function lowerRecurrence(
  [a]: readonly Meta[],
  attrs: Readonly<Record<string, unknown>>,
): LoweredKernel {
  const axis = attrs.axis as number;
  const n = a.shape[axis];
  const pre = sizeOf(a.shape.slice(0, axis));
  const post = sizeOf(a.shape.slice(axis + 1));
  const t = k.computeType(a.dtype);
  const side = (which: "left" | "right") => [k.leaf(which, t, 0), k.leaf(which, t, 1)];
  const [l, r] = [side("left"), side("right")];
  const strides = post === 1 ? [n, 1] : [n * post, 1, post];
  const outer = post === 1 ? "any" as const : "unit" as const;
  const inner = post === 1 ? "unit" as const : "any" as const;
  const buffer = { dtype: a.dtype, outer, inner };
  return {
    kernel: makeKernel({
      outerRank: strides.length - 1,
      innerRank: 1,
      inputs: [buffer, buffer],
      outputs: [{ ...buffer, stage: 0, value: 0 }],
      args: [],
      stages: [{
        kind: "scan",
        init: [k.constant(1, t), k.constant(0, t)],
        lift: [k.leaf("load", t, 0), k.leaf("load", t, 1)],
        combine: [k.mul(l[0], r[0]), k.add(k.mul(l[1], r[0]), r[1])],
        values: [k.leaf("left", t, 1)],
      }],
      index32: true,
    }),
    launch: {
      sizes: post === 1 ? [pre, n] : [pre, post, n],
      strides: [strides, strides, strides],
      offsets: [0, 0, 0],
      args: [],
    },
  };
}

const RECURRENCE = kernelOp({
  name: "linearRecurrence",
  infer: ([a]) => [{ shape: a.shape, dtype: a.dtype }],
  lower: (metas, _, attrs) => lowerRecurrence(metas, attrs),
  vjp: ([g], { inputs, outputs: [h], attrs }) => {
    const a = inputs[0] as Tensor;
    const axis = attrs.axis as number;
    const later = recurBack(next(a, axis, 0), g, axis);
    return [op.mul(later, previous(h, axis, 0)), later];
  },
  saves: "both",
  reads: [[0], [0]],
  samples: () => [
    { inputs: [{ shape: [2, 4] }, { shape: [2, 4] }], attrs: { axis: 1 } },
    { inputs: [{ shape: [2, 3, 2] }, { shape: [2, 3, 2] }], attrs: { axis: 1 } },
  ],
});

/** h[i] = a[i] · h[i - 1] + b[i] along the axis, from h[-1] = 0. */
function recur(a: Tensor, b: Tensor, axis: number): Tensor {
  return engine.call(RECURRENCE, [a, b], { axis });
}

/** h[i] = a[i] · h[i + 1] + b[i], from behind the last. */
function recurBack(a: Tensor, b: Tensor, axis: number): Tensor {
  return op.flip(recur(op.flip(a, axis), op.flip(b, axis), axis), axis);
}

// --- sums and products -------------------------------------------------------------------------------

const CUMSUM = scan({
  name: "cumsum",
  amp: "black",
  dtype: accumulate,
  init: (t) => [k.constant(0, t)],
  lift: ([x]) => [x],
  combine: ([a], [b]) => [k.add(a, b)],
  vjp: ([g], { attrs }) => {
    const axis = attrs.axis as number;
    return [backward(g, axis, (y) => cumsum(y, axis))];
  },
  saves: "none",
  samples,
});

/**
 * Running sum along an axis.
 *
 * @param x Any shape; integers and bools are summed in int64.
 * @param axis The axis to run along.
 * @returns The shape of `x`.
 * @throws {ShapeError} if the axis is out of range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { cumsum, tensor } from "../mod.ts";
 *
 * assertEquals(await cumsum(tensor([1, 2, 3]), 0).toArray(), [1, 3, 6]);
 * ```
 */
export function cumsum(x: Tensor, axis: number): Tensor {
  return along("cumsum", x, axis, (y, a) => engine.call(CUMSUM, [y], { axis: a }));
}

const CUMPROD = scan({
  name: "cumprod",
  amp: "black",
  dtype: accumulate,
  init: (t) => [k.constant(1, t)],
  lift: ([x]) => [x],
  combine: ([a], [b]) => [k.mul(a, b)],
  vjp: ([g], { inputs, attrs }) => {
    const x = inputs[0] as Tensor;
    const axis = attrs.axis as number;
    if (x.numel === 0) return [g];
    // dL/dx[i] = (product before i) · Σ over j >= i of g[j] · (product between i and j).
    const before = previous(cumprod(x, axis), axis, 1);
    return [op.mul(before, recurBack(next(x, axis, 0), g, axis))];
  },
  samples: () => [
    ...samples(),
    { inputs: [{ values: [2, 0, 3, 4, 0, 2, 0, 3], shape: [2, 4] }], attrs: { axis: 1 } },
  ],
});

/**
 * Running product along an axis. The gradient is right where elements are 0, too.
 *
 * @param x Any shape; integers and bools are multiplied in int64.
 * @param axis The axis to run along.
 * @returns The shape of `x`.
 * @throws {ShapeError} if the axis is out of range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { cumprod, tensor } from "../mod.ts";
 *
 * assertEquals(await cumprod(tensor([1, 2, 3]), 0).toArray(), [1, 2, 6]);
 * ```
 */
export function cumprod(x: Tensor, axis: number): Tensor {
  return along("cumprod", x, axis, (y, a) => engine.call(CUMPROD, [y], { axis: a }));
}

// --- extremes ----------------------------------------------------------------------------------------

/** Running best value with its last position; a NaN stays. `sign` 1 keeps the largest. */
function best(sign: 1 | -1): Pick<ScanOp, "dtype" | "outs" | "init" | "lift" | "combine"> {
  return {
    dtype: promote,
    outs: (out: DType) => [out, "int32"],
    init: (t) => [extreme(t, sign > 0 ? -1 : 1), k.constant(0, "int32")],
    lift: ([x], ctx) => [x, ctx.position()],
    combine: ([lv, li], [rv, ri]) => {
      const reaches = sign > 0 ? k.le(lv, rv) : k.le(rv, lv);
      const take = isFloat(rv.dtype as DType) ? k.or(reaches, k.isNan(rv)) : reaches;
      return [k.where(take, rv, lv), k.where(take, ri, li)];
    },
  };
}

const toLast: Vjp = ([g], { outputs: [, index], shapes, attrs }) => [
  scatterAlong(g, index, attrs.axis as number, shapes[0]),
];

const extremeSamples = (): readonly Sample[] => [
  ...samples(),
  { inputs: [{ values: [1, 3, 3, 1, 3, 1, 0, 0] }], attrs: { axis: 0 }, noGrad: true },
  { inputs: [{ values: [1, Infinity, 0, NaN, -Infinity, 2] }], attrs: { axis: 0 }, noGrad: true },
  { inputs: [{ values: [-3, 4, 4, 1], dtype: "int64" }], attrs: { axis: 0 }, noGrad: true },
];

const CUMMAX = scan({
  name: "cummax",
  ...best(1),
  vjp: toLast,
  saves: "out",
  samples: extremeSamples,
});

/**
 * Running maximum along an axis and its position (the last of equal ones). From the first NaN on, NaN.
 *
 * @param x Any shape and real dtype.
 * @param axis The axis to run along.
 * @returns `[values, indices]` of `x`'s shape; indices are int32.
 * @throws {ShapeError} if the axis is out of range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { cummax, tensor } from "../mod.ts";
 *
 * const [values, indices] = cummax(tensor([1, 3, 2]), 0);
 * assertEquals([await values.toArray(), await indices.toArray()], [[1, 3, 3], [0, 1, 1]]);
 * ```
 */
export function cummax(x: Tensor, axis: number): Tensor[] {
  return along("cummax", x, axis, (y, a) => engine.callMany(CUMMAX, [y], { axis: a }));
}

const CUMMIN = scan({
  name: "cummin",
  ...best(-1),
  vjp: toLast,
  saves: "out",
  samples: extremeSamples,
});

/**
 * Running minimum along an axis and its position (the last of equal ones). From the first NaN on, NaN.
 *
 * @param x Any shape and real dtype.
 * @param axis The axis to run along.
 * @returns `[values, indices]` of `x`'s shape; indices are int32.
 * @throws {ShapeError} if the axis is out of range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { cummin, tensor } from "../mod.ts";
 *
 * const [values, indices] = cummin(tensor([2, 1, 3]), 0);
 * assertEquals([await values.toArray(), await indices.toArray()], [[2, 1, 1], [0, 1, 1]]);
 * ```
 */
export function cummin(x: Tensor, axis: number): Tensor[] {
  return along("cummin", x, axis, (y, a) => engine.callMany(CUMMIN, [y], { axis: a }));
}

// --- log-sum-exp -------------------------------------------------------------------------------------

const LOG_CUM_SUM_EXP = scan({
  name: "logCumSumExp",
  amp: "black",
  dtype: promoteFloat,
  outs: (out) => [out],
  init: (t) => [k.constant(-Infinity, t), k.constant(0, t)],
  lift: ([x]) => [x, k.constant(1, x.dtype)],
  // (largest, Σ exp(x - largest)); where the largest stays, nothing is scaled: -Inf - -Inf is NaN.
  combine: ([lm, ls], [rm, rs]) => {
    const m = k.max(lm, rm);
    const scaled = (own: k.Expr, s: k.Expr) =>
      k.where(k.eq(own, m), s, k.mul(s, k.exp(k.sub(own, m))));
    return [m, k.add(scaled(lm, ls), scaled(rm, rs))];
  },
  post: ([m, s]) => [k.add(m, k.log(s))],
  vjp: ([g], { inputs, outputs: [y], attrs }) => {
    const x = inputs[0] as Tensor;
    const axis = attrs.axis as number;
    const n = x.shape[axis];
    if (x.numel === 0) return [g];
    // dL/dx[i] = exp(x[i] - y[i]) · h[i] with h[i] = g[i] + exp(y[i] - y[i + 1]) · h[i + 1]: no factor is
    // above 1. Where y is still -Infinity, nothing has come in yet and the factors are 0.
    const factor = (from: Tensor, to: Tensor, none: Tensor): Tensor =>
      op.where(none, 0, op.exp(op.where(none, 0, op.sub(from, to))));
    const none = op.equal(y, -Infinity);
    const part = (t: Tensor, from: number, to: number): Tensor =>
      op.slice(t, { axes: [axis], starts: [from], ends: [to] });
    const ratio = factor(part(y, 0, n - 1), part(y, 1, n), part(none, 0, n - 1));
    const padded = (before: number, behind: number): Tensor =>
      op.pad(ratio, x.shape.map((_, d) => (d === axis ? [before, behind] : [0, 0])));
    const share = factor(x, y, none);
    // Σ over j <= i of exp(x[j] - y[i]): 1 but for the rounding of y, which it takes out.
    const total = recur(padded(1, 0), share, axis);
    const scaled = op.div(g, op.where(op.equal(total, 0), 1, total));
    // What had no share gets nothing, whatever the rest is.
    const back = op.mul(share, recurBack(padded(0, 1), scaled, axis));
    return [op.where(op.equal(share, 0), 0, back)];
  },
  saves: "both",
  samples: () => [
    ...samples(),
    { inputs: [{ values: [1000, 1001, -1000] }], attrs: { axis: 0 }, noGrad: true },
    {
      inputs: [{ values: [-Infinity, -Infinity, 0, 1, Infinity] }],
      attrs: { axis: 0 },
      noGrad: true,
    },
  ],
});

/**
 * Running log(Σ exp(x)) along an axis, without overflow.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @param axis The axis to run along.
 * @returns The shape of `x`.
 * @throws {ShapeError} if the axis is out of range.
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { logCumSumExp, tensor } from "../mod.ts";
 *
 * const y = await logCumSumExp(tensor([0, 0, 0]), 0).data();
 * assertAlmostEquals(y[2] as number, Math.log(3), 1e-6);
 * ```
 */
export function logCumSumExp(x: Tensor, axis: number): Tensor {
  return along(
    "logCumSumExp",
    x,
    axis,
    (y, a) => engine.call(LOG_CUM_SUM_EXP, [toFloat(y)], { axis: a }),
  );
}
