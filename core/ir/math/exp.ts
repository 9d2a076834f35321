// exp and its kin: exp, exp2, expm1, sinh, cosh, tanh, of core ops. Not here: pow (power.ts).
//
// e^x = 2^n e^r with n the integer nearest to x / ln 2, |r| <= ln 2 / 2 (Cody and Waite, "Software
// Manual for the Elementary Functions", 1980).
import * as ex from "../expr.ts";
import type { Expr } from "../expr.ts";
import { atLeast, atMost, type Both, type Kit, kitOf, poly } from "./kit.ts";

const LOG2E = 1.4426950408889634;

/** ln 2 in two parts; n times the first is exact for every n of a finite result. */
const LN2: Both<readonly [number, number]> = {
  float32: [0.693145751953125, 1.428606765330187e-6],
  float64: [0.6931471805598903, 5.497923018708371e-14],
};

/** (e^r - 1 - r) / r^2 on |r| <= ln 2 / 2; errors 2^-28, 2^-57.8. */
const EXP: Both<readonly number[]> = {
  float32: [0.4999999, 0.16666521, 0.041668963, 0.008368673, 0.001378249],
  float64: [
    0.5000000000000011,
    0.16666666666666424,
    0.041666666666527075,
    0.008333333333487054,
    0.0013888888944301233,
    0.00019841269522437917,
    2.480149249986322e-05,
    2.7557572347647615e-06,
    2.7630437146680074e-07,
    2.5004460543228544e-08,
  ],
};

/** (2^r - 1) / r on |r| <= 1/2; errors 2^-28, 2^-59.3. */
const EXP2: Both<readonly number[]> = {
  float32: [0.6931472, 0.24022645, 0.05550359, 0.009618834, 0.0013391302, 0.00015241285],
  float64: [
    0.6931471805599453,
    0.24022650695910067,
    0.05550410866482293,
    0.00961812910763081,
    0.0013333558146165767,
    0.00015403530389348797,
    1.5252734035994515e-05,
    1.3215489907991322e-06,
    1.0177985790824305e-07,
    7.053799333985445e-09,
    4.4655394592137505e-10,
    2.7187548830150706e-11,
  ],
};

/** x - less = n ln 2 + r: n as bits whose low part is the integer; `less` small. */
export function reduceExp(k: Kit, x: Expr, less?: Expr): { bits: Expr; r: Expr } {
  const [hi, lo] = k.pick(LN2);
  const { float: n, bits } = k.nearest(ex.mul(x, LOG2E));
  const r = ex.fma(n, -hi, x);
  if (less === undefined) return { bits, r: ex.fma(n, -lo, r) };
  return { bits, r: ex.sub(r, ex.fma(n, lo, less)) };
}

/** e^r - 1 of a reduced r. */
export function expm1Reduced(k: Kit, r: Expr): Expr {
  return ex.fma(ex.mul(r, r), poly(r, k.pick(EXP)), r);
}

/** 2^r - 1 for |r| <= 1/2. */
export function exp2m1Reduced(k: Kit, r: Expr): Expr {
  return ex.mul(r, poly(r, k.pick(EXP2)));
}

/**
 * y * 2^n, rounded once even if the result is subnormal: one part of the power is constant, so that
 * the other stays normal. `negative` says whether n < 0; left out, it is. Where `gone` holds the result
 * is 0, by an exact product: processors take many times longer over one that underflows.
 */
export function scale(k: Kit, y: Expr, bits: Expr, negative?: Expr, gone?: Expr): Expr {
  const down = k.mantissa + 5;
  const [low, high] = [k.whole(k.powerBits(down)), k.whole(k.powerBits(-1))];
  const shift = negative === undefined ? low : ex.where(negative, low, high);
  const back = negative === undefined
    ? k.num(2 ** -down)
    : ex.where(negative, k.num(2 ** -down), k.num(2));
  const factor = gone === undefined ? back : ex.where(gone, 0, back);
  return ex.mul(ex.mul(y, k.ofBits(ex.add(k.exponent(bits), shift))), factor);
}

export function exp(x: Expr): Expr {
  const k = kitOf(x);
  const y = atMost(atLeast(x, k.pick({ float32: -105, float64: -746 })), k.pick(LIMIT));
  const { bits, r } = reduceExp(k, y);
  const gone = ex.lt(x, k.pick({ float32: -104, float64: -746 }));
  return scale(k, ex.add(expm1Reduced(k, r), 1), bits, ex.lt(x, 0), gone);
}

/** e to this is infinite, and 2 to the n of it is within reach of `scale`. */
const LIMIT: Both<number> = { float32: 89, float64: 710 };

export function exp2(x: Expr): Expr {
  const k = kitOf(x);
  const y = atMost(
    atLeast(x, k.pick({ float32: -151, float64: -1076 })),
    k.pick({ float32: 128, float64: 1024 }),
  );
  const { float: n, bits } = k.nearest(y);
  const gone = ex.lt(x, k.pick({ float32: -150, float64: -1075 }));
  return scale(k, ex.add(exp2m1Reduced(k, ex.sub(y, n)), 1), bits, ex.lt(x, 0), gone);
}

export function expm1(x: Expr): Expr {
  const k = kitOf(x);
  // Below the lower limit the result is -1 to the last place.
  const y = atMost(atLeast(x, k.pick({ float32: -18, float64: -38 })), k.pick(LIMIT));
  const { bits, r } = reduceExp(k, y);
  // Half of the power for large x, since 2^n itself may overflow.
  const large = ex.gt(x, 1);
  const one = ex.where(large, k.num(0.5), k.num(1));
  const power = k.ofBits(ex.add(k.exponent(bits), k.bits(one)));
  const sum = ex.fma(expm1Reduced(k, r), power, ex.sub(power, one));
  // x itself keeps the sign of zero.
  return ex.where(ex.eq(x, 0), x, ex.mul(sum, ex.where(large, k.num(2), k.num(1))));
}

/** (sinh x - x) / x^3 by powers of x^2, for |x| < 1; errors 2^-31.4, 2^-61.5. */
const SINH: Both<readonly number[]> = {
  float32: [0.16666667, 0.008333315, 0.00019841666, 2.789984e-06],
  float64: [
    0.16666666666666669,
    0.00833333333333297,
    0.0001984126984153126,
    2.7557319130344088e-06,
    2.5052126863862455e-08,
    1.6056999787590893e-10,
    7.765922744742788e-13,
  ],
};

/** (tanh x - x) / x^3 by powers of x^2, for |x| < 1/2 and |x| < 0.35; errors 2^-26, 2^-56.5. */
const TANH: Both<readonly number[]> = {
  float32: [-0.33333144, 0.13325873, -0.05304514, 0.017240822],
  float64: [
    -0.33333333333332515,
    0.13333333333116523,
    -0.0539682537715209,
    0.021869479887527396,
    -0.008863024634584918,
    0.0035891178265579217,
    -0.0014306905087853815,
    0.00047463204402380777,
  ],
};

/** x + x^3 (coefficients[0] + …) by powers of x^2: x itself where that is tiny. */
export function oddPoly(x: Expr, coefficients: readonly number[]): Expr {
  const z = ex.mul(x, x);
  return ex.fma(ex.mul(x, z), poly(z, coefficients), x);
}

/** A quarter of e^a, which is finite where sinh and cosh are, and of e^-a; a >= 0. */
function quarters(k: Kit, a: Expr): { up: Expr; down: Expr } {
  const { bits, r } = reduceExp(k, atMost(a, k.pick({ float32: 89.5, float64: 710.5 })));
  const power = k.ofBits(ex.add(k.exponent(bits), k.whole(k.powerBits(-2))));
  const up = ex.fma(expm1Reduced(k, r), power, power);
  return { up, down: ex.div(k.num(1 / 16), up) };
}

export function sinh(x: Expr): Expr {
  const k = kitOf(x);
  const a = ex.abs(x);
  const { up, down } = quarters(k, a);
  const large = k.setSign(ex.mul(ex.sub(up, down), 2), x);
  return ex.where(ex.lt(a, 1), oddPoly(x, k.pick(SINH)), large);
}

export function cosh(x: Expr): Expr {
  const k = kitOf(x);
  const { up, down } = quarters(k, ex.abs(x));
  return ex.mul(ex.add(up, down), 2);
}

export function tanh(x: Expr): Expr {
  const k = kitOf(x);
  const a = ex.abs(x);
  // (e^2a - 1) / (e^2a + 1), which is 1 to the last place from the limit on.
  const b = atMost(a, k.pick({ float32: 9.5, float64: 20 }));
  const { bits, r } = reduceExp(k, ex.add(b, b));
  const power = k.ofBits(ex.add(k.exponent(bits), k.whole(k.powerBits(0))));
  const e = ex.fma(expm1Reduced(k, r), power, ex.sub(power, 1));
  const large = ex.div(e, ex.add(e, 2));
  const small = ex.lt(a, k.pick({ float32: 0.5, float64: 0.35 }));
  // The sign last: the polynomial, whose first coefficient is negative, would make -0 into 0.
  return k.setSign(ex.where(small, oddPoly(a, k.pick(TANH)), large), x);
}
