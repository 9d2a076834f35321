// Operations on the bits of integers, and on bools as single bits. Truth of numbers is in compare.ts.
import { DTypeError } from "../core/errors.ts";
import { type DTypeRule, elementwise, engine, integral, type Operand } from "../core/op.ts";
import type { Expr } from "../core/ir/expr.ts";
import * as k from "../core/ir/expr.ts";
import type { Tensor } from "../core/tensor.ts";
import { pairs } from "./rules.ts";

const samples = () => [
  { inputs: pairs([0, 1, -7, 99, 2147483647, -2147483648], "int32") },
  { inputs: [{ values: [6], dtype: "int32" as const }, 3] },
];

const BITWISE_AND = elementwise({
  name: "bitwiseAnd",
  dtype: integral,
  scalar: ([a, b]) => k.and(a, b),
  vjp: null,
  samples,
});

/**
 * The bits set in both elements. Operands broadcast.
 *
 * @param a Integer or bool tensor, or a whole number.
 * @param b Integer or bool tensor, or a whole number.
 * @returns The broadcast shape, the promoted dtype.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @throws {DTypeError} if an operand is floating.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { bitwiseAnd, tensor } from "../mod.ts";
 *
 * assertEquals(await bitwiseAnd(tensor([5, 2], { dtype: "int32" }), 6).toArray(), [4, 2]);
 * ```
 */
export function bitwiseAnd(a: Operand, b: Operand): Tensor {
  return engine.call(BITWISE_AND, [a, b]);
}

const BITWISE_OR = elementwise({
  name: "bitwiseOr",
  dtype: integral,
  scalar: ([a, b]) => k.or(a, b),
  vjp: null,
  samples,
});

/**
 * The bits set in at least one element. Operands broadcast.
 *
 * @param a Integer or bool tensor, or a whole number.
 * @param b Integer or bool tensor, or a whole number.
 * @returns The broadcast shape, the promoted dtype.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @throws {DTypeError} if an operand is floating.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { bitwiseOr, tensor } from "../mod.ts";
 *
 * assertEquals(await bitwiseOr(tensor([5, 3], { dtype: "int32" }), 6).toArray(), [7, 7]);
 * ```
 */
export function bitwiseOr(a: Operand, b: Operand): Tensor {
  return engine.call(BITWISE_OR, [a, b]);
}

const BITWISE_XOR = elementwise({
  name: "bitwiseXor",
  dtype: integral,
  scalar: ([a, b]) => k.xor(a, b),
  vjp: null,
  samples,
});

/**
 * The bits set in exactly one element. Operands broadcast.
 *
 * @param a Integer or bool tensor, or a whole number.
 * @param b Integer or bool tensor, or a whole number.
 * @returns The broadcast shape, the promoted dtype.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @throws {DTypeError} if an operand is floating.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { bitwiseXor, tensor } from "../mod.ts";
 *
 * assertEquals(await bitwiseXor(tensor([5, 3], { dtype: "int32" }), 6).toArray(), [3, 5]);
 * ```
 */
export function bitwiseXor(a: Operand, b: Operand): Tensor {
  return engine.call(BITWISE_XOR, [a, b]);
}

const BITWISE_NOT = elementwise({
  name: "bitwiseNot",
  dtype: integral,
  scalar: ([x]) => k.not(x),
  vjp: null,
  samples: () => [
    { inputs: [{ values: [0, 1, -7, 2147483647], dtype: "int32" }] },
    { inputs: [{ values: [0, 1], dtype: "bool" }] },
  ],
});

/**
 * Each bit turned: `-x - 1` for signed integers, the opposite for bools.
 *
 * @param x Integer or bool tensor.
 * @returns The shape and dtype of `x`.
 * @throws {DTypeError} if `x` is floating.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { bitwiseNot, tensor } from "../mod.ts";
 *
 * assertEquals(await bitwiseNot(tensor([0, 5], { dtype: "int32" })).toArray(), [-1, -6]);
 * ```
 */
export function bitwiseNot(x: Tensor): Tensor {
  return engine.call(BITWISE_NOT, [x]);
}

const shifting: DTypeRule = (name, metas, attrs) => {
  const rule = integral(name, metas, attrs);
  if (rule.out === "bool") {
    throw new DTypeError(`Cannot ${name} bool: a truth value has no bits to shift; cast it first`);
  }
  return rule;
};

/** The last count that leaves a bit in place. */
function lastShift(x: Expr): number {
  return x.dtype === "int64" ? 63 : 31;
}

function shiftable(a: Expr, b: Expr): Expr {
  return k.and(k.ge(b, 0), k.le(b, lastShift(a)));
}

const shifts = () => [
  { inputs: pairs([0, 1, -7, 31, 32, -1, 2147483647], "int32") },
  { inputs: [{ values: [6], dtype: "int32" as const }, 3] },
];

const LEFT_SHIFT = elementwise({
  name: "leftShift",
  dtype: shifting,
  scalar: ([a, b]) => k.where(shiftable(a, b), k.shl(a, b), 0),
  vjp: null,
  samples: shifts,
});

/**
 * The bits of `a` moved `b` places up, 0 when all are moved out or `b` is negative. Operands broadcast.
 *
 * @param a Integer tensor, or a whole number.
 * @param b Integer tensor, or a whole number.
 * @returns The broadcast shape, the promoted dtype.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @throws {DTypeError} if an operand is floating or both are bool.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { leftShift, tensor } from "../mod.ts";
 *
 * assertEquals(await leftShift(tensor([1, 5], { dtype: "int32" }), 3).toArray(), [8, 40]);
 * ```
 */
export function leftShift(a: Operand, b: Operand): Tensor {
  return engine.call(LEFT_SHIFT, [a, b]);
}

const RIGHT_SHIFT = elementwise({
  name: "rightShift",
  dtype: shifting,
  scalar: ([a, b]) => k.shr(a, k.where(shiftable(a, b), b, lastShift(a))),
  vjp: null,
  samples: shifts,
});

/**
 * The bits of `a` moved `b` places down, with copies of the sign coming in: `floor(a / 2^b)`. Counts
 * beyond the width, and negative ones, leave only the sign. Operands broadcast.
 *
 * @param a Integer tensor, or a whole number.
 * @param b Integer tensor, or a whole number.
 * @returns The broadcast shape, the promoted dtype.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @throws {DTypeError} if an operand is floating or both are bool.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { rightShift, tensor } from "../mod.ts";
 *
 * assertEquals(await rightShift(tensor([8, -9], { dtype: "int32" }), 2).toArray(), [2, -3]);
 * ```
 */
export function rightShift(a: Operand, b: Operand): Tensor {
  return engine.call(RIGHT_SHIFT, [a, b]);
}
