// sin, cos, tan of core ops, right over the whole finite range. Not here: their inverses
// (arc.ts).
//
// Up to a limit, |x| = n pi/2 + r by subtracting n times pi/2 in four parts (Cody and Waite 1980);
// beyond, by the bits of 1 / (2 pi) that matter (Payne and Hanek, "Radian reduction for
// trigonometric functions", SIGNUM 18, 1983). Both are computed: a renderer that can skip the
// second where no lane needs it saves two thirds of the work.
import * as ex from "../expr.ts";
import type { Expr } from "../expr.ts";
import { type Both, type Kit, kitOf, poly } from "./kit.ts";

/** pi/2: products of n with all parts but the last are exact. */
const HALF_PI: Both<readonly [number, number, number, number]> = {
  float32: [1.5703125, 0.0004837512969970703, 7.549533620476723e-08, 2.5633440682570896e-12],
  float64: [
    1.5707963267341256,
    6.077094383272197e-11,
    6.12323399538461e-17,
    3.5215598651832e-27,
  ],
};

/** |x| from 2^this on is reduced by the bits of 1 / (2 pi). */
const LARGE: Both<number> = { float32: 13, float64: 20 };

/**
 * The bits of 1 / (2 pi) in words of the width, from the first that counts for an x of 2^LARGE on
 * (all before give whole turns) to the last that counts for the largest x.
 */
const TURNS: Both<readonly bigint[]> = {
  float32: [
    0x000a2f98n,
    0x36e4e441n,
    0x529fc275n,
    0x7d1f534dn,
    0xdc0db629n,
    0x5993c439n,
    0x041fe516n,
  ],
  float64: [
    0x0000000028be60dbn,
    0x9391054a7f09d5f4n,
    0x7d4d377036d8a566n,
    0x4f10e4107f9458ean,
    0xf7aef1586dc91b8en,
    0x909374b801924bban,
    0x827464873f877ac7n,
    0x2c4a69cfba208d7dn,
    0x4baed1213a671c09n,
    0xad17df904e64758en,
    0x60d4ce7d272117e2n,
    0xef7e4a0ec7fe25ffn,
    0xf7816603fbcbc462n,
    0xd6829b47db4d9fb3n,
    0xc9f2c26dd3d18fd9n,
    0xa797fa8b5d49eeb1n,
    0xfaf97c5ecf41ce7dn,
    0xe294a4ba9afed7ecn,
    0x47e357421580cc11n,
  ],
};

/** The reduced argument: |x| = n pi/2 + r + low, n as the low bits of an integer. */
interface Reduced {
  readonly n: Expr;
  readonly r: Expr;
  readonly low: Expr;
}

function reduceSmall(k: Kit, a: Expr): Reduced {
  const [p0, p1, p2, p3] = k.pick(HALF_PI);
  const { float: n, bits } = k.nearest(ex.mul(a, 2 / Math.PI));
  const b = ex.fma(n, -p1, ex.fma(n, -p0, a));
  const w = ex.mul(n, p2);
  const c = ex.sub(b, w);
  const lost = ex.sub(ex.sub(b, c), w);
  const rest = ex.fma(n, -p3, lost);
  const r = ex.add(c, rest);
  return { n: bits, r, low: ex.add(ex.sub(c, r), rest) };
}

/** Four words of TURNS from the one on that the exponent of x asks for, by halving. */
function selectWords(k: Kit, exponent: Expr): Expr[] {
  const words = k.pick(TURNS);
  let list = words.map((w) => k.whole(w));
  const shift = k.mantissa + (k.width === 32 ? 5 : 6);
  for (let step = (words.length - 3) >> 1; step > 0; step >>= 1) {
    const bit = ex.and(exponent, k.whole(BigInt(step) << BigInt(shift)));
    const on = ex.ne(bit, 0);
    list = list.slice(0, step + 3).map((w, i) =>
      i + step in list ? ex.where(on, list[i + step], w) : w
    );
  }
  return list;
}

/** 2^n for n in the exponent field of `field`, 0 <= n < width; as an integer. */
function integerPower(k: Kit, field: Expr): Expr {
  if (k.float === "float64") return ex.shl(k.whole(1), ex.shru(field, k.mantissa));
  // -2^31 is an int32, 2^31 is not; a shift by the lane is what SIMD lacks.
  return ex.neg(ex.cast(k.ofBits(ex.add(field, k.bits(k.num(-1)))), "int32"));
}

function reduceLarge(k: Kit, a: Expr): Reduced {
  const bits = k.bits(a);
  const fraction = BigInt(k.mantissa);
  const exponent = ex.sub(bits, k.whole(k.powerBits(k.pick(LARGE))));
  const mantissa = ex.or(ex.and(bits, k.whole((1n << fraction) - 1n)), k.whole(1n << fraction));
  // The words shifted left by the exponent within a word.
  const power = integerPower(k, ex.and(exponent, k.whole(BigInt(k.width - 1) << fraction)));
  const w = selectWords(k, exponent);
  const [w0, w1, w2] = [0, 1, 2].map((i) => ex.or(ex.mul(w[i], power), ex.mulhiu(w[i + 1], power)));
  // mantissa * words, as a fraction of a turn: high word, and the next word but for its last bit.
  const next = ex.add(ex.shru(ex.mul(mantissa, w1), 1), ex.shru(ex.mulhiu(mantissa, w2), 1));
  const carry = ex.shru(next, k.width - 1);
  const high = ex.add(ex.add(ex.mul(mantissa, w0), ex.mulhiu(mantissa, w1)), carry);
  const quarter = k.whole(1n << BigInt(k.width - 3));
  const n = ex.shru(ex.add(high, quarter), k.width - 2);
  const rest = ex.sub(high, ex.shl(n, k.width - 2));
  // The rest of the turn as a sum of floats: `head` is exact, in units of 2^(cut - width).
  const cut = k.width - 2 - k.mantissa - (k.width === 32 ? 1 : -1);
  const rounded = ex.shr(ex.add(rest, k.whole(1n << BigInt(cut - 1))), cut);
  const head = k.toFloat(rounded);
  const middle = k.toFloat(ex.sub(rest, ex.shl(rounded, cut)));
  const last = k.toFloat(ex.shru(ex.shl(next, 1), k.width - k.mantissa + 1));
  const tail = ex.fma(last, 2 ** (1 - k.mantissa - cut), ex.mul(middle, 2 ** -cut));
  const turn = ex.add(head, tail);
  const lost = ex.add(ex.sub(head, turn), tail);
  // In radians: the product of the leading halves is exact.
  const unit = 2 ** (cut - k.width);
  const [c0, c1] = k.pick(TWO_PI);
  const lead = k.high(turn);
  const main = ex.mul(lead, c0 * unit);
  const follow = ex.fma(ex.sub(turn, lead), 2 * Math.PI * unit, ex.mul(lead, c1 * unit));
  const minor = ex.fma(lost, 2 * Math.PI * unit, follow);
  const r = ex.add(main, minor);
  return { n, r, low: ex.add(ex.sub(main, r), minor) };
}

/** 2 pi, its leading half and the rest. */
const TWO_PI: Both<readonly [number, number]> = {
  float32: [6.28125, 0.0019353072],
  float64: [6.283185243606567, 6.357301909411278e-08],
};

function reduceTrig(k: Kit, a: Expr): Reduced {
  // Infinity and NaN stay with the first way, which gives NaN.
  const large = ex.and(ex.ge(a, 2 ** k.pick(LARGE)), ex.lt(a, Infinity));
  const small = reduceSmall(k, a);
  const other = reduceLarge(k, a);
  return {
    n: ex.where(large, other.n, small.n),
    r: ex.where(large, other.r, small.r),
    low: ex.where(large, other.low, small.low),
  };
}

/** (sin r - r) / r^3 by powers of r^2, |r| <= pi/4; errors 2^-27.9, 2^-57.9. */
const SIN: Both<readonly number[]> = {
  float32: [-0.16666655, 0.00833219, -0.00019518455],
  float64: [
    -0.1666666666666663,
    0.008333333333321924,
    -0.0001984126982946498,
    2.7557313585037963e-06,
    -2.505074281606662e-08,
    1.58959751680774e-10,
  ],
};

/** (cos r - 1 + r^2/2) / r^4 by powers of r^2, |r| <= pi/4; errors 2^-33, 2^-63.9. */
const COS: Both<readonly number[]> = {
  float32: [0.041666646, -0.0013887311, 2.4432567e-05],
  float64: [
    0.041666666666666595,
    -0.0013888888888873348,
    2.48015872890081e-05,
    -2.7557314219061697e-07,
    2.0875705690062723e-09,
    -1.1358764907665561e-11,
  ],
};

/** (tan r - r) / r^3 by powers of r^2, |r| <= pi/4; errors 2^-29.5, 2^-60. */
const TAN: Both<readonly number[]> = {
  float32: [
    0.3333335,
    0.13332677,
    0.05405867,
    0.02128766,
    0.010823366,
    0.000103685146,
    0.0043699164,
  ],
  float64: [
    0.33333333333333376,
    0.13333333333326097,
    0.05396825397252421,
    0.02186948840917547,
    0.008863237768245531,
    0.0035921024527775197,
    0.0014560345722839745,
    0.0005889186098225906,
    0.00024356068517630803,
    8.404137716148559e-05,
    6.634998316881048e-05,
    -2.4537531924675882e-05,
    4.772510139871545e-05,
    -2.382447126793235e-05,
    9.699322210340526e-06,
  ],
};

/** sin or cos of the reduced argument as n has it, times the sign of `sign`. */
function sinOf(k: Kit, n: Expr, { r, low }: Reduced, sign: Expr | null): Expr {
  const z = ex.mul(r, r);
  const sin = ex.add(r, ex.fma(ex.mul(r, z), poly(z, k.pick(SIN)), low));
  const half = ex.mul(z, 0.5);
  const one = ex.sub(1, half);
  // 1 - z/2 rounds; what is lost joins the small terms.
  const lost = ex.sub(ex.sub(1, one), half);
  const small = ex.fma(ex.mul(z, z), poly(z, k.pick(COS)), ex.sub(lost, ex.mul(r, low)));
  const cos = ex.add(one, small);
  const y = ex.where(odd(n), cos, sin);
  const turned = ex.shl(n, k.width - 2);
  const flip = ex.and(sign === null ? turned : ex.xor(turned, k.bits(sign)), signBit(k));
  return k.ofBits(ex.xor(k.bits(y), flip));
}

const odd = (n: Expr): Expr => ex.ne(ex.and(n, 1), 0);
const signBit = (k: Kit): Expr => k.whole(1n << BigInt(k.width - 1));

export function sin(x: Expr): Expr {
  const k = kitOf(x);
  const reduced = reduceTrig(k, ex.abs(x));
  return sinOf(k, reduced.n, reduced, x);
}

export function cos(x: Expr): Expr {
  const k = kitOf(x);
  const reduced = reduceTrig(k, ex.abs(x));
  return sinOf(k, ex.add(reduced.n, 1), reduced, null);
}

export function tan(x: Expr): Expr {
  const k = kitOf(x);
  const { n, r, low } = reduceTrig(k, ex.abs(x));
  const z = ex.mul(r, r);
  const rest = ex.fma(ex.mul(r, z), poly(z, k.pick(TAN)), ex.fma(z, low, low));
  const t = ex.add(r, rest);
  const y = ex.where(odd(n), ex.div(k.num(-1), t), t);
  return k.ofBits(ex.xor(k.bits(y), ex.and(k.bits(x), signBit(k))));
}
