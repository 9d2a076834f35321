// Trigonometric and hyperbolic functions and their inverses, element by element. The inverse tangent of
// two operands (atan2) is in power.ts.
import { elementwise, engine, promoteFloat } from "../core/op.ts";
import * as k from "../core/ir/expr.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { fromInput, fromOutput, POINTS, unarySamples } from "./rules.ts";

/** `1 - x^2` as a product, which keeps its places near ±1. */
function oneMinusSquare(x: Tensor): Tensor {
  return op.mul(op.sub(1, x), op.add(x, 1));
}

const SIN = elementwise({
  name: "sin",
  dtype: promoteFloat,
  scalar: ([x]) => k.sin(x),
  vjp: fromInput((g, x) => op.mul(g, cos(x))),
  samples: unarySamples([-6, 6], [...POINTS, 3.1415927, 1000]),
});

/**
 * The sine of each element, in radians.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { sin, tensor } from "../mod.ts";
 *
 * assertEquals(await sin(tensor([0])).toArray(), [0]);
 * ```
 */
export function sin(x: Tensor): Tensor {
  return engine.call(SIN, [x]);
}

const COS = elementwise({
  name: "cos",
  dtype: promoteFloat,
  scalar: ([x]) => k.cos(x),
  vjp: fromInput((g, x) => op.neg(op.mul(g, sin(x)))),
  samples: unarySamples([-6, 6], [...POINTS, 1.5707964, 1000]),
});

/**
 * The cosine of each element, in radians.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { cos, tensor } from "../mod.ts";
 *
 * assertEquals(await cos(tensor([0])).toArray(), [1]);
 * ```
 */
export function cos(x: Tensor): Tensor {
  return engine.call(COS, [x]);
}

const TAN = elementwise({
  name: "tan",
  amp: "black",
  dtype: promoteFloat,
  scalar: ([x]) => k.tan(x),
  vjp: fromOutput((g, y) => op.mul(g, op.add(op.square(y), 1))),
  saves: "out",
  samples: unarySamples([-1.2, 1.2], [...POINTS, 1.5707964, 100]),
});

/**
 * The tangent of each element, in radians.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { tan, tensor } from "../mod.ts";
 *
 * assertEquals(await tan(tensor([0])).toArray(), [0]);
 * ```
 */
export function tan(x: Tensor): Tensor {
  return engine.call(TAN, [x]);
}

const ASIN = elementwise({
  name: "asin",
  amp: "black",
  dtype: promoteFloat,
  scalar: ([x]) => k.asin(x),
  vjp: fromInput((g, x) => op.mul(g, op.rsqrt(oneMinusSquare(x)))),
  samples: unarySamples([-0.8, 0.8], [...POINTS, 0.9999999]),
});

/**
 * The inverse sine, in -pi/2 … pi/2.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype; NaN outside -1 … 1.
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { asin, tensor } from "../mod.ts";
 *
 * assertAlmostEquals(await asin(tensor(1)).item() as number, Math.PI / 2, 1e-6);
 * ```
 */
export function asin(x: Tensor): Tensor {
  return engine.call(ASIN, [x]);
}

const ACOS = elementwise({
  name: "acos",
  amp: "black",
  dtype: promoteFloat,
  scalar: ([x]) => k.acos(x),
  vjp: fromInput((g, x) => op.neg(op.mul(g, op.rsqrt(oneMinusSquare(x))))),
  samples: unarySamples([-0.8, 0.8], [...POINTS, 0.9999999]),
});

/**
 * The inverse cosine, in 0 … pi.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype; NaN outside -1 … 1.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { acos, tensor } from "../mod.ts";
 *
 * assertEquals(await acos(tensor([1])).toArray(), [0]);
 * ```
 */
export function acos(x: Tensor): Tensor {
  return engine.call(ACOS, [x]);
}

const ATAN = elementwise({
  name: "atan",
  dtype: promoteFloat,
  scalar: ([x]) => k.atan(x),
  vjp: fromInput((g, x) => op.div(g, op.add(op.square(x), 1))),
  samples: unarySamples([-4, 4], [...POINTS, 1e-5, 1e10]),
});

/**
 * The inverse tangent, in -pi/2 … pi/2. With a quadrant: `atan2`.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype.
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { atan, tensor } from "../mod.ts";
 *
 * assertAlmostEquals(await atan(tensor(Infinity)).item() as number, Math.PI / 2, 1e-6);
 * ```
 */
export function atan(x: Tensor): Tensor {
  return engine.call(ATAN, [x]);
}

const SINH = elementwise({
  name: "sinh",
  amp: "black",
  dtype: promoteFloat,
  scalar: ([x]) => k.sinh(x),
  vjp: fromInput((g, x) => op.mul(g, cosh(x))),
  samples: unarySamples([-3, 3], [...POINTS, 1e-5, 89, -89]),
});

/**
 * The hyperbolic sine.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { sinh, tensor } from "../mod.ts";
 *
 * assertEquals(await sinh(tensor([0])).toArray(), [0]);
 * ```
 */
export function sinh(x: Tensor): Tensor {
  return engine.call(SINH, [x]);
}

const COSH = elementwise({
  name: "cosh",
  amp: "black",
  dtype: promoteFloat,
  scalar: ([x]) => k.cosh(x),
  vjp: fromInput((g, x) => op.mul(g, sinh(x))),
  samples: unarySamples([-3, 3], [...POINTS, 1e-5, 89, -89]),
});

/**
 * The hyperbolic cosine.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { cosh, tensor } from "../mod.ts";
 *
 * assertEquals(await cosh(tensor([0])).toArray(), [1]);
 * ```
 */
export function cosh(x: Tensor): Tensor {
  return engine.call(COSH, [x]);
}

const TANH = elementwise({
  name: "tanh",
  dtype: promoteFloat,
  scalar: ([x]) => k.tanh(x),
  vjp: fromOutput((g, y) => op.mul(g, oneMinusSquare(y))),
  saves: "out",
  samples: unarySamples([-2, 2], [...POINTS, 1e-5, 9, -20]),
});

/**
 * The hyperbolic tangent.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { tanh, tensor } from "../mod.ts";
 *
 * assertEquals(await tanh(tensor([0, Infinity])).toArray(), [0, 1]);
 * ```
 */
export function tanh(x: Tensor): Tensor {
  return engine.call(TANH, [x]);
}

const ASINH = elementwise({
  name: "asinh",
  dtype: promoteFloat,
  scalar: ([x]) => k.asinh(x),
  vjp: fromInput((g, x) => op.mul(g, op.rsqrt(op.add(op.square(x), 1)))),
  samples: unarySamples([-3, 3], [...POINTS, 1e-5, 1e10]),
});

/**
 * The inverse hyperbolic sine.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { asinh, tensor } from "../mod.ts";
 *
 * assertEquals(await asinh(tensor([0])).toArray(), [0]);
 * ```
 */
export function asinh(x: Tensor): Tensor {
  return engine.call(ASINH, [x]);
}

const ACOSH = elementwise({
  name: "acosh",
  dtype: promoteFloat,
  scalar: ([x]) => k.acosh(x),
  vjp: fromInput((g, x) => op.mul(g, op.rsqrt(op.mul(op.sub(x, 1), op.add(x, 1))))),
  samples: unarySamples([1.3, 4], [...POINTS, 1.0000001, 1e10]),
});

/**
 * The inverse hyperbolic cosine.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype; NaN below 1.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { acosh, tensor } from "../mod.ts";
 *
 * assertEquals(await acosh(tensor([1])).toArray(), [0]);
 * ```
 */
export function acosh(x: Tensor): Tensor {
  return engine.call(ACOSH, [x]);
}

const ATANH = elementwise({
  name: "atanh",
  dtype: promoteFloat,
  scalar: ([x]) => k.atanh(x),
  vjp: fromInput((g, x) => op.div(g, oneMinusSquare(x))),
  samples: unarySamples([-0.8, 0.8], [...POINTS, 1e-5, 0.9999999]),
});

/**
 * The inverse hyperbolic tangent.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype: ±Infinity at ±1, NaN beyond.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { atanh, tensor } from "../mod.ts";
 *
 * assertEquals(await atanh(tensor([0, 1])).toArray(), [0, Infinity]);
 * ```
 */
export function atanh(x: Tensor): Tensor {
  return engine.call(ATANH, [x]);
}
