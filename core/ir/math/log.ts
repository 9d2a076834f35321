// log and its kin: log, log2, log10, log1p, asinh, acosh, atanh, of core ops. Not here: the more
// precise logarithm inside pow (power.ts).
//
// x = 2^n (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); log(1 + f) = 2 artanh(s), s = f / (2 + f).
import * as ex from "../expr.ts";
import type { Expr } from "../expr.ts";
import { type Both, type Kit, kitOf, poly } from "./kit.ts";

/** (2 artanh(s) - 2s) / s^3 by powers of s^2, for s <= 3 - sqrt(8); errors 2^-30.2, 2^-59.5. */
const ARTANH: Both<readonly number[]> = {
  float32: [0.66666776, 0.39977583, 0.2987083],
  float64: [
    0.6666666666666734,
    0.3999999999941674,
    0.2857142874200941,
    0.2222219860560716,
    0.18183562917310292,
    0.15314080455870435,
    0.14795705373451823,
  ],
};

/** A constant in two parts; products of the first with an exponent or a `high` are exact. */
type Split = Both<readonly [number, number]>;

const LN2: Split = {
  float32: [0.693145751953125, 1.4286068e-06],
  float64: [0.6931471805598903, 5.497923018708371e-14],
};
const LOG10_2: Split = {
  float32: [0.301025390625, 4.605039e-06],
  float64: [0.30102999566395283, 2.8363394551044964e-14],
};
const LOG2_E: Split = {
  float32: [1.4423828125, 0.0003122284],
  float64: [1.4426950216293335, 1.9259629911266175e-08],
};
const LOG10_E: Split = {
  float32: [0.4342041015625, 9.038034e-05],
  float64: [0.4342944771051407, 4.798111141615973e-09],
};

/** The n of 2^n (1 + f), as an integer, for a normal positive x; and the bits of its power. */
function exponentOf(k: Kit, x: Expr): { n: Expr; field: Expr } {
  const above = ex.sub(k.bits(x), k.bits(k.num(Math.SQRT1_2)));
  return {
    n: ex.shr(above, k.mantissa),
    field: ex.and(above, k.whole(-(1n << BigInt(k.mantissa)))),
  };
}

/** x = 2^n (1 + f), n as a float; x positive. */
export function reduceLog(k: Kit, x: Expr): { n: Expr; f: Expr } {
  const small = ex.lt(x, 2 ** (1 - k.bias));
  const up = k.mantissa + 2;
  const y = ex.where(small, ex.mul(x, 2 ** up), x);
  const { n, field } = exponentOf(k, y);
  return {
    n: ex.sub(k.toFloat(n), ex.where(small, k.num(up), k.num(0))),
    f: ex.sub(k.ofBits(ex.sub(k.bits(y), field)), 1),
  };
}

/** log(1 + f) = f - half + rest. */
function logReduced(k: Kit, f: Expr): { half: Expr; rest: Expr } {
  const s = ex.div(f, ex.add(f, 2));
  const z = ex.mul(s, s);
  const half = ex.mul(ex.mul(f, 0.5), f);
  return { half, rest: ex.mul(s, ex.fma(z, poly(z, k.pick(ARTANH)), half)) };
}

/** n ln 2 + log(1 + f). */
function joinLog(k: Kit, n: Expr, f: Expr): Expr {
  const { half, rest } = logReduced(k, f);
  const [hi, lo] = k.pick(LN2);
  return ex.sub(ex.mul(n, hi), ex.sub(ex.sub(half, ex.fma(n, lo, rest)), f));
}

/** A logarithm of u where u is positive and finite, else what IEEE 754 asks for. */
function guard(k: Kit, u: Expr, y: Expr): Expr {
  const special = ex.where(ex.eq(u, 0), k.num(-Infinity), ex.where(ex.lt(u, 0), k.num(NaN), u));
  return ex.where(ex.and(ex.gt(u, 0), ex.lt(u, Infinity)), y, special);
}

/** log x for a positive, normal x; anything else gives anything. */
export function logNormal(k: Kit, x: Expr): Expr {
  const { n, field } = exponentOf(k, x);
  return joinLog(k, k.toFloat(n), ex.sub(k.ofBits(ex.sub(k.bits(x), field)), 1));
}

export function log(x: Expr): Expr {
  const k = kitOf(x);
  const { n, f } = reduceLog(k, x);
  return guard(k, x, joinLog(k, n, f));
}

/** y + log(1 + f) / ln(base) + `low`, with 1 / ln(base) in two parts. */
function joinBase(k: Kit, f: Expr, y: Expr, low: Expr | null, scale: Split): Expr {
  const { half, rest } = logReduced(k, f);
  const [hi, lo] = k.pick(scale);
  const head = k.high(ex.sub(f, half));
  const tail = ex.add(ex.sub(ex.sub(f, head), half), rest);
  const main = ex.mul(head, hi);
  const small = ex.fma(ex.add(tail, head), lo, ex.mul(tail, hi));
  const sum = ex.add(y, main);
  const lost = ex.add(ex.sub(y, sum), main);
  return ex.add(ex.add(low === null ? small : ex.add(small, low), lost), sum);
}

export function log2(x: Expr): Expr {
  const k = kitOf(x);
  const { n, f } = reduceLog(k, x);
  return guard(k, x, joinBase(k, f, n, null, LOG2_E));
}

export function log10(x: Expr): Expr {
  const k = kitOf(x);
  const { n, f } = reduceLog(k, x);
  const [hi, lo] = k.pick(LOG10_2);
  return guard(k, x, joinBase(k, f, ex.mul(n, hi), ex.mul(n, lo), LOG10_E));
}

/** log(1 + x) + extra ln 2, without rounding 1 + x: f = 2^-n x + (2^-n - 1). Sign of 0 not kept. */
function log1pPlus(k: Kit, x: Expr, extra: Expr | null): Expr {
  const u = ex.add(x, 1);
  const { n, field } = exponentOf(k, u);
  // Four times 2^-n, which is a normal number for every n.
  const power = k.ofBits(ex.sub(k.bits(k.num(4)), field));
  const f = ex.mul(ex.add(ex.mul(x, power), ex.sub(power, 4)), 0.25);
  const times = k.toFloat(n);
  return guard(k, u, joinLog(k, extra === null ? times : ex.add(times, extra), f));
}

export function log1p(x: Expr): Expr {
  const k = kitOf(x);
  return ex.where(ex.eq(x, 0), x, log1pPlus(k, x, null));
}

export function asinh(x: Expr): Expr {
  const k = kitOf(x);
  const a = ex.abs(x);
  // log(a + sqrt(a^2 + 1)), as log1p of a + a^2 / (1 + sqrt(a^2 + 1)); log(2a) where a^2 is large.
  const large = ex.gt(a, 2 ** (k.mantissa + 5));
  const z = ex.mul(a, a);
  const y = ex.add(a, ex.div(z, ex.add(ex.sqrt(ex.add(z, 1)), 1)));
  const twice = ex.where(large, k.num(1), k.num(0));
  return k.setSign(log1pPlus(k, ex.where(large, a, y), twice), x);
}

export function acosh(x: Expr): Expr {
  const k = kitOf(x);
  const large = ex.gt(x, 2 ** (k.mantissa + 5));
  const t = ex.sub(x, 1);
  const y = ex.add(t, ex.sqrt(ex.mul(t, ex.add(t, 2))));
  const twice = ex.where(large, k.num(1), k.num(0));
  const outside = ex.lt(x, 1);
  return ex.where(outside, NaN, log1pPlus(k, ex.where(large, x, y), twice));
}

export function atanh(x: Expr): Expr {
  const k = kitOf(x);
  const a = ex.abs(x);
  const y = log1pPlus(k, ex.div(ex.add(a, a), ex.sub(1, a)), null);
  return k.setSign(ex.mul(y, 0.5), x);
}
