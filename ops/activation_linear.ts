// Activations made of straight pieces, element by element. At a kink the gradient is PyTorch's, stated
// with each; NaN stays NaN. Smooth ones are in activation.ts.
import { elementwise, engine, promote, promoteFloat } from "../core/op.ts";
import * as k from "../core/ir/expr.ts";
import { expectOptions } from "../core/operands.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { fromInput, fromOutput, POINTS, unarySamples } from "./rules.ts";

/** The usual points and every kink of this file's samples. */
const KINKS = [...POINTS, -0.5, 2, 3, -3, 4, -4, 6, 7];

const RELU = elementwise({
  name: "relu",
  dtype: promote,
  scalar: ([x]) => k.max(x, 0),
  vjp: fromOutput((g, y) => op.where(op.lessEqual(y, 0), 0, g)),
  saves: "out",
  samples: () => [
    ...unarySamples([-4, 4], KINKS)(),
    { inputs: [{ values: [0, 3, -3], dtype: "int32" }], noGrad: true },
  ],
});

/**
 * Rectified linear unit: `max(x, 0)`.
 *
 * @param x Any shape and real dtype.
 * @returns The shape and dtype of `x`. The gradient at 0 is 0.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { relu, tensor } from "../mod.ts";
 *
 * assertEquals(await relu(tensor([2, -3])).toArray(), [2, 0]);
 * ```
 */
export function relu(x: Tensor): Tensor {
  return engine.call(RELU, [x]);
}

const RELU6 = elementwise({
  name: "relu6",
  dtype: promote,
  scalar: ([x]) => k.min(k.max(x, 0), 6),
  vjp: fromOutput((g, y) => inside(g, y, 0, 6)),
  saves: "out",
  samples: unarySamples([-4, 9], KINKS),
});

/** The gradient strictly between two bounds, 0 elsewhere. */
function inside(g: Tensor, y: Tensor, low: number, high: number): Tensor {
  return op.where(op.logicalAnd(op.greaterThan(y, low), op.lessThan(y, high)), g, 0);
}

/**
 * `min(max(x, 0), 6)`.
 *
 * @param x Any shape and real dtype.
 * @returns The shape and dtype of `x`. The gradient at 0 and at 6 is 0.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { relu6, tensor } from "../mod.ts";
 *
 * assertEquals(await relu6(tensor([2, -3, 9])).toArray(), [2, 0, 6]);
 * ```
 */
export function relu6(x: Tensor): Tensor {
  return engine.call(RELU6, [x]);
}

const LEAKY_RELU = elementwise({
  name: "leakyRelu",
  dtype: promoteFloat,
  scalar: ([x, slope]) => k.where(k.gt(x, 0), x, k.mul(x, slope)),
  vjp: ([g], { inputs: [x, slope] }) => [
    op.where(op.greaterThan(x, 0), g, op.mul(g, slope)),
    null,
  ],
  samples: unarySamples([-4, 4], KINKS, [0.2]),
});

/**
 * x above 0, `negativeSlope * x` below.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @param options `negativeSlope`: default 0.01.
 * @returns The shape of `x`; float dtype. The gradient at 0 is `negativeSlope`.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { leakyRelu, tensor } from "../mod.ts";
 *
 * assertEquals(await leakyRelu(tensor([2, -3]), { negativeSlope: 0.5 }).toArray(), [2, -1.5]);
 * ```
 */
export function leakyRelu(x: Tensor, options: { readonly negativeSlope?: number } = {}): Tensor {
  expectOptions("leakyRelu", options);
  return engine.call(LEAKY_RELU, [x, options.negativeSlope ?? 0.01]);
}

const HARDTANH = elementwise({
  name: "hardtanh",
  dtype: promote,
  scalar: ([x, low, high]) => k.min(k.max(x, low), high),
  vjp: ([g], { inputs: [x, low, high] }) => [
    op.where(op.logicalAnd(op.greaterThan(x, low), op.lessThan(x, high)), g, 0),
    null,
    null,
  ],
  samples: unarySamples([-3, 3], KINKS, [-1, 1]),
});

/**
 * x held within `min` … `max`; like `clip`, but for the gradient at the bounds.
 *
 * @param x Any shape and real dtype.
 * @param options `min`: default -1. `max`: default 1.
 * @returns The shape and dtype of `x`. The gradient at a bound is 0.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { hardtanh, tensor } from "../mod.ts";
 *
 * assertEquals(await hardtanh(tensor([2, -3, 0.5])).toArray(), [1, -1, 0.5]);
 * ```
 */
export function hardtanh(
  x: Tensor,
  options: { readonly min?: number; readonly max?: number } = {},
): Tensor {
  expectOptions("hardtanh", options);
  return engine.call(HARDTANH, [x, options.min ?? -1, options.max ?? 1]);
}

const HARDSIGMOID = elementwise({
  name: "hardsigmoid",
  dtype: promoteFloat,
  scalar: ([x, slope, offset]) => k.min(k.max(k.add(k.mul(x, slope), offset), 0), 1),
  vjp: ([g], { inputs: [x, slope, offset] }) => {
    const line = op.add(op.mul(x, slope), offset);
    return [inside(op.mul(g, slope), line, 0, 1), null, null];
  },
  samples: unarySamples([-5, 5], KINKS, [1 / 6, 0.5]),
});

/**
 * `slope * x + offset` held within 0 … 1.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @param options `slope`: default 1/6. `offset`: default 0.5 (both as in Paddle and PyTorch).
 * @returns The shape of `x`; float dtype. The gradient where 0 or 1 is reached is 0.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { hardsigmoid, tensor } from "../mod.ts";
 *
 * assertEquals(await hardsigmoid(tensor([-3, 0, 4])).toArray(), [0, 0.5, 1]);
 * ```
 */
export function hardsigmoid(
  x: Tensor,
  options: { readonly slope?: number; readonly offset?: number } = {},
): Tensor {
  expectOptions("hardsigmoid", options);
  return engine.call(HARDSIGMOID, [x, options.slope ?? 1 / 6, options.offset ?? 0.5]);
}

const HARDSWISH = elementwise({
  name: "hardswish",
  dtype: promoteFloat,
  scalar: ([x]) => k.mul(k.max(x, -3), k.div(k.min(k.max(k.add(x, 3), 0), 6), 6)),
  vjp: fromInput((g, x) => {
    const rising = op.mul(g, op.add(op.div(x, 3), 0.5));
    const upper = op.where(op.greaterEqual(x, 3), g, rising);
    return op.where(op.lessEqual(x, -3), 0, upper);
  }),
  samples: unarySamples([-5, 5], KINKS),
});

/**
 * `x * min(max(x + 3, 0), 6) / 6`.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype. The gradient is 0 up to -3 and 1 from 3 on.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { hardswish, tensor } from "../mod.ts";
 *
 * assertEquals(await hardswish(tensor([-4, 3, 5])).toArray(), [0, 3, 5]);
 * ```
 */
export function hardswish(x: Tensor): Tensor {
  return engine.call(HARDSWISH, [x]);
}

const SOFTSHRINK = elementwise({
  name: "softshrink",
  dtype: promoteFloat,
  scalar: ([x, t]) => {
    const middle = k.where(k.isNan(x), x, 0);
    const lower = k.where(k.lt(x, k.neg(t)), k.add(x, t), middle);
    return k.where(k.gt(x, t), k.sub(x, t), lower);
  },
  vjp: ([g], { inputs: [x, t] }) => [
    op.where(op.lessEqual(op.abs(x as Tensor), t), 0, g),
    null,
  ],
  samples: unarySamples([-4, 4], KINKS, [0.5]),
});

/**
 * x moved toward 0 by `threshold`, and 0 where it is not larger than that.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @param options `threshold`: default 0.5, not negative.
 * @returns The shape of `x`; float dtype. The gradient at ±threshold is 0.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { softshrink, tensor } from "../mod.ts";
 *
 * assertEquals(await softshrink(tensor([2, -3, 0.5])).toArray(), [1.5, -2.5, 0]);
 * ```
 */
export function softshrink(x: Tensor, options: { readonly threshold?: number } = {}): Tensor {
  expectOptions("softshrink", options);
  return engine.call(SOFTSHRINK, [x, options.threshold ?? 0.5]);
}

const HARDSHRINK = elementwise({
  name: "hardshrink",
  dtype: promoteFloat,
  scalar: ([x, t]) => k.where(k.le(k.abs(x), t), 0, x),
  vjp: ([g], { inputs: [x, t] }) => [
    op.where(op.lessEqual(op.abs(x as Tensor), t), 0, g),
    null,
  ],
  samples: unarySamples([-4, 4], KINKS, [0.5]),
});

/**
 * x, but 0 where its magnitude is at most `threshold`.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @param options `threshold`: default 0.5, not negative.
 * @returns The shape of `x`; float dtype. The gradient at ±threshold is 0.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { hardshrink, tensor } from "../mod.ts";
 *
 * assertEquals(await hardshrink(tensor([2, -3, 0.5])).toArray(), [2, -3, 0]);
 * ```
 */
export function hardshrink(x: Tensor, options: { readonly threshold?: number } = {}): Tensor {
  expectOptions("hardshrink", options);
  return engine.call(HARDSHRINK, [x, options.threshold ?? 0.5]);
}

const THRESHOLDED_RELU = elementwise({
  name: "thresholdedRelu",
  dtype: promoteFloat,
  scalar: ([x, t]) => k.where(k.le(x, t), 0, x),
  vjp: ([g], { inputs: [x, t] }) => [op.where(op.lessEqual(x, t), 0, g), null],
  samples: unarySamples([-4, 4], KINKS, [1]),
});

/**
 * x above `threshold`, 0 elsewhere.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @param options `threshold`: default 1.
 * @returns The shape of `x`; float dtype. The gradient at the threshold is 0.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { tensor, thresholdedRelu } from "../mod.ts";
 *
 * assertEquals(await thresholdedRelu(tensor([2, 1, 0.5])).toArray(), [2, 0, 0]);
 * ```
 */
export function thresholdedRelu(x: Tensor, options: { readonly threshold?: number } = {}): Tensor {
  expectOptions("thresholdedRelu", options);
  return engine.call(THRESHOLDED_RELU, [x, options.threshold ?? 1]);
}
