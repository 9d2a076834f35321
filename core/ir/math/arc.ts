// asin, acos, atan, atan2 of core ops. Not here: the functions they invert (trig.ts).
import * as ex from "../expr.ts";
import type { Expr } from "../expr.ts";
import { type Both, type Kit, kitOf, poly } from "./kit.ts";

/** (asin s - s) / s^3 by powers of s^2, s <= 1/2; errors 2^-27.6, 2^-55.9. */
const ASIN: Both<readonly number[]> = {
  float32: [0.16666752, 0.0749531, 0.04546902, 0.024185503, 0.042157013],
  float64: [
    0.16666666666665408,
    0.07500000000337102,
    0.04464285682827013,
    0.030381959138981125,
    0.022371758008737832,
    0.017359705316372515,
    0.013885230602036811,
    0.012169240344549827,
    0.0065278627078135835,
    0.019528546896973968,
    -0.0162246601671711,
    0.03191252891867049,
  ],
};

/** (atan t - t) / t^3 by powers of t^2, t <= 1; errors 2^-25.8, 2^-57.6. */
const ATAN: Both<readonly number[]> = {
  float32: [
    -0.33333153,
    0.19993769,
    -0.14211023,
    0.1066588,
    -0.07551952,
    0.04320876,
    -0.016366003,
    0.0029202034,
  ],
  float64: [
    -0.3333333333333307,
    0.19999999999951756,
    -0.1428571428258855,
    0.11111111007354929,
    -0.09090907008003163,
    0.07692279890999246,
    -0.06666404438114072,
    0.05880529884546224,
    -0.05253527080577697,
    0.04722349270737961,
    -0.042192457462246015,
    0.03664320091516068,
    -0.02990580836576498,
    0.021987148491740677,
    -0.013902640010984664,
    0.007197925307247688,
    -0.0028856276350035684,
    0.0008315651340589436,
    -0.00015221217580280695,
    1.3230089306712083e-05,
  ],
};

/** pi and what its nearest float lacks. */
const PI: Both<readonly [number, number]> = {
  float32: [3.1415927410125732, -8.74227765734758e-08],
  float64: [3.141592653589793, 1.2246467991473532e-16],
};

/** asin of |x| <= 1/2 is s + rest; of a larger one pi/2 - 2 (s + rest). */
function arcParts(k: Kit, a: Expr): { large: Expr; s: Expr; rest: Expr } {
  const large = ex.gt(a, 0.5);
  const z = ex.where(large, ex.mul(ex.sub(1, a), 0.5), ex.mul(a, a));
  const s = ex.where(large, ex.sqrt(z), a);
  return { large, s, rest: ex.mul(ex.mul(s, z), poly(z, k.pick(ASIN))) };
}

export function asin(x: Expr): Expr {
  const k = kitOf(x);
  const { large, s, rest } = arcParts(k, ex.abs(x));
  const [hi, lo] = k.pick(PI);
  const tail = ex.sub(ex.add(rest, rest), lo / 2);
  const y = ex.where(large, ex.sub(hi / 2, ex.add(ex.add(s, s), tail)), ex.add(s, rest));
  return k.setSign(y, x);
}

export function acos(x: Expr): Expr {
  const k = kitOf(x);
  const { large, s, rest } = arcParts(k, ex.abs(x));
  const [hi, lo] = k.pick(PI);
  const negative = ex.lt(x, 0);
  // pi/2 - asin x near zero; else 2 asin s, from pi if x is negative.
  const by = (small: number, big: number): Expr => ex.where(large, k.num(big), k.num(small));
  const factor = ex.where(negative, by(1, -2), by(-1, 2));
  const base = (v: number): Expr => ex.where(negative, by(v / 2, v), by(v / 2, 0));
  const tail = ex.fma(rest, factor, base(lo));
  return ex.add(base(hi), ex.fma(s, factor, tail));
}

/** atan of 0 <= t <= 1. */
function atanReduced(k: Kit, t: Expr): Expr {
  const z = ex.mul(t, t);
  return ex.fma(ex.mul(t, z), poly(z, k.pick(ATAN)), t);
}

export function atan(x: Expr): Expr {
  const k = kitOf(x);
  const a = ex.abs(x);
  const large = ex.gt(a, 1);
  const [hi, lo] = k.pick(PI);
  const y = atanReduced(k, ex.where(large, ex.div(k.num(1), a), a));
  return k.setSign(ex.where(large, ex.sub(hi / 2, ex.sub(y, lo / 2)), y), x);
}

export function atan2(y: Expr, x: Expr): Expr {
  const k = kitOf(y);
  const [a, b] = [ex.abs(y), ex.abs(x)];
  const steep = ex.gt(a, b);
  const [lesser, greater] = [ex.where(steep, b, a), ex.where(steep, a, b)];
  // Equal ones too: infinity / infinity is 1 here, and 0 / 0 is 0.
  const same = ex.where(ex.eq(greater, 0), k.num(0), k.num(1));
  const t = ex.where(ex.eq(lesser, greater), same, ex.div(lesser, greater));
  const angle = atanReduced(k, t);
  const left = ex.lt(k.bits(x), 0);
  const [hi, lo] = k.pick(PI);
  const base = (v: number): Expr =>
    ex.where(steep, k.num(v / 2), ex.where(left, k.num(v), k.num(0)));
  const turned = ex.where(ex.xor(steep, left), ex.neg(angle), angle);
  return k.setSign(ex.add(base(hi), ex.add(turned, base(lo))), y);
}
