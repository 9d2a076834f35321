// Elementwise functions of one operand: arithmetic, exponentials, trigonometry, rounding, tests.
// Activations have their own file.
import { elementwise, engine, promote, promoteFloat } from "../core/op.ts";
import * as k from "../core/ir/expr.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";

const EXP = elementwise({
  name: "exp",
  dtype: promoteFloat,
  scalar: ([x]) => k.exp(x),
  vjp: ([g], { outputs: [y] }) => [op.mul(g, y)],
  saves: "out",
  samples: () => [
    { inputs: [{ shape: [2, 3], range: [-3, 3] }] },
    { inputs: [{ values: [0, -0, Infinity, -Infinity, NaN, 89, -104] }], noGrad: true },
  ],
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

const NEG = elementwise({
  name: "neg",
  dtype: promote,
  scalar: ([x]) => k.neg(x),
  vjp: ([g]) => [op.neg(g)],
  saves: "none",
  samples: () => [{ inputs: [{ shape: [3] }] }, { inputs: [{ values: [0, -0, Infinity, NaN] }] }],
});

/**
 * Each element with its sign turned.
 *
 * @param x Any shape and numeric dtype.
 * @returns The shape and dtype of `x`.
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
