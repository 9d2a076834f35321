// Smooth activations, element by element: sigmoid, the exponential units, the gated ones. Each is one
// scalar expression that gives the limit at ±Infinity, where the plain formula would give NaN.
// Piecewise linear ones are in activation_linear.ts; softmax is a reduction (nn).
import { elementwise, engine, promoteFloat } from "../core/op.ts";
import type { Expr } from "../core/ir/expr.ts";
import * as k from "../core/ir/expr.ts";
import { expectOptions } from "../core/operands.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { fromInput, fromOutput, POINTS, unarySamples } from "./rules.ts";

/** Far and near points beside the usual ones. */
const FAR = [...POINTS, 20, -20, 100, -100, 1000, -1000];

/** Beyond ±LIMIT every gate below is 0 or 1 in float64 too; a gated operand is held within it. */
const LIMIT = 1000;

/** 1 / (1 + e^-x) without overflow: e^-|x| never exceeds 1. */
function logistic(x: Expr): Expr {
  const e = k.exp(k.neg(k.abs(x)));
  return k.div(k.where(k.ge(x, 0), k.constant(1, x.dtype), e), k.add(e, 1));
}

const SIGMOID = elementwise({
  name: "sigmoid",
  dtype: promoteFloat,
  scalar: ([x]) => logistic(x),
  vjp: fromOutput((g, y) => op.mul(g, op.mul(y, op.sub(1, y)))),
  saves: "out",
  samples: unarySamples([-3, 3], FAR),
});

/**
 * The logistic function `1 / (1 + exp(-x))`.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype, within 0 … 1.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { sigmoid, tensor } from "../mod.ts";
 *
 * assertEquals(await sigmoid(tensor([0, Infinity])).toArray(), [0.5, 1]);
 * ```
 */
export function sigmoid(x: Tensor): Tensor {
  return engine.call(SIGMOID, [x]);
}

const LOG_SIGMOID = elementwise({
  name: "logSigmoid",
  amp: "black",
  dtype: promoteFloat,
  scalar: ([x]) => k.sub(k.min(x, 0), k.log1p(k.exp(k.neg(k.abs(x))))),
  vjp: fromInput((g, x) => op.mul(g, sigmoid(op.neg(x)))),
  samples: unarySamples([-4, 4], FAR),
});

/**
 * The logarithm of `sigmoid(x)`, right where that underflows: `logSigmoid(-1000)` is -1000.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { logSigmoid, tensor } from "../mod.ts";
 *
 * assertEquals(await logSigmoid(tensor([-1000, Infinity])).toArray(), [-1000, 0]);
 * ```
 */
export function logSigmoid(x: Tensor): Tensor {
  return engine.call(LOG_SIGMOID, [x]);
}

/** exp(min(x, 0)): the slope of the exponential branch, finite on the other one too. */
function expBelow(x: Tensor): Tensor {
  return op.exp(op.clip(x, undefined, 0));
}

const ELU = elementwise({
  name: "elu",
  dtype: promoteFloat,
  scalar: ([x, alpha]) => k.where(k.gt(x, 0), x, k.mul(alpha, k.expm1(x))),
  vjp: ([g], { inputs: [x, alpha] }) => [
    op.where(op.greaterThan(x, 0), g, op.mul(g, op.mul(expBelow(x as Tensor), alpha))),
    null,
  ],
  samples: unarySamples([-4, 4], FAR, [1.5]),
});

/**
 * Exponential linear unit: x above 0, `alpha * (exp(x) - 1)` below.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @param options `alpha`: minus the limit at -Infinity; default 1.
 * @returns The shape of `x`; float dtype. The gradient at 0 is `alpha`.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { elu, tensor } from "../mod.ts";
 *
 * assertEquals(await elu(tensor([2, -Infinity]), { alpha: 1.5 }).toArray(), [2, -1.5]);
 * ```
 */
export function elu(x: Tensor, options: { readonly alpha?: number } = {}): Tensor {
  expectOptions("elu", options);
  return engine.call(ELU, [x, options.alpha ?? 1]);
}

const CELU = elementwise({
  name: "celu",
  dtype: promoteFloat,
  scalar: ([x, alpha]) => k.where(k.gt(x, 0), x, k.mul(alpha, k.expm1(k.div(x, alpha)))),
  vjp: ([g], { inputs: [x, alpha] }) => [
    op.where(op.greaterThan(x, 0), g, op.mul(g, expBelow(op.div(x, alpha)))),
    null,
  ],
  samples: unarySamples([-4, 4], FAR, [0.75]),
});

/**
 * Continuously differentiable exponential linear unit: x above 0, `alpha * (exp(x / alpha) - 1)` below.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @param options `alpha`: minus the limit at -Infinity, positive; default 1.
 * @returns The shape of `x`; float dtype. The gradient at 0 is 1.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { celu, tensor } from "../mod.ts";
 *
 * assertEquals(await celu(tensor([2, -Infinity]), { alpha: 0.5 }).toArray(), [2, -0.5]);
 * ```
 */
export function celu(x: Tensor, options: { readonly alpha?: number } = {}): Tensor {
  expectOptions("celu", options);
  return engine.call(CELU, [x, options.alpha ?? 1]);
}

// Klambauer et al., "Self-normalizing neural networks", 2017.
const SELU_ALPHA = 1.6732632423543772848170429916717;
const SELU_SCALE = 1.0507009873554804934193349852946;

const SELU = elementwise({
  name: "selu",
  dtype: promoteFloat,
  scalar: ([x]) =>
    k.where(k.gt(x, 0), k.mul(x, SELU_SCALE), k.mul(k.expm1(x), SELU_ALPHA * SELU_SCALE)),
  vjp: fromInput((g, x) =>
    op.where(
      op.greaterThan(x, 0),
      op.mul(g, SELU_SCALE),
      op.mul(g, op.mul(expBelow(x), SELU_ALPHA * SELU_SCALE)),
    )
  ),
  samples: unarySamples([-4, 4], FAR),
});

/**
 * Scaled exponential linear unit: `1.0507 * elu(x)` with alpha 1.6733, the values that keep mean 0 and
 * variance 1 through layers (Klambauer et al. 2017).
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype.
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { selu, tensor } from "../mod.ts";
 *
 * assertAlmostEquals(await selu(tensor(1)).item() as number, 1.0507009, 1e-6);
 * ```
 */
export function selu(x: Tensor): Tensor {
  return engine.call(SELU, [x]);
}

/** x where the gate can differ from 0 and 1, and never infinite: 0 * Infinity would be NaN. */
function held(x: Tensor): Tensor {
  return op.clip(x, -LIMIT, LIMIT);
}

const ROOT_HALF = Math.SQRT1_2;
const INV_ROOT_2PI = 1 / Math.sqrt(2 * Math.PI);

const GELU = elementwise({
  name: "gelu",
  dtype: promoteFloat,
  // erfc, not 1 + erf, which would lose its places below zero.
  scalar: ([x]) => k.mul(k.max(x, -LIMIT), k.mul(k.erfc(k.mul(x, -ROOT_HALF)), 0.5)),
  vjp: fromInput((g, x) => {
    const h = held(x);
    const density = op.mul(op.exp(op.mul(op.square(h), -0.5)), INV_ROOT_2PI);
    const share = op.mul(op.erfc(op.mul(h, -ROOT_HALF)), 0.5);
    return op.mul(g, op.add(share, op.mul(h, density)));
  }),
  samples: unarySamples([-3, 3], FAR),
});

const TANH_SCALE = 2 * Math.sqrt(2 / Math.PI);
const TANH_CUBIC = 0.044715;

const GELU_TANH = elementwise({
  name: "geluTanh",
  dtype: promoteFloat,
  // (1 + tanh u) / 2 = logistic(2u).
  scalar: ([x]) => {
    const inner = k.add(k.mul(k.mul(x, x), TANH_CUBIC), 1);
    return k.mul(k.max(x, -LIMIT), logistic(k.mul(k.mul(x, inner), TANH_SCALE)));
  },
  vjp: fromInput((g, x) => {
    const h = held(x);
    const s = sigmoid(op.mul(op.mul(h, op.add(op.mul(op.square(h), TANH_CUBIC), 1)), TANH_SCALE));
    const slope = op.mul(op.add(op.mul(op.square(h), 3 * TANH_CUBIC), 1), TANH_SCALE);
    return op.mul(g, op.add(s, op.mul(op.mul(h, slope), op.mul(s, op.sub(1, s)))));
  }),
  samples: unarySamples([-3, 3], FAR),
});

/**
 * Gaussian error linear unit: x times the normal distribution function at x.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @param options `approximate`: take the tanh form of Hendrycks and Gimpel 2016 instead; default false.
 * @returns The shape of `x`; float dtype; 0 at -Infinity.
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { gelu, tensor } from "../mod.ts";
 *
 * assertAlmostEquals(await gelu(tensor(1)).item() as number, 0.8413447, 1e-6);
 * assertAlmostEquals(await gelu(tensor(1), { approximate: true }).item() as number, 0.841192, 1e-6);
 * ```
 */
export function gelu(x: Tensor, options: { readonly approximate?: boolean } = {}): Tensor {
  expectOptions("gelu", options);
  return engine.call(options.approximate ? GELU_TANH : GELU, [x]);
}

const SILU = elementwise({
  name: "silu",
  dtype: promoteFloat,
  scalar: ([x]) => k.mul(k.max(x, -LIMIT), logistic(x)),
  vjp: fromInput((g, x) => {
    const h = held(x);
    const s = sigmoid(h);
    return op.mul(g, op.mul(s, op.add(op.mul(h, op.sub(1, s)), 1)));
  }),
  samples: unarySamples([-4, 4], FAR),
});

/**
 * Sigmoid linear unit (swish): `x * sigmoid(x)`.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype; 0 at -Infinity.
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { silu, tensor } from "../mod.ts";
 *
 * assertAlmostEquals(await silu(tensor(1)).item() as number, 0.7310586, 1e-6);
 * ```
 */
export function silu(x: Tensor): Tensor {
  return engine.call(SILU, [x]);
}

/** Where e^x is so large that mish(x) = x even in float64, and its square still fits float32. */
const MISH_LINEAR = 20;

const MISH = elementwise({
  name: "mish",
  dtype: promoteFloat,
  // tanh(log(1 + e)) = n / (n + 2) with n = e (e + 2).
  scalar: ([x]) => {
    const e = k.exp(k.min(x, MISH_LINEAR));
    const n = k.mul(e, k.add(e, 2));
    return k.mul(k.max(x, -LIMIT), k.div(n, k.add(n, 2)));
  },
  vjp: fromInput((g, x) => {
    const e = op.exp(op.clip(x, undefined, MISH_LINEAR));
    const n = op.mul(e, op.add(e, 2));
    const d = op.add(n, 2);
    const rise = op.div(op.mul(op.mul(held(x), 4), op.mul(e, op.add(e, 1))), op.square(d));
    return op.mul(g, op.add(op.div(n, d), rise));
  }),
  samples: unarySamples([-4, 4], FAR),
});

/**
 * `x * tanh(softplus(x))` (Misra 2019).
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype; 0 at -Infinity.
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { mish, tensor } from "../mod.ts";
 *
 * assertAlmostEquals(await mish(tensor(1)).item() as number, 0.8650984, 1e-6);
 * ```
 */
export function mish(x: Tensor): Tensor {
  return engine.call(MISH, [x]);
}

const SOFTPLUS = elementwise({
  name: "softplus",
  amp: "black",
  dtype: promoteFloat,
  scalar: ([x, beta, threshold]) => {
    const z = k.mul(x, beta);
    const soft = k.div(k.add(k.max(z, 0), k.log1p(k.exp(k.neg(k.abs(z))))), beta);
    return k.where(k.gt(z, threshold), x, soft);
  },
  vjp: ([g], { inputs: [x, beta, threshold] }) => {
    const z = op.mul(x, beta);
    return [op.where(op.greaterThan(z, threshold), g, op.mul(g, sigmoid(z))), null, null];
  },
  samples: unarySamples([-4, 2], FAR, [2, 5]),
});

/**
 * A smooth relu: `log(1 + exp(beta * x)) / beta`, and x itself where `beta * x > threshold`.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @param options `beta`: sharpness, default 1. `threshold`: default 20.
 * @returns The shape of `x`; float dtype.
 * @example
 * ```ts
 * import { assertAlmostEquals, assertEquals } from "jsr:@std/assert@1";
 * import { softplus, tensor } from "../mod.ts";
 *
 * assertAlmostEquals(await softplus(tensor(0)).item() as number, Math.LN2, 1e-6);
 * assertEquals(await softplus(tensor(1000)).item(), 1000);
 * ```
 */
export function softplus(
  x: Tensor,
  options: { readonly beta?: number; readonly threshold?: number } = {},
): Tensor {
  expectOptions("softplus", options);
  return engine.call(SOFTPLUS, [x, options.beta ?? 1, options.threshold ?? 20]);
}

/** Adding 1 to a number of this size changes it in no float dtype; infinities are held to it. */
const HUGE = 2 ** 60;

const SOFTSIGN = elementwise({
  name: "softsign",
  dtype: promoteFloat,
  scalar: ([x]) => {
    const h = k.max(k.min(x, HUGE), -HUGE);
    return k.div(h, k.add(k.abs(h), 1));
  },
  // Divided twice, since the square overflows.
  vjp: fromInput((g, x) => {
    const d = op.add(op.abs(x), 1);
    return op.div(op.div(g, d), d);
  }),
  samples: unarySamples([-4, 4], FAR),
});

/**
 * `x / (1 + |x|)`, which approaches ±1.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype; ±1 at ±Infinity.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { softsign, tensor } from "../mod.ts";
 *
 * assertEquals(await softsign(tensor([1, -3, Infinity])).toArray(), [0.5, -0.75, 1]);
 * ```
 */
export function softsign(x: Tensor): Tensor {
  return engine.call(SOFTSIGN, [x]);
}

const TANHSHRINK = elementwise({
  name: "tanhshrink",
  dtype: promoteFloat,
  scalar: ([x]) => k.sub(x, k.tanh(x)),
  vjp: fromInput((g, x) => op.mul(g, op.square(op.tanh(x)))),
  samples: unarySamples([-4, 4], FAR),
});

/**
 * `x - tanh(x)`.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { tanhshrink, tensor } from "../mod.ts";
 *
 * assertEquals(await tanhshrink(tensor([0, 20])).toArray(), [0, 19]);
 * ```
 */
export function tanhshrink(x: Tensor): Tensor {
  return engine.call(TANHSHRINK, [x]);
}
