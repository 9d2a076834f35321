// Elementwise functions of two operands that broadcast: arithmetic, extremes, powers.
// Comparisons and logic have their own file.
import { elementwise, engine, type Operand, promote } from "../core/op.ts";
import * as k from "../core/ir/expr.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";

const ADD = elementwise({
  name: "add",
  dtype: promote,
  scalar: ([a, b]) => k.add(a, b),
  vjp: ([g]) => [g, g],
  saves: "none",
  samples: () => [
    { inputs: [{ shape: [2, 3] }, { shape: [3] }] },
    {
      inputs: [{ values: [Infinity, -Infinity, NaN, 0] }, { values: [-Infinity, 1, 1, -0] }],
      noGrad: true,
    },
  ],
});

/**
 * Sum, element by element; operands broadcast.
 *
 * @param a Tensor or number.
 * @param b Tensor or number.
 * @returns The broadcast shape, the promoted dtype.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { add, tensor } from "../mod.ts";
 *
 * assertEquals(await add(tensor([1, 2]), 3).toArray(), [4, 5]);
 * ```
 */
export function add(a: Operand, b: Operand): Tensor {
  return engine.call(ADD, [a, b]);
}

const MUL = elementwise({
  name: "mul",
  dtype: promote,
  scalar: ([a, b]) => k.mul(a, b),
  vjp: ([g], { inputs: [a, b], needs }) => [
    needs[0] ? op.mul(g, b) : null,
    needs[1] ? op.mul(g, a) : null,
  ],
  samples: () => [{ inputs: [{ shape: [2, 3] }, { shape: [3] }] }],
});

/**
 * Product, element by element; operands broadcast.
 *
 * @param a Tensor or number.
 * @param b Tensor or number.
 * @returns The broadcast shape, the promoted dtype.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { mul, tensor } from "../mod.ts";
 *
 * assertEquals(await mul(tensor([1, 2]), 3).toArray(), [3, 6]);
 * ```
 */
export function mul(a: Operand, b: Operand): Tensor {
  return engine.call(MUL, [a, b]);
}
