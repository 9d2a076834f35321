// Whole quotients and remainders of two operands that broadcast, for integers and for floats.
import { elementwise, engine, type Operand } from "../core/op.ts";
import type { Expr } from "../core/ir/expr.ts";
import * as k from "../core/ir/expr.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { binarySamples, numeric, pairs } from "./rules.ts";

const POINTS = [0, -0, 1, -1.5, 5.5, -5.5, 0.1, 1e20, -3e38, 1e-40, Infinity, -Infinity, NaN];
const WHOLE = pairs([0, 1, -1, 3, -3, 7, -8, 2147483647, -2147483648], "int32");

function isFloat(x: Expr): boolean {
  return x.dtype === "float32" || x.dtype === "float64";
}

/** The leading half of the mantissa: products of two such halves are exact. */
function leading(x: Expr): Expr {
  return x.dtype === "float32"
    ? k.bitcast(k.and(k.bitcast(x, "int32"), -(2 ** 12)), "float32")
    : k.bitcast(k.and(k.bitcast(x, "int64"), -(1n << 27n)), "float64");
}

/** The remainder of x by t without error, or that plus t where division is inexact (x >= 0, t > 0). */
function reduceBy(x: Expr, t: Expr): Expr {
  const q = k.floor(k.div(x, t));
  const p = k.mul(q, t);
  // The exact product is p + e (Dekker 1971).
  const [qh, th] = [leading(q), leading(t)];
  const [ql, tl] = [k.sub(q, qh), k.sub(t, th)];
  const e = k.add(
    k.add(k.add(k.sub(k.mul(qh, th), p), k.mul(qh, tl)), k.mul(ql, th)),
    k.mul(ql, tl),
  );
  const r = k.sub(k.sub(x, p), e);
  // The quotient is one too large where it was rounded up to a whole number.
  return k.where(k.lt(x, t), x, k.where(k.lt(r, 0), k.add(r, t), r));
}

/** Bits of the quotient that one step takes off, few enough for division to be one off at most. */
const STEP = { float32: 20, float64: 49 } as const;

/**
 * C's fmod. Exact where |a / b| < 2^60 (float64: 2^147); 0 beyond, where neighbouring values of a lie
 * many multiples of b apart.
 */
function floatRemainder(a: Expr, b: Expr): Expr {
  const bits = STEP[a.dtype as keyof typeof STEP];
  const x = k.abs(a);
  const y = k.abs(b);
  let r = x;
  for (const n of [2 * bits, bits, 0]) r = reduceBy(r, n === 0 ? y : k.mul(y, 2 ** n));
  r = k.where(k.ge(r, y), k.sub(r, y), r);
  r = k.where(k.ge(x, k.mul(y, 2 ** (3 * bits))), 0, r);
  const defined = k.and(k.ne(y, 0), k.lt(x, Infinity));
  r = k.where(defined, r, NaN);
  // Unchanged means a itself, -0 too.
  return k.where(k.eq(r, x), a, k.where(k.lt(a, 0), k.neg(r), r));
}

/** The remainder with the sign of a. */
function truncated(a: Expr, b: Expr): Expr {
  return isFloat(a) ? floatRemainder(a, b) : k.irem(a, b);
}

/** Whether a remainder with the sign of a has to move by b to get the sign of b. */
function mustMove(r: Expr, b: Expr): Expr {
  return k.and(k.ne(r, 0), k.xor(k.lt(r, 0), k.lt(b, 0)));
}

function floorQuotient(a: Expr, b: Expr): Expr {
  const r = truncated(a, b);
  const move = mustMove(r, b);
  if (!isFloat(a)) {
    const q = k.idiv(a, b);
    return k.where(move, k.sub(q, 1), q);
  }
  const whole = k.rint(k.div(k.sub(a, r), b));
  const q = k.where(move, k.sub(whole, 1), whole);
  return k.where(k.eq(b, 0), k.div(a, b), q);
}

const MOD = elementwise({
  name: "mod",
  dtype: numeric,
  scalar: ([a, b]) => {
    const r = truncated(a, b);
    return k.where(mustMove(r, b), k.add(r, b), r);
  },
  vjp: ([g], { inputs: [a, b], needs }) => [
    g,
    needs[1] ? op.neg(op.mul(g, op.floorDivide(a, b))) : null,
  ],
  reads: [[], [0, 1]],
  samples: () => [
    ...binarySamples([0.6, 3], POINTS)(),
    { inputs: WHOLE, noGrad: true },
  ],
});

/**
 * The remainder with the sign of the divisor, `a - floorDivide(a, b) * b`, as Python's `%` (Paddle's
 * `mod`); operands broadcast. With the sign of the dividend, as JavaScript's `%`: `fmod`.
 *
 * @param a Tensor or number.
 * @param b Tensor or number. By 0, floats give NaN and integers 0.
 * @returns The broadcast shape, the promoted dtype. Exact while |a / b| < 2^60 (float64: 2^147).
 * @throws {ShapeError} if the shapes do not broadcast.
 * @throws {DTypeError} if both are bool.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { mod, tensor } from "../mod.ts";
 *
 * assertEquals(await mod(tensor([7, -7, 5.5]), 3).toArray(), [1, 2, 2.5]);
 * ```
 */
export function mod(a: Operand, b: Operand): Tensor {
  return engine.call(MOD, [a, b]);
}

const FMOD = elementwise({
  name: "fmod",
  dtype: numeric,
  scalar: ([a, b]) => truncated(a, b),
  vjp: ([g], { inputs: [a, b], needs }) => [
    g,
    needs[1] ? op.neg(op.mul(g, op.trunc(op.div(a, b)))) : null,
  ],
  reads: [[], [0, 1]],
  samples: () => [
    ...binarySamples([0.6, 3], POINTS)(),
    { inputs: WHOLE, noGrad: true },
  ],
});

/**
 * The remainder with the sign of the dividend, `a - trunc(a / b) * b`, as JavaScript's `%`; operands
 * broadcast. With the sign of the divisor: `mod`.
 *
 * @param a Tensor or number.
 * @param b Tensor or number. By 0, floats give NaN and integers 0.
 * @returns The broadcast shape, the promoted dtype. Exact while |a / b| < 2^60 (float64: 2^147).
 * @throws {ShapeError} if the shapes do not broadcast.
 * @throws {DTypeError} if both are bool.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { fmod, tensor } from "../mod.ts";
 *
 * assertEquals(await fmod(tensor([7, -7, 5.5]), 3).toArray(), [1, -1, 2.5]);
 * ```
 */
export function fmod(a: Operand, b: Operand): Tensor {
  return engine.call(FMOD, [a, b]);
}

const FLOOR_DIVIDE = elementwise({
  name: "floorDivide",
  dtype: numeric,
  scalar: ([a, b]) => floorQuotient(a, b),
  vjp: null,
  samples: () => [
    ...binarySamples([0.6, 3], POINTS)(),
    { inputs: WHOLE, noGrad: true },
  ],
});

/**
 * The quotient rounded toward -Infinity, for integers without leaving them; operands broadcast.
 *
 * @param a Tensor or number.
 * @param b Tensor or number. By 0, floats give ±Infinity or NaN, integers 0.
 * @returns The broadcast shape, the promoted dtype. No gradient.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @throws {DTypeError} if both are bool.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { floorDivide, tensor } from "../mod.ts";
 *
 * assertEquals(await floorDivide(tensor([7, -7, 5.5]), 2).toArray(), [3, -4, 2]);
 * ```
 */
export function floorDivide(a: Operand, b: Operand): Tensor {
  return engine.call(FLOOR_DIVIDE, [a, b]);
}
