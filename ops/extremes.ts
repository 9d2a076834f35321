// The larger and the smaller of two operands that broadcast. Over the axes of one tensor: reduce.ts.
import { elementwise, engine, type Operand, promote } from "../core/op.ts";
import type { Expr } from "../core/ir/expr.ts";
import * as k from "../core/ir/expr.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { binarySamples, pairs } from "./rules.ts";

const POINTS = [0, 1, -1.5, 3e38, Infinity, -Infinity, NaN];
const WHOLE = pairs([0, 1, -7, 2147483647, -2147483648], "int32");

const samples = () => [...binarySamples([-2, 2], POINTS)(), { inputs: WHOLE, noGrad: true }];

/** All of the gradient where the operand wins, half where both are equal, none where it loses. */
function share(g: Tensor, loses: Tensor, ties: Tensor): Tensor {
  return op.where(loses, 0, op.where(ties, op.mul(g, 0.5), g));
}

const MAXIMUM = elementwise({
  name: "maximum",
  dtype: promote,
  scalar: ([a, b]) => k.max(a, b),
  vjp: ([g], { inputs: [a, b], needs }) => {
    const ties = op.equal(a, b);
    return [
      needs[0] ? share(g, op.lessThan(a, b), ties) : null,
      needs[1] ? share(g, op.lessThan(b, a), ties) : null,
    ];
  },
  samples,
});

/**
 * The larger of two elements, NaN if either is; operands broadcast. Ignoring NaN: `fmax`.
 *
 * @param a Tensor or number.
 * @param b Tensor or number.
 * @returns The broadcast shape, the promoted dtype. Ties give each side half of the gradient.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { maximum, tensor } from "../mod.ts";
 *
 * assertEquals(await maximum(tensor([1, -2]), 0).toArray(), [1, 0]);
 * ```
 */
export function maximum(a: Operand, b: Operand): Tensor {
  return engine.call(MAXIMUM, [a, b]);
}

const MINIMUM = elementwise({
  name: "minimum",
  dtype: promote,
  scalar: ([a, b]) => k.min(a, b),
  vjp: ([g], { inputs: [a, b], needs }) => {
    const ties = op.equal(a, b);
    return [
      needs[0] ? share(g, op.lessThan(b, a), ties) : null,
      needs[1] ? share(g, op.lessThan(a, b), ties) : null,
    ];
  },
  samples,
});

/**
 * The smaller of two elements, NaN if either is; operands broadcast. Ignoring NaN: `fmin`.
 *
 * @param a Tensor or number.
 * @param b Tensor or number.
 * @returns The broadcast shape, the promoted dtype. Ties give each side half of the gradient.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { minimum, tensor } from "../mod.ts";
 *
 * assertEquals(await minimum(tensor([1, -2]), 0).toArray(), [0, -2]);
 * ```
 */
export function minimum(a: Operand, b: Operand): Tensor {
  return engine.call(MINIMUM, [a, b]);
}

/** `pick(a, b)`, or the side that is not NaN. */
function numberOf(a: Expr, b: Expr, pick: Expr): Expr {
  return k.where(k.isNan(a), b, k.where(k.isNan(b), a, pick));
}

/** Gradients where the first operand is taken, and where the second is. */
function chosen(g: Tensor, first: Tensor, needs: readonly boolean[]): readonly (Tensor | null)[] {
  return [
    needs[0] ? op.where(first, g, 0) : null,
    needs[1] ? op.where(first, 0, g) : null,
  ];
}

const FMAX = elementwise({
  name: "fmax",
  dtype: promote,
  scalar: ([a, b]) => numberOf(a, b, k.max(a, b)),
  vjp: ([g], { inputs: [a, b], needs }) =>
    chosen(g, op.logicalOr(op.greaterEqual(a, b), op.notEqual(b, b)), needs),
  samples,
});

/**
 * The larger of two elements, ignoring NaN where only one is NaN; operands broadcast.
 *
 * @param a Tensor or number.
 * @param b Tensor or number.
 * @returns The broadcast shape, the promoted dtype. Ties give the gradient to `a`.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { fmax, tensor } from "../mod.ts";
 *
 * assertEquals(await fmax(tensor([1, NaN]), 0).toArray(), [1, 0]);
 * ```
 */
export function fmax(a: Operand, b: Operand): Tensor {
  return engine.call(FMAX, [a, b]);
}

const FMIN = elementwise({
  name: "fmin",
  dtype: promote,
  scalar: ([a, b]) => numberOf(a, b, k.min(a, b)),
  vjp: ([g], { inputs: [a, b], needs }) =>
    chosen(g, op.logicalOr(op.lessEqual(a, b), op.notEqual(b, b)), needs),
  samples,
});

/**
 * The smaller of two elements, ignoring NaN where only one is NaN; operands broadcast.
 *
 * @param a Tensor or number.
 * @param b Tensor or number.
 * @returns The broadcast shape, the promoted dtype. Ties give the gradient to `a`.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { fmin, tensor } from "../mod.ts";
 *
 * assertEquals(await fmin(tensor([1, NaN]), 0).toArray(), [0, 0]);
 * ```
 */
export function fmin(a: Operand, b: Operand): Tensor {
  return engine.call(FMIN, [a, b]);
}
