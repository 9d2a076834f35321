// Arithmetic of two operands that broadcast: sum, difference, product, quotient. Remainders, powers,
// extremes, comparisons and bits each have their own file.
import { elementwise, engine, type Operand, promote, promoteFloat } from "../core/op.ts";
import * as k from "../core/ir/expr.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { binarySamples, numeric, pairs } from "./rules.ts";

const WHOLE = pairs([0, 1, -7, 65537, 2147483647, -2147483648], "int32");

const ADD = elementwise({
  name: "add",
  dtype: promote,
  scalar: ([a, b]) => k.add(a, b),
  vjp: ([g]) => [g, g],
  saves: "none",
  samples: () => [...binarySamples([-2, 2])(), { inputs: WHOLE, noGrad: true }],
});

/**
 * Sum, element by element; operands broadcast.
 *
 * @param a Tensor or number.
 * @param b Tensor or number.
 * @returns The broadcast shape, the promoted dtype; integers wrap, bools give their "or".
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

const SUB = elementwise({
  name: "sub",
  dtype: numeric,
  scalar: ([a, b]) => k.sub(a, b),
  vjp: ([g], { needs }) => [g, needs[1] ? op.neg(g) : null],
  saves: "none",
  samples: () => [...binarySamples([-2, 2])(), { inputs: WHOLE, noGrad: true }],
});

/**
 * Difference `a - b`, element by element; operands broadcast.
 *
 * @param a Tensor or number.
 * @param b Tensor or number.
 * @returns The broadcast shape, the promoted dtype; integers wrap.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @throws {DTypeError} if both are bool.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { sub, tensor } from "../mod.ts";
 *
 * assertEquals(await sub(10, tensor([1, 2])).toArray(), [9, 8]);
 * ```
 */
export function sub(a: Operand, b: Operand): Tensor {
  return engine.call(SUB, [a, b]);
}

const MUL = elementwise({
  name: "mul",
  dtype: promote,
  scalar: ([a, b]) => k.mul(a, b),
  vjp: ([g], { inputs: [a, b], needs }) => [
    needs[0] ? op.mul(g, b) : null,
    needs[1] ? op.mul(g, a) : null,
  ],
  reads: [[1], [0]],
  samples: () => [...binarySamples([-2, 2])(), { inputs: WHOLE, noGrad: true }],
});

/**
 * Product, element by element; operands broadcast.
 *
 * @param a Tensor or number.
 * @param b Tensor or number.
 * @returns The broadcast shape, the promoted dtype; integers wrap, bools give their "and".
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

const DIV = elementwise({
  name: "div",
  dtype: promoteFloat,
  scalar: ([a, b]) => k.div(a, b),
  vjp: ([g], { inputs: [a, b], needs }) => [
    needs[0] ? op.div(g, b) : null,
    needs[1] ? op.neg(op.mul(g, op.div(op.div(a, b), b))) : null,
  ],
  reads: [[1], [0, 1]],
  samples: () => [...binarySamples([0.6, 3])(), { inputs: WHOLE, noGrad: true }],
});

/**
 * True division `a / b`, element by element; operands broadcast. For whole quotients: `floorDivide`.
 *
 * @param a Tensor or number.
 * @param b Tensor or number.
 * @returns The broadcast shape; the promoted dtype, the default float for integers and bools.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { div, tensor } from "../mod.ts";
 *
 * assertEquals(await div(tensor([1, 3], { dtype: "int32" }), 2).toArray(), [0.5, 1.5]);
 * ```
 */
export function div(a: Operand, b: Operand): Tensor {
  return engine.call(DIV, [a, b]);
}
