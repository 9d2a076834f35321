// Comparisons of two operands that broadcast, tests of one, and logic on truth values: all give bool and
// none has a gradient. Operations on bits are in bitwise.ts.
import { comparison, elementwise, engine, logical, type Operand } from "../core/op.ts";
import * as k from "../core/ir/expr.ts";
import type { Tensor } from "../core/tensor.ts";
import { binarySamples, pairs, unarySamples } from "./rules.ts";

const compared = () => [
  ...binarySamples([-2, 2])(),
  { inputs: pairs([0, 1, -7, 2147483647], "int32") },
];

const EQUAL = elementwise({
  name: "equal",
  dtype: comparison,
  scalar: ([a, b]) => k.eq(a, b),
  vjp: null,
  samples: compared,
});

/**
 * Whether elements are equal; NaN equals nothing, -0 equals 0. Operands broadcast.
 *
 * @param a Tensor or number.
 * @param b Tensor or number.
 * @returns The broadcast shape; bool.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { equal, tensor } from "../mod.ts";
 *
 * assertEquals(await equal(tensor([2, 1]), 2).toArray(), [true, false]);
 * ```
 */
export function equal(a: Operand, b: Operand): Tensor {
  return engine.call(EQUAL, [a, b]);
}

const NOT_EQUAL = elementwise({
  name: "notEqual",
  dtype: comparison,
  scalar: ([a, b]) => k.ne(a, b),
  vjp: null,
  samples: compared,
});

/**
 * Whether elements differ; NaN differs from everything. Operands broadcast.
 *
 * @param a Tensor or number.
 * @param b Tensor or number.
 * @returns The broadcast shape; bool.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { notEqual, tensor } from "../mod.ts";
 *
 * assertEquals(await notEqual(tensor([2, 1]), 2).toArray(), [false, true]);
 * ```
 */
export function notEqual(a: Operand, b: Operand): Tensor {
  return engine.call(NOT_EQUAL, [a, b]);
}

const LESS_THAN = elementwise({
  name: "lessThan",
  dtype: comparison,
  scalar: ([a, b]) => k.lt(a, b),
  vjp: null,
  samples: compared,
});

/**
 * Whether `a < b`; false beside NaN. Operands broadcast.
 *
 * @param a Tensor or number.
 * @param b Tensor or number.
 * @returns The broadcast shape; bool.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { lessThan, tensor } from "../mod.ts";
 *
 * assertEquals(await lessThan(tensor([2, 1]), 2).toArray(), [false, true]);
 * ```
 */
export function lessThan(a: Operand, b: Operand): Tensor {
  return engine.call(LESS_THAN, [a, b]);
}

const LESS_EQUAL = elementwise({
  name: "lessEqual",
  dtype: comparison,
  scalar: ([a, b]) => k.le(a, b),
  vjp: null,
  samples: compared,
});

/**
 * Whether `a <= b`; false beside NaN. Operands broadcast.
 *
 * @param a Tensor or number.
 * @param b Tensor or number.
 * @returns The broadcast shape; bool.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { lessEqual, tensor } from "../mod.ts";
 *
 * assertEquals(await lessEqual(tensor([2, 1]), 2).toArray(), [true, true]);
 * ```
 */
export function lessEqual(a: Operand, b: Operand): Tensor {
  return engine.call(LESS_EQUAL, [a, b]);
}

const GREATER_THAN = elementwise({
  name: "greaterThan",
  dtype: comparison,
  scalar: ([a, b]) => k.gt(a, b),
  vjp: null,
  samples: compared,
});

/**
 * Whether `a > b`; false beside NaN. Operands broadcast.
 *
 * @param a Tensor or number.
 * @param b Tensor or number.
 * @returns The broadcast shape; bool.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { greaterThan, tensor } from "../mod.ts";
 *
 * assertEquals(await greaterThan(tensor([2, 1]), 2).toArray(), [false, false]);
 * ```
 */
export function greaterThan(a: Operand, b: Operand): Tensor {
  return engine.call(GREATER_THAN, [a, b]);
}

const GREATER_EQUAL = elementwise({
  name: "greaterEqual",
  dtype: comparison,
  scalar: ([a, b]) => k.ge(a, b),
  vjp: null,
  samples: compared,
});

/**
 * Whether `a >= b`; false beside NaN. Operands broadcast.
 *
 * @param a Tensor or number.
 * @param b Tensor or number.
 * @returns The broadcast shape; bool.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { greaterEqual, tensor } from "../mod.ts";
 *
 * assertEquals(await greaterEqual(tensor([2, 1]), 2).toArray(), [true, false]);
 * ```
 */
export function greaterEqual(a: Operand, b: Operand): Tensor {
  return engine.call(GREATER_EQUAL, [a, b]);
}

const truths = () => [
  { inputs: pairs([0, -0, 2, -1, NaN]) },
  { inputs: pairs([0, 2, -1], "int32") },
  { inputs: [{ shape: [2, 1] }, { shape: [0] }] },
];

const LOGICAL_AND = elementwise({
  name: "logicalAnd",
  dtype: logical,
  scalar: ([a, b]) => k.and(a, b),
  vjp: null,
  samples: truths,
});

/**
 * Whether both elements are true. Numbers are true if they are not 0, NaN too. Operands broadcast.
 *
 * @param a Tensor or number.
 * @param b Tensor or number.
 * @returns The broadcast shape; bool.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { logicalAnd, tensor } from "../mod.ts";
 *
 * assertEquals(await logicalAnd(tensor([5, 0]), true).toArray(), [true, false]);
 * ```
 */
export function logicalAnd(a: Operand, b: Operand): Tensor {
  return engine.call(LOGICAL_AND, [a, b]);
}

const LOGICAL_OR = elementwise({
  name: "logicalOr",
  dtype: logical,
  scalar: ([a, b]) => k.or(a, b),
  vjp: null,
  samples: truths,
});

/**
 * Whether at least one element is true. Numbers are true if they are not 0, NaN too. Operands broadcast.
 *
 * @param a Tensor or number.
 * @param b Tensor or number.
 * @returns The broadcast shape; bool.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { logicalOr, tensor } from "../mod.ts";
 *
 * assertEquals(await logicalOr(tensor([5, 0]), true).toArray(), [true, true]);
 * ```
 */
export function logicalOr(a: Operand, b: Operand): Tensor {
  return engine.call(LOGICAL_OR, [a, b]);
}

const LOGICAL_XOR = elementwise({
  name: "logicalXor",
  dtype: logical,
  scalar: ([a, b]) => k.xor(a, b),
  vjp: null,
  samples: truths,
});

/**
 * Whether exactly one element is true. Numbers are true if they are not 0, NaN too. Operands broadcast.
 *
 * @param a Tensor or number.
 * @param b Tensor or number.
 * @returns The broadcast shape; bool.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { logicalXor, tensor } from "../mod.ts";
 *
 * assertEquals(await logicalXor(tensor([5, 0]), true).toArray(), [false, true]);
 * ```
 */
export function logicalXor(a: Operand, b: Operand): Tensor {
  return engine.call(LOGICAL_XOR, [a, b]);
}

const LOGICAL_NOT = elementwise({
  name: "logicalNot",
  dtype: logical,
  scalar: ([x]) => k.not(x),
  vjp: null,
  samples: () => [
    { inputs: [{ values: [0, -0, 2, -1, NaN] }] },
    { inputs: [{ values: [0, 2, -1], dtype: "int32" }] },
  ],
});

/**
 * Whether each element is false, that is, 0.
 *
 * @param x Any shape and real dtype.
 * @returns The shape of `x`; bool.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { logicalNot, tensor } from "../mod.ts";
 *
 * assertEquals(await logicalNot(tensor([2, 0])).toArray(), [false, true]);
 * ```
 */
export function logicalNot(x: Tensor): Tensor {
  return engine.call(LOGICAL_NOT, [x]);
}

const tested = () => [
  ...unarySamples([-2, 2])(),
  { inputs: [{ values: [0, 1, -7], dtype: "int32" as const }] },
];

const IS_NAN = elementwise({
  name: "isNan",
  dtype: comparison,
  scalar: ([x]) => k.ne(x, x),
  vjp: null,
  samples: tested,
});

/**
 * Whether each element is NaN; no integer is.
 *
 * @param x Any shape and real dtype.
 * @returns The shape of `x`; bool.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { isNan, tensor } from "../mod.ts";
 *
 * assertEquals(await isNan(tensor([NaN, -Infinity, 1])).toArray(), [true, false, false]);
 * ```
 */
export function isNan(x: Tensor): Tensor {
  return engine.call(IS_NAN, [x]);
}

const IS_INF = elementwise({
  name: "isInf",
  dtype: comparison,
  scalar: ([x]) =>
    x.dtype === "float32" || x.dtype === "float64" ? k.eq(k.abs(x), Infinity) : k.ne(x, x),
  vjp: null,
  samples: tested,
});

/**
 * Whether each element is Infinity or -Infinity; no integer is.
 *
 * @param x Any shape and real dtype.
 * @returns The shape of `x`; bool.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { isInf, tensor } from "../mod.ts";
 *
 * assertEquals(await isInf(tensor([NaN, -Infinity, 1])).toArray(), [false, true, false]);
 * ```
 */
export function isInf(x: Tensor): Tensor {
  return engine.call(IS_INF, [x]);
}

const IS_FINITE = elementwise({
  name: "isFinite",
  dtype: comparison,
  scalar: ([x]) =>
    x.dtype === "float32" || x.dtype === "float64" ? k.lt(k.abs(x), Infinity) : k.eq(x, x),
  vjp: null,
  samples: tested,
});

/**
 * Whether each element is neither NaN nor infinite; every integer is.
 *
 * @param x Any shape and real dtype.
 * @returns The shape of `x`; bool.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { isFinite, tensor } from "../mod.ts";
 *
 * assertEquals(await isFinite(tensor([NaN, -Infinity, 1])).toArray(), [false, false, true]);
 * ```
 */
export function isFinite(x: Tensor): Tensor {
  return engine.call(IS_FINITE, [x]);
}
