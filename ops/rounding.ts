// Rounding, element by element: to whole numbers, and what that leaves. Their gradients are 0 almost
// everywhere and are 0 at the jumps too.
import { elementwise, type ElementwiseOp, engine, promote } from "../core/op.ts";
import type { Expr } from "../core/ir/expr.ts";
import * as k from "../core/ir/expr.ts";
import type { Tensor } from "../core/tensor.ts";
import { flat, POINTS, unarySamples } from "./rules.ts";

/** Halves on both sides, the largest number below one half, the edge of float32's fractions. */
const TIES = [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, -0.49999997, 8388607.5, 16777216];

function rounding(
  name: string,
  scalar: (x: Expr) => Expr,
): ElementwiseOp & { readonly id: number } {
  return elementwise({
    name,
    dtype: promote,
    // Integers are whole already.
    scalar: ([x]) => (x.dtype === "float32" || x.dtype === "float64" ? scalar(x) : x),
    vjp: flat,
    saves: "none",
    samples: () => [
      ...unarySamples([0.1, 0.4], [...POINTS, ...TIES])(),
      { inputs: [{ values: [0, 1, -7], dtype: "int32" }], noGrad: true },
    ],
  });
}

const FLOOR = rounding("floor", k.floor);

/**
 * The largest whole number that is not above each element.
 *
 * @param x Any shape and real dtype; integers stay as they are.
 * @returns The shape and dtype of `x`. The gradient is 0.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { floor, tensor } from "../mod.ts";
 *
 * assertEquals(await floor(tensor([1.7, -1.2])).toArray(), [1, -2]);
 * ```
 */
export function floor(x: Tensor): Tensor {
  return engine.call(FLOOR, [x]);
}

const CEIL = rounding("ceil", k.ceil);

/**
 * The smallest whole number that is not below each element.
 *
 * @param x Any shape and real dtype; integers stay as they are.
 * @returns The shape and dtype of `x`. The gradient is 0.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { ceil, tensor } from "../mod.ts";
 *
 * assertEquals(await ceil(tensor([1.2, -1.7])).toArray(), [2, -1]);
 * ```
 */
export function ceil(x: Tensor): Tensor {
  return engine.call(CEIL, [x]);
}

const ROUND = rounding("round", k.rint);

/**
 * The nearest whole number; halves go to the even one (not away from zero, as `Math.round` has it).
 *
 * @param x Any shape and real dtype; integers stay as they are.
 * @returns The shape and dtype of `x`. The gradient is 0.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { round, tensor } from "../mod.ts";
 *
 * assertEquals(await round(tensor([1.5, 2.5, -1.2])).toArray(), [2, 2, -1]);
 * ```
 */
export function round(x: Tensor): Tensor {
  return engine.call(ROUND, [x]);
}

const TRUNC = rounding("trunc", k.trunc);

/**
 * Each element without its fraction: rounded toward zero.
 *
 * @param x Any shape and real dtype; integers stay as they are.
 * @returns The shape and dtype of `x`. The gradient is 0.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { tensor, trunc } from "../mod.ts";
 *
 * assertEquals(await trunc(tensor([1.7, -1.7])).toArray(), [1, -1]);
 * ```
 */
export function trunc(x: Tensor): Tensor {
  return engine.call(TRUNC, [x]);
}

const FRAC = elementwise({
  name: "frac",
  dtype: promote,
  scalar: ([x]) =>
    x.dtype === "float32" || x.dtype === "float64" ? k.sub(x, k.trunc(x)) : k.sub(x, x),
  vjp: ([g]) => [g],
  saves: "none",
  samples: () => [
    ...unarySamples([0.1, 0.9], [...POINTS, ...TIES])(),
    { inputs: [{ values: [0, 1, -7], dtype: "int32" }], noGrad: true },
  ],
});

/**
 * The fraction of each element, with its sign: `x - trunc(x)`.
 *
 * @param x Any shape and real dtype; integers give 0.
 * @returns The shape and dtype of `x`. The gradient is 1; ±Infinity gives NaN.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { frac, tensor } from "../mod.ts";
 *
 * assertEquals(await frac(tensor([1.75, -1.25])).toArray(), [0.75, -0.25]);
 * ```
 */
export function frac(x: Tensor): Tensor {
  return engine.call(FRAC, [x]);
}
