// Arithmetic of one operand, element by element: sign, magnitude, powers, roots, units of angle.
// Rounding, exponentials, trigonometry, activations and tests each have their own file.
import { elementwise, engine, promote, promoteFloat } from "../core/op.ts";
import * as k from "../core/ir/expr.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { flat, fromInput, fromOutput, numeric, unarySamples } from "./rules.ts";

const NEG = elementwise({
  name: "neg",
  dtype: numeric,
  scalar: ([x]) => k.neg(x),
  vjp: ([g]) => [op.neg(g)],
  saves: "none",
  samples: () => [
    ...unarySamples([-5, 5])(),
    { inputs: [{ values: [0, 1, -7, 2147483647], dtype: "int32" }], noGrad: true },
  ],
});

/**
 * Each element with its sign turned; `neg(0)` is -0.
 *
 * @param x Any shape and numeric dtype; unsigned integers wrap.
 * @returns The shape and dtype of `x`.
 * @throws {DTypeError} if `x` is bool or complex.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { neg, tensor } from "../mod.ts";
 *
 * assertEquals(await neg(tensor([1, -2])).toArray(), [-1, 2]);
 * ```
 */
export function neg(x: Tensor): Tensor {
  return engine.call(NEG, [x]);
}

const ABS = elementwise({
  name: "abs",
  dtype: promote,
  scalar: ([x]) => k.abs(x),
  vjp: fromInput((g, x) => op.mul(g, op.sign(x))),
  samples: () => [
    ...unarySamples([-5, 5])(),
    { inputs: [{ values: [0, 1, -7], dtype: "int32" }], noGrad: true },
  ],
});

/**
 * The magnitude of each element.
 *
 * @param x Any shape and real dtype.
 * @returns The shape and dtype of `x`. The gradient at 0 is 0.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { abs, tensor } from "../mod.ts";
 *
 * assertEquals(await abs(tensor([1, -2])).toArray(), [1, 2]);
 * ```
 */
export function abs(x: Tensor): Tensor {
  return engine.call(ABS, [x]);
}

const SIGN = elementwise({
  name: "sign",
  dtype: promote,
  scalar: ([x]) => k.where(k.gt(x, 0), 1, k.where(k.lt(x, 0), -1, x)),
  vjp: flat,
  saves: "none",
  samples: () => [
    ...unarySamples([-5, 5])(),
    { inputs: [{ values: [0, 1, -7], dtype: "int32" }], noGrad: true },
  ],
});

/**
 * 1, -1 or 0 by the sign of each element; NaN stays NaN, and zeros keep their sign.
 *
 * @param x Any shape and real dtype.
 * @returns The shape and dtype of `x`. The gradient is 0 everywhere.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { sign, tensor } from "../mod.ts";
 *
 * assertEquals(await sign(tensor([3, -0.5, 0])).toArray(), [1, -1, 0]);
 * ```
 */
export function sign(x: Tensor): Tensor {
  return engine.call(SIGN, [x]);
}

const SQUARE = elementwise({
  name: "square",
  dtype: promote,
  scalar: ([x]) => k.mul(x, x),
  vjp: fromInput((g, x) => op.mul(g, op.mul(x, 2))),
  samples: () => [
    ...unarySamples([-3, 3])(),
    { inputs: [{ values: [0, -7, 65536], dtype: "int32" }], noGrad: true },
  ],
});

/**
 * Each element times itself.
 *
 * @param x Any shape and real dtype; integers wrap.
 * @returns The shape and dtype of `x`.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { square, tensor } from "../mod.ts";
 *
 * assertEquals(await square(tensor([3, -0.5])).toArray(), [9, 0.25]);
 * ```
 */
export function square(x: Tensor): Tensor {
  return engine.call(SQUARE, [x]);
}

const SQRT = elementwise({
  name: "sqrt",
  dtype: promoteFloat,
  scalar: ([x]) => k.sqrt(x),
  vjp: fromOutput((g, y) => op.div(g, op.mul(y, 2))),
  saves: "out",
  samples: unarySamples([0.1, 9]),
});

/**
 * The square root of each element; NaN below zero, and `sqrt(-0)` is -0.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype. The gradient at 0 is Infinity.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { sqrt, tensor } from "../mod.ts";
 *
 * assertEquals(await sqrt(tensor([4, 2.25])).toArray(), [2, 1.5]);
 * ```
 */
export function sqrt(x: Tensor): Tensor {
  return engine.call(SQRT, [x]);
}

const RSQRT = elementwise({
  name: "rsqrt",
  amp: "black",
  dtype: promoteFloat,
  scalar: ([x]) => k.div(k.constant(1, x.dtype), k.sqrt(x)),
  vjp: fromOutput((g, y) => op.mul(op.mul(g, -0.5), op.mul(y, op.square(y)))),
  saves: "out",
  samples: unarySamples([0.3, 9]),
});

/**
 * One over the square root of each element.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype: Infinity at 0, NaN below.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { rsqrt, tensor } from "../mod.ts";
 *
 * assertEquals(await rsqrt(tensor([4, 0.25])).toArray(), [0.5, 2]);
 * ```
 */
export function rsqrt(x: Tensor): Tensor {
  return engine.call(RSQRT, [x]);
}

const RECIPROCAL = elementwise({
  name: "reciprocal",
  amp: "black",
  dtype: promoteFloat,
  scalar: ([x]) => k.div(k.constant(1, x.dtype), x),
  vjp: fromOutput((g, y) => op.neg(op.mul(g, op.square(y)))),
  saves: "out",
  samples: unarySamples([0.4, 4]),
});

/**
 * One over each element; Infinity with its sign at ±0.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { reciprocal, tensor } from "../mod.ts";
 *
 * assertEquals(await reciprocal(tensor([2, -0.25])).toArray(), [0.5, -4]);
 * ```
 */
export function reciprocal(x: Tensor): Tensor {
  return engine.call(RECIPROCAL, [x]);
}

const DEGREE = Math.PI / 180;

const DEG2RAD = elementwise({
  name: "deg2rad",
  dtype: promoteFloat,
  scalar: ([x]) => k.mul(x, DEGREE),
  vjp: ([g]) => [op.deg2rad(g)],
  saves: "none",
  samples: unarySamples([-180, 180]),
});

/**
 * Degrees to radians.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype.
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { deg2rad, tensor } from "../mod.ts";
 *
 * assertAlmostEquals(await deg2rad(tensor(180)).item() as number, Math.PI, 1e-6);
 * ```
 */
export function deg2rad(x: Tensor): Tensor {
  return engine.call(DEG2RAD, [x]);
}

const RAD2DEG = elementwise({
  name: "rad2deg",
  dtype: promoteFloat,
  scalar: ([x]) => k.mul(x, 180 / Math.PI),
  vjp: ([g]) => [op.rad2deg(g)],
  saves: "none",
  samples: unarySamples([-3, 3]),
});

/**
 * Radians to degrees.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype.
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { rad2deg, tensor } from "../mod.ts";
 *
 * assertAlmostEquals(await rad2deg(tensor(Math.PI)).item() as number, 180, 1e-4);
 * ```
 */
export function rad2deg(x: Tensor): Tensor {
  return engine.call(RAD2DEG, [x]);
}
