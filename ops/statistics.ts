// Spreads, norms and logSumExp: functions of several reductions over the same axes, with gradients of
// their own where the derived one would divide by zero.
import { composite, engine, type Sample } from "../core/op.ts";
import { expectOptions } from "../core/operands.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { keepReduced, reduceAttrs, reducedCount, toFloat } from "./common.ts";
import type { ReduceOptions } from "./reduce.ts";

const axesOf = (attrs: Readonly<Record<string, unknown>>): readonly number[] =>
  attrs.axes as readonly number[];

const samples = (more: Readonly<Record<string, unknown>> = {}): readonly Sample[] => [
  { inputs: [{ shape: [2, 3] }], attrs: { axes: [0, 1], keepdim: false, ...more } },
  { inputs: [{ shape: [2, 3, 4] }], attrs: { axes: [1], keepdim: true, ...more } },
  { inputs: [{ shape: [2, 3, 4] }], attrs: { axes: [0, 2], keepdim: false, ...more } },
  {
    inputs: [{
      values: [NaN, 1, 2, Infinity, 1, 2, -Infinity, -Infinity, -Infinity, 0, -0, 0],
      shape: [4, 3],
    }],
    attrs: { axes: [1], keepdim: false, ...more },
    noGrad: true,
  },
];

const LOG_SUM_EXP = composite({
  name: "logSumExp",
  amp: "black",
  body: ([operand], attrs) => {
    const x = operand as Tensor;
    const axes = axesOf(attrs);
    const keepdim = attrs.keepdim as boolean;
    if (reducedCount(x.shape, attrs) === 0) return op.log(op.sum(x, axes, { keepdim }));
    const top = op.max(x, axes, { keepdim: true });
    const shift = op.where(op.isFinite(top), top, 0);
    const y = op.log(op.sum(op.exp(op.sub(x, shift)), axes, { keepdim: true }));
    const out = op.add(y, shift);
    return keepdim ? out : op.squeeze(out, axes);
  },
  vjp: ([g], { inputs, outputs: [y], attrs }) => {
    const x = inputs[0] as Tensor;
    const kept = keepReduced(y, x.shape, attrs);
    // Shares of the sum: dividing by their own sum takes out the rounding of y, which is large far from 0.
    const e = op.exp(op.sub(x, op.where(op.isFinite(kept), kept, 0)));
    const total = op.sum(e, axesOf(attrs), { keepdim: true });
    const scale = op.div(keepReduced(g, x.shape, attrs), op.where(op.equal(total, 0), 1, total));
    return [op.mul(scale, e)];
  },
  saves: "both",
  samples: () => [
    ...samples(),
    {
      inputs: [{ values: [1000, 1001, 0, -1000, -1001, -1002], shape: [2, 3] }],
      attrs: { axes: [1], keepdim: false },
    },
    { inputs: [{ shape: [0, 3] }], attrs: { axes: [0], keepdim: false }, noGrad: true },
  ],
});

/**
 * log(Σ exp(x)) over axes, without overflow.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @param axis One axis, several, or none for all.
 * @returns `x`'s shape without the axes, or with size 1 there if `keepdim`. Of nothing: -Infinity.
 * @throws {ShapeError} if an axis is out of range or repeated.
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { logSumExp, tensor } from "../mod.ts";
 *
 * const y = await logSumExp(tensor([1000, 1000])).item();
 * assertAlmostEquals(y as number, 1000 + Math.log(2), 1e-3);
 * ```
 */
export function logSumExp(
  x: Tensor,
  axis?: number | readonly number[],
  options: ReduceOptions = {},
): Tensor {
  const attrs = reduceAttrs("logSumExp", x, axis, options);
  return engine.call(LOG_SUM_EXP, [toFloat(x)], attrs);
}

/** Options of `variance` and `std`. */
export interface VarianceOptions extends ReduceOptions {
  /** Divide by n - 1 (Bessel's correction) and not by n. Default true. */
  readonly unbiased?: boolean;
}

function degrees(x: Tensor, attrs: Readonly<Record<string, unknown>>): number {
  return Math.max(reducedCount(x.shape, attrs) - (attrs.unbiased ? 1 : 0), 0);
}

/**
 * Two passes, not Welford's one: both are plain sums, which are blocked and so stay right for any
 * number of elements, and need no division inside the loop.
 */
function varianceOf(x: Tensor, attrs: Readonly<Record<string, unknown>>): Tensor {
  const axes = axesOf(attrs);
  const d = op.sub(x, op.mean(x, axes, { keepdim: true }));
  const total = op.sum(op.mul(d, d), axes, { keepdim: attrs.keepdim as boolean });
  return op.div(total, degrees(x, attrs));
}

const VARIANCE = composite({
  name: "variance",
  amp: "black",
  body: ([x], attrs) => varianceOf(x as Tensor, attrs),
  vjp: ([g], { inputs, attrs }) => {
    const x = inputs[0] as Tensor;
    const d = op.sub(x, op.mean(x, axesOf(attrs), { keepdim: true }));
    return [op.mul(op.mul(keepReduced(g, x.shape, attrs), 2 / degrees(x, attrs)), d)];
  },
  samples: () => [...samples({ unbiased: true }), ...samples({ unbiased: false })],
});

/**
 * Variance over axes.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @param axis One axis, several, or none for all.
 * @returns `x`'s shape without the axes, or with size 1 there if `keepdim`. Unbiased over one element: NaN.
 * @throws {ShapeError} if an axis is out of range or repeated.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { tensor, variance } from "../mod.ts";
 *
 * const x = tensor([1, 2, 3, 6]);
 * assertEquals(await variance(x, 0, { unbiased: false }).item(), 3.5);
 * ```
 */
export function variance(
  x: Tensor,
  axis?: number | readonly number[],
  options: VarianceOptions = {},
): Tensor {
  expectOptions("variance", options);
  const attrs = {
    ...reduceAttrs("variance", x, axis, options),
    unbiased: options.unbiased ?? true,
  };
  return engine.call(VARIANCE, [toFloat(x)], attrs);
}

const STD = composite({
  name: "std",
  amp: "black",
  body: ([x], attrs) => op.sqrt(varianceOf(x as Tensor, attrs)),
  vjp: ([g], { inputs, outputs: [y], attrs }) => {
    const x = inputs[0] as Tensor;
    const kept = keepReduced(y, x.shape, attrs);
    const flat = op.equal(kept, 0);
    const below = op.mul(op.where(flat, 1, kept), degrees(x, attrs));
    const scale = op.where(flat, 0, op.div(keepReduced(g, x.shape, attrs), below));
    return [op.mul(scale, op.sub(x, op.mean(x, axesOf(attrs), { keepdim: true })))];
  },
  saves: "both",
  samples: () => [
    ...samples({ unbiased: true }),
    ...samples({ unbiased: false }),
    {
      inputs: [{ values: [1, 1, 1] }],
      attrs: { axes: [0], keepdim: false, unbiased: true },
      noGrad: true,
    },
  ],
});

/**
 * Standard deviation over axes; its gradient is 0 where there is no spread.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @param axis One axis, several, or none for all.
 * @returns `x`'s shape without the axes, or with size 1 there if `keepdim`. Unbiased over one element: NaN.
 * @throws {ShapeError} if an axis is out of range or repeated.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { std, tensor } from "../mod.ts";
 *
 * assertEquals(await std(tensor([1, 3, 1, 3]), 0, { unbiased: false }).item(), 1);
 * ```
 */
export function std(
  x: Tensor,
  axis?: number | readonly number[],
  options: VarianceOptions = {},
): Tensor {
  expectOptions("std", options);
  const attrs = { ...reduceAttrs("std", x, axis, options), unbiased: options.unbiased ?? true };
  return engine.call(STD, [toFloat(x)], attrs);
}

/** Options of `norm`. */
export interface NormOptions extends ReduceOptions {
  /** The exponent, ±Infinity and 0 too; "fro" is 2. Default 2. */
  readonly p?: number | "fro";
  /** One axis, several, or none for all. */
  readonly axis?: number | readonly number[];
}

/** p as it is written in attrs, which have to survive JSON. */
const exponentOf = (attrs: Readonly<Record<string, unknown>>): number => Number(attrs.p);

const NORM = composite({
  name: "norm",
  amp: "black",
  body: ([operand], attrs) => {
    const x = operand as Tensor;
    const axes = axesOf(attrs);
    const options = { keepdim: attrs.keepdim as boolean };
    const p = exponentOf(attrs);
    switch (p) {
      case 0:
        return op.sum(op.notEqual(x, 0), axes, { ...options, dtype: x.dtype });
      case 1:
        return op.sum(op.abs(x), axes, options);
      case 2:
        return op.sqrt(op.sum(op.mul(x, x), axes, options));
      case Infinity:
        return op.max(op.abs(x), axes, options);
      case -Infinity:
        return op.min(op.abs(x), axes, options);
      default:
        return op.pow(op.sum(op.pow(op.abs(x), p), axes, options), 1 / p);
    }
  },
  vjp: ([g], { inputs, outputs, attrs }) => {
    const x = inputs[0] as Tensor;
    const p = exponentOf(attrs);
    if (p === 0) return [op.zerosLike(x)];
    const y = keepReduced(outputs[0], x.shape, attrs);
    const gk = keepReduced(g, x.shape, attrs);
    if (p === 1) return [op.mul(gk, op.sign(x))];
    if (Math.abs(p) === Infinity) {
      const chosen = op.equal(op.abs(x), y);
      const count = op.sum(chosen, axesOf(attrs), { keepdim: true, dtype: x.dtype });
      return [op.where(chosen, op.mul(op.div(gk, op.maximum(count, 1)), op.sign(x)), 0)];
    }
    // d‖x‖/dx = sign(x) (|x| / ‖x‖)^(p-1), and 0 where all of x is 0 (PyTorch).
    const none = op.equal(y, 0);
    const length = op.where(none, 1, y);
    if (p === 2) return [op.mul(op.where(none, 0, op.div(gk, length)), x)];
    const zero = op.equal(x, 0);
    const share = op.pow(op.div(op.where(zero, 1, op.abs(x)), length), p - 1);
    const slope = op.mul(op.sign(x), op.where(zero, 0, share));
    return [op.mul(op.where(none, 0, gk), slope)];
  },
  saves: "both",
  samples: () => [
    ...["1", "2", "3", "0.5", "Infinity", "-Infinity"].flatMap((p) => samples({ p })),
    {
      inputs: [{ values: [0, 1, -2, 0, 0, 0], shape: [2, 3] }],
      attrs: { axes: [1], keepdim: false, p: "2" },
      noGrad: true,
    },
    {
      inputs: [{ values: [0, 1, NaN] }],
      attrs: { axes: [0], keepdim: false, p: "0" },
      noGrad: true,
    },
    { inputs: [{ shape: [0] }], attrs: { axes: [0], keepdim: false, p: "2" }, noGrad: true },
  ],
});

/**
 * p-norm over axes: (Σ |x|^p)^(1/p). p = Infinity gives the largest magnitude, -Infinity the smallest,
 * 0 the number of elements that are not 0. The gradient of the zero vector is 0.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns `x`'s shape without the axes, or with size 1 there if `keepdim`.
 * @throws {ShapeError} if an axis is out of range or repeated.
 * @throws {ValueError} if p is ±Infinity and there are no elements.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { norm, tensor } from "../mod.ts";
 *
 * const x = tensor([[3, -4], [0, 0]]);
 * assertEquals(await norm(x, { axis: 1 }).toArray(), [5, 0]);
 * assertEquals(await norm(x, { p: 1 }).item(), 7);
 * ```
 */
export function norm(x: Tensor, options: NormOptions = {}): Tensor {
  expectOptions("norm", options);
  const p = options.p === "fro" ? 2 : options.p ?? 2;
  const attrs = { ...reduceAttrs("norm", x, options.axis, options), p: String(p) };
  return engine.call(NORM, [toFloat(x)], attrs);
}
