// Softmax and its logarithm. Their gradients read only the result. logSumExp is in statistics.ts, losses
// made of them in class_loss.ts.
import { composite, engine, type Sample } from "../core/op.ts";
import { expectTensors } from "../core/operands.ts";
import { normalizeAxes } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { toFloat } from "./common.ts";

const axesOf = (attrs: Readonly<Record<string, unknown>>): readonly number[] =>
  attrs.axes as readonly number[];

const samples = (): readonly Sample[] => [
  { inputs: [{ shape: [2, 5] }], attrs: { axes: [1] } },
  { inputs: [{ shape: [3, 2, 4] }], attrs: { axes: [0] } },
  { inputs: [{ shape: [3, 2, 4] }], attrs: { axes: [1] } },
  { inputs: [{ shape: [] }], attrs: { axes: [] } },
  { inputs: [{ shape: [0, 3] }], attrs: { axes: [1] } },
  { inputs: [{ shape: [3, 0] }], attrs: { axes: [1] } },
  {
    inputs: [{ values: [1000, 0, -1000, -1000, 1000, 1000], shape: [2, 3] }],
    attrs: { axes: [1] },
  },
  {
    inputs: [{
      values: [-Infinity, 0, 1, Infinity, 0, 1, NaN, 0, 1, -Infinity, -Infinity, -Infinity],
      shape: [4, 3],
    }],
    attrs: { axes: [1] },
    noGrad: true,
  },
];

/** x less its largest value along the axis, so that no exponential overflows. */
function shifted(x: Tensor, axes: readonly number[]): Tensor {
  return op.sub(x, op.max(x, axes, { keepdim: true }));
}

const SOFTMAX = composite({
  name: "softmax",
  amp: "black",
  body: ([operand], attrs) => {
    const x = operand as Tensor;
    const axes = axesOf(attrs);
    if (x.numel === 0) return op.exp(x);
    const e = op.exp(shifted(x, axes));
    return op.div(e, op.sum(e, axes, { keepdim: true }));
  },
  vjp: ([g], { outputs: [y], attrs }) => {
    const weighted = op.mul(g, y);
    const total = op.sum(weighted, axesOf(attrs), { keepdim: true });
    return [op.sub(weighted, op.mul(y, total))];
  },
  saves: "out",
  samples,
});

/**
 * exp(x) / Σ exp(x) along an axis, without overflow.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @param axis The axis whose results sum to 1. Default: the last.
 * @returns The shape of `x`; float dtype. NaN where all of the axis is -Infinity.
 * @throws {ShapeError} if the axis is out of range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const y = nn.functional.softmax(tensor([1000, 1000, -Infinity, -Infinity]));
 * assertEquals(await y.toArray(), [0.5, 0.5, 0, 0]);
 * ```
 */
export function softmax(x: Tensor, axis = -1): Tensor {
  expectTensors("softmax", x);
  return engine.call(SOFTMAX, [toFloat(x)], { axes: normalizeAxes("softmax", axis, x.rank) });
}

const LOG_SOFTMAX = composite({
  name: "logSoftmax",
  amp: "black",
  body: ([operand], attrs) => {
    const x = operand as Tensor;
    const axes = axesOf(attrs);
    if (x.numel === 0) return op.exp(x);
    const low = shifted(x, axes);
    return op.sub(low, op.log(op.sum(op.exp(low), axes, { keepdim: true })));
  },
  vjp: ([g], { outputs: [y], attrs }) => {
    const total = op.sum(g, axesOf(attrs), { keepdim: true });
    return [op.sub(g, op.mul(op.exp(y), total))];
  },
  saves: "out",
  samples,
});

/**
 * log(softmax(x)) along an axis, right where softmax itself would be 0.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @param axis The axis whose exponentials sum to 1. Default: the last.
 * @returns The shape of `x`; float dtype. NaN where all of the axis is -Infinity.
 * @throws {ShapeError} if the axis is out of range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * assertEquals(await nn.functional.logSoftmax(tensor([0, -1000])).toArray(), [0, -1000]);
 * ```
 */
export function logSoftmax(x: Tensor, axis = -1): Tensor {
  expectTensors("logSoftmax", x);
  return engine.call(LOG_SOFTMAX, [toFloat(x)], {
    axes: normalizeAxes("logSoftmax", axis, x.rank),
  });
}
