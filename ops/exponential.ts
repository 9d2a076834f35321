// Exponentials, logarithms and the error functions, element by element. Not here: sigmoid and its kin
// (activation.ts), powers of two operands (power.ts).
import { elementwise, engine, promoteFloat } from "../core/op.ts";
import * as k from "../core/ir/expr.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { fromInput, fromOutput, POINTS, unarySamples } from "./rules.ts";

const EXP = elementwise({
  name: "exp",
  amp: "black",
  dtype: promoteFloat,
  scalar: ([x]) => k.exp(x),
  vjp: fromOutput((g, y) => op.mul(g, y)),
  saves: "out",
  samples: unarySamples([-3, 3], [...POINTS, 89, -104, 1e-6]),
});

/**
 * e to the power of each element.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { exp, tensor } from "../mod.ts";
 *
 * assertEquals(await exp(tensor([0])).toArray(), [1]);
 * ```
 */
export function exp(x: Tensor): Tensor {
  return engine.call(EXP, [x]);
}

const EXPM1 = elementwise({
  name: "expm1",
  amp: "black",
  dtype: promoteFloat,
  scalar: ([x]) => k.expm1(x),
  vjp: fromOutput((g, y) => op.mul(g, op.add(y, 1))),
  saves: "out",
  samples: unarySamples([-3, 3], [...POINTS, 89, 1e-6]),
});

/**
 * `exp(x) - 1`, right near 0 too, where the difference would lose its places.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { expm1, tensor } from "../mod.ts";
 *
 * assertEquals(await expm1(tensor([0])).toArray(), [0]);
 * ```
 */
export function expm1(x: Tensor): Tensor {
  return engine.call(EXPM1, [x]);
}

const EXP2 = elementwise({
  name: "exp2",
  amp: "black",
  dtype: promoteFloat,
  scalar: ([x]) => k.exp2(x),
  vjp: fromOutput((g, y) => op.mul(g, op.mul(y, Math.LN2))),
  saves: "out",
  samples: unarySamples([-3, 3], [...POINTS, 127, 128, -126, -150]),
});

/**
 * 2 to the power of each element.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { exp2, tensor } from "../mod.ts";
 *
 * assertEquals(await exp2(tensor([3, -1])).toArray(), [8, 0.5]);
 * ```
 */
export function exp2(x: Tensor): Tensor {
  return engine.call(EXP2, [x]);
}

const LOG = elementwise({
  name: "log",
  amp: "black",
  dtype: promoteFloat,
  scalar: ([x]) => k.log(x),
  vjp: fromInput((g, x) => op.div(g, x)),
  samples: unarySamples([0.3, 9], [...POINTS, 1.0000001, 0.9999999]),
});

/**
 * The natural logarithm.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype: -Infinity at 0, NaN below.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { log, tensor } from "../mod.ts";
 *
 * assertEquals(await log(tensor([1])).toArray(), [0]);
 * ```
 */
export function log(x: Tensor): Tensor {
  return engine.call(LOG, [x]);
}

const LOG2 = elementwise({
  name: "log2",
  amp: "black",
  dtype: promoteFloat,
  scalar: ([x]) => k.log2(x),
  vjp: fromInput((g, x) => op.div(g, op.mul(x, Math.LN2))),
  samples: unarySamples([0.3, 9], [...POINTS, 8, 1.0000001]),
});

/**
 * The logarithm to base 2.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype: -Infinity at 0, NaN below.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { log2, tensor } from "../mod.ts";
 *
 * assertEquals(await log2(tensor([8, 0.5])).toArray(), [3, -1]);
 * ```
 */
export function log2(x: Tensor): Tensor {
  return engine.call(LOG2, [x]);
}

const LOG10 = elementwise({
  name: "log10",
  amp: "black",
  dtype: promoteFloat,
  scalar: ([x]) => k.log10(x),
  vjp: fromInput((g, x) => op.div(g, op.mul(x, Math.LN10))),
  samples: unarySamples([0.3, 9], [...POINTS, 1000, 1.0000001]),
});

/**
 * The logarithm to base 10.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype: -Infinity at 0, NaN below.
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { log10, tensor } from "../mod.ts";
 *
 * assertAlmostEquals(await log10(tensor(1000)).item() as number, 3, 1e-6);
 * ```
 */
export function log10(x: Tensor): Tensor {
  return engine.call(LOG10, [x]);
}

const LOG1P = elementwise({
  name: "log1p",
  amp: "black",
  dtype: promoteFloat,
  scalar: ([x]) => k.log1p(x),
  vjp: fromInput((g, x) => op.div(g, op.add(x, 1))),
  samples: unarySamples([-0.7, 3], [...POINTS, 1e-7, -1e-7, 1e-20]),
});

/**
 * `log(1 + x)`, right near 0 too, where the sum would lose its places.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype: -Infinity at -1, NaN below.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { log1p, tensor } from "../mod.ts";
 *
 * assertEquals(await log1p(tensor([0])).toArray(), [0]);
 * ```
 */
export function log1p(x: Tensor): Tensor {
  return engine.call(LOG1P, [x]);
}

const TWO_OVER_ROOT_PI = 2 / Math.sqrt(Math.PI);
const HALF_ROOT_PI = Math.sqrt(Math.PI) / 2;

/**
 * `scale * exp(-x^2)`, what the error functions are integrals of. Far out x is held, so that the next
 * gradient is 0 at infinity too, and not 0 times infinity.
 */
function gauss(x: Tensor, scale: number): Tensor {
  return op.mul(op.exp(op.neg(op.square(op.clip(x, -1000, 1000)))), scale);
}

const ERF = elementwise({
  name: "erf",
  dtype: promoteFloat,
  scalar: ([x]) => k.erf(x),
  vjp: fromInput((g, x) => op.mul(g, gauss(x, TWO_OVER_ROOT_PI))),
  samples: unarySamples([-2, 2], [...POINTS, 1e-5, 4, -9]),
});

/**
 * The error function: `2 / sqrt(pi)` times the integral of `exp(-t^2)` from 0 to x.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { erf, tensor } from "../mod.ts";
 *
 * assertEquals(await erf(tensor([0, Infinity])).toArray(), [0, 1]);
 * ```
 */
export function erf(x: Tensor): Tensor {
  return engine.call(ERF, [x]);
}

const ERFC = elementwise({
  name: "erfc",
  dtype: promoteFloat,
  scalar: ([x]) => k.erfc(x),
  vjp: fromInput((g, x) => op.mul(g, gauss(x, -TWO_OVER_ROOT_PI))),
  samples: unarySamples([-2, 2], [...POINTS, 1e-5, 5, 9.5, -4]),
});

/**
 * `1 - erf(x)`, right far above 0 too, where the difference would lose its places.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { erfc, tensor } from "../mod.ts";
 *
 * assertEquals(await erfc(tensor([0, Infinity])).toArray(), [1, 0]);
 * ```
 */
export function erfc(x: Tensor): Tensor {
  return engine.call(ERFC, [x]);
}

const ERFINV = elementwise({
  name: "erfinv",
  amp: "black",
  dtype: promoteFloat,
  scalar: ([x]) => k.erfinv(x),
  vjp: fromOutput((g, y) => op.mul(g, op.mul(op.exp(op.square(y)), HALF_ROOT_PI))),
  saves: "out",
  samples: unarySamples([-0.9, 0.9]),
});

/**
 * The inverse of `erf`.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype: ±Infinity at ±1, NaN beyond.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { erfinv, tensor } from "../mod.ts";
 *
 * assertEquals(await erfinv(tensor([0, 1])).toArray(), [0, Infinity]);
 * ```
 */
export function erfinv(x: Tensor): Tensor {
  return engine.call(ERFINV, [x]);
}
