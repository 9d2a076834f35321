// Powers and other functions of two operands that broadcast: pow, hypot, atan2, logAddExp.
import { isInteger } from "../core/dtype.ts";
import { ValueError } from "../core/errors.ts";
import { elementwise, engine, type Operand, promote, promoteFloat } from "../core/op.ts";
import type { Expr } from "../core/ir/expr.ts";
import * as k from "../core/ir/expr.ts";
import { op } from "../core/slots.ts";
import { Tensor } from "../core/tensor.ts";
import { binarySamples, pairs, POINTS, widened } from "./rules.ts";

/** x to a power known now, by repeated squaring. */
function wholePower(x: Expr, n: number): Expr {
  if (n === 0) return k.constant(1, x.dtype);
  if (n === 1) return x;
  const half = wholePower(x, Math.floor(n / 2));
  const even = k.mul(half, half);
  return n % 2 === 0 ? even : k.mul(even, x);
}

/** a to the b for integers, by repeated squaring over all bits of b; wraps. */
function integerPower(a: Expr, b: Expr): Expr {
  const bits = a.dtype === "int64" ? 63 : 31;
  let base = a;
  let power: Expr = k.constant(1, a.dtype);
  for (let i = 0; i < bits; i++) {
    const taken = k.ne(k.and(k.shru(b, i), 1), 0);
    power = k.where(taken, k.mul(power, base), power);
    if (i + 1 < bits) base = k.mul(base, base);
  }
  // Of the inverses only those of ±1 are whole.
  const inverse = k.where(k.ne(k.and(b, 1), 0), a, k.mul(a, a));
  const unit = k.or(k.eq(a, 1), k.eq(a, -1));
  return k.where(k.lt(b, 0), k.where(unit, inverse, 0), power);
}

/** d/da a^b = b a^(b-1), and 0 where b = 0, whatever a is. */
function baseSlope(a: Operand, b: Operand): Tensor {
  if (typeof b === "number") return op.mul(op.pow(a, b - 1), b);
  const zero = op.equal(b, 0);
  const slope = op.mul(op.pow(a, op.where(zero, 1, op.sub(b, 1))), b);
  return op.where(zero, 0, slope);
}

/** d/db a^b = a^b log a, and 0 where a = 0 and b is not negative. */
function exponentSlope(a: Operand, b: Operand, y: Tensor): Tensor {
  const zero = op.logicalAnd(op.equal(a, 0), op.greaterEqual(b, 0));
  if (typeof a === "number") {
    return a === 0 ? op.where(zero, 0, op.mul(y, -Infinity)) : op.mul(y, Math.log(a));
  }
  const safe = op.where(zero, 1, a);
  return op.where(zero, 0, op.mul(y, op.log(safe)));
}

const POW = elementwise({
  name: "pow",
  amp: "black",
  dtype: promote,
  scalar: ([a, b]) => a.dtype === "int32" || a.dtype === "int64" ? integerPower(a, b) : k.pow(a, b),
  vjp: ([g], { inputs, outputs: [y], needs }) => {
    const [a, b] = inputs.map((x) => widened(x, y));
    return [
      !needs[0] ? null : b === 0 ? op.zerosLike(g) : op.mul(g, baseSlope(a, b)),
      needs[1] ? op.mul(g, exponentSlope(a, b, y)) : null,
    ];
  },
  saves: "both",
  samples: () => [
    ...binarySamples([0.5, 2], [0, -0, 1, -1, 0.5, 2, 3, -2, Infinity, -Infinity, NaN])(),
    { inputs: [{ shape: [3], range: [0.5, 2] }, 1.5] },
    { inputs: [1.5, { shape: [3] }] },
    { inputs: [{ shape: [3] }, 0] },
    { inputs: pairs([0, 1, -1, 2, -3, 7, 31], "int32"), noGrad: true },
  ],
});

/** With a small whole exponent: products are faster and right to the last place. */
const POW_WHOLE = elementwise({
  name: "powWhole",
  amp: "black",
  dtype: promote,
  scalar: ([x], { attrs }) => wholePower(x, attrs.n as number),
  vjp: ([g], { inputs: [x], attrs }) => {
    const n = attrs.n as number;
    return [n === 1 ? g : op.mul(g, op.mul(op.pow(x, n - 1), n))];
  },
  samples: () => [
    { inputs: [{ shape: [2, 3], range: [-2, 2] }], attrs: { n: 3 } },
    { inputs: [{ values: POINTS }], attrs: { n: 4 }, noGrad: true },
    { inputs: [{ values: [0, 1, -7, 65537], dtype: "int32" }], attrs: { n: 5 }, noGrad: true },
  ],
});

/**
 * `a` to the power `b`, element by element; operands broadcast.
 *
 * @param a Tensor or number.
 * @param b Tensor or number. A negative power of an integer is 0 unless the base is ±1.
 * @returns The broadcast shape, the promoted dtype; integers wrap. `pow(x, 0)` and `pow(1, y)` are 1
 * for every x and y, NaN too (IEEE 754). The gradient of the base is 0 where `b` is 0; that of the
 * exponent is 0 where `a` is 0 and `b` is not negative.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @throws {ValueError} if an integer tensor gets a negative number as exponent.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { pow, tensor } from "../mod.ts";
 *
 * assertEquals(await pow(tensor([2, 3]), 2).toArray(), [4, 9]);
 * assertEquals(await pow(2, tensor([3, -1])).toArray(), [8, 0.5]);
 * ```
 */
export function pow(a: Operand, b: Operand): Tensor {
  if (a instanceof Tensor && a.dtype !== "bool" && typeof b === "number" && Number.isInteger(b)) {
    const whole = isInteger(a.dtype);
    if (whole && b < 0) {
      throw new ValueError(
        `Cannot pow ${a.dtype} by ${b}: integers have no negative powers; cast the base to "float32"`,
      );
    }
    if (b === 2) return op.square(a);
    if (b > 0 && b <= (whole ? 63 : 4)) return engine.call(POW_WHOLE, [a], { n: b });
  }
  return engine.call(POW, [a, b]);
}

const HYPOT = elementwise({
  name: "hypot",
  dtype: promoteFloat,
  scalar: ([a, b]) => {
    const x = k.abs(a);
    const y = k.abs(b);
    const high = k.max(x, y);
    // Scaled by the larger side, whose square may overflow or vanish.
    const ratio = k.div(k.min(x, y), high);
    const length = k.mul(high, k.sqrt(k.add(k.mul(ratio, ratio), 1)));
    const infinite = k.or(k.eq(x, Infinity), k.eq(y, Infinity));
    return k.where(infinite, Infinity, k.where(k.eq(high, 0), 0, length));
  },
  vjp: ([g], { inputs: [a, b], outputs: [y], needs }) => {
    const safe = op.where(op.equal(y, 0), 1, y);
    return [
      needs[0] ? op.mul(g, op.div(a, safe)) : null,
      needs[1] ? op.mul(g, op.div(b, safe)) : null,
    ];
  },
  saves: "both",
  reads: [[0], [1]],
  samples: binarySamples([0.3, 2], [0, -0, 1, -1.5, 3e38, 1e-40, Infinity, -Infinity, NaN]),
});

/**
 * `sqrt(a^2 + b^2)` without overflow in between; operands broadcast.
 *
 * @param a Tensor or number.
 * @param b Tensor or number.
 * @returns The broadcast shape; the promoted dtype, the default float for integers and bools. Infinity
 * if either side is infinite, even beside NaN (IEEE 754). The gradient at (0, 0) is 0.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { hypot, tensor } from "../mod.ts";
 *
 * assertEquals(await hypot(tensor([3, -8]), tensor([4, 15])).toArray(), [5, 17]);
 * ```
 */
export function hypot(a: Operand, b: Operand): Tensor {
  return engine.call(HYPOT, [a, b]);
}

const ATAN2 = elementwise({
  name: "atan2",
  dtype: promoteFloat,
  scalar: ([y, x]) => k.atan2(y, x),
  vjp: ([g], { inputs, needs }) => {
    const [y, x] = inputs.map((v) => widened(v, g));
    // Divided twice, since squares overflow and vanish; 0 at the origin, as PyTorch has it.
    const r = hypot(y, x);
    const d = op.where(op.equal(r, 0), 1, r);
    const part = (v: Operand): Tensor => op.mul(g, op.div(op.div(v, d), d));
    return [needs[0] ? part(x) : null, needs[1] ? op.neg(part(y)) : null];
  },
  samples: binarySamples([0.3, 2], [0, -0, 1, -1, 1e-40, 3e38, Infinity, -Infinity, NaN]),
});

/**
 * The angle of the point (x, y) from the positive x axis, in -pi … pi; operands broadcast.
 *
 * @param y Tensor or number.
 * @param x Tensor or number.
 * @returns The broadcast shape; the promoted dtype, the default float for integers and bools.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { atan2, tensor } from "../mod.ts";
 *
 * assertAlmostEquals(await atan2(tensor(1), tensor(-1)).item() as number, 0.75 * Math.PI, 1e-6);
 * ```
 */
export function atan2(y: Operand, x: Operand): Tensor {
  return engine.call(ATAN2, [y, x]);
}

const LOG_ADD_EXP = elementwise({
  name: "logAddExp",
  amp: "black",
  dtype: promoteFloat,
  scalar: ([a, b]) => {
    const high = k.max(a, b);
    const soft = k.add(high, k.log1p(k.exp(k.neg(k.abs(k.sub(a, b))))));
    // Equal infinities have no difference.
    return k.where(k.eq(k.abs(high), Infinity), high, soft);
  },
  vjp: ([g], { inputs: [a, b], needs }) => {
    const d = op.sub(a, b);
    // Equal infinities have no difference.
    const distance = op.where(op.equal(a, b), 0, d);
    return [
      needs[0] ? op.mul(g, op.sigmoid(distance)) : null,
      needs[1] ? op.mul(g, op.sigmoid(op.neg(distance))) : null,
    ];
  },
  samples: binarySamples([-2, 2], [0, -0, 1, -1.5, 1000, -1000, Infinity, -Infinity, NaN]),
});

/**
 * `log(exp(a) + exp(b))` without overflow; operands broadcast.
 *
 * @param a Tensor or number.
 * @param b Tensor or number.
 * @returns The broadcast shape; the promoted dtype, the default float for integers and bools.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { logAddExp, tensor } from "../mod.ts";
 *
 * assertEquals(await logAddExp(tensor([1000, -Infinity]), tensor([0, 2])).toArray(), [1000, 2]);
 * ```
 */
export function logAddExp(a: Operand, b: Operand): Tensor {
  return engine.call(LOG_ADD_EXP, [a, b]);
}
