// erf, erfc, erfinv of core ops, from approximations of their smooth parts. Not here: how the
// interpreter computes them, which is by series (../interp_special.ts).
import * as ex from "../expr.ts";
import type { Expr } from "../expr.ts";
import { expm1Reduced, reduceExp, scale } from "./exp.ts";
import { atMost, type Both, kitOf, poly } from "./kit.ts";
import { logNormal } from "./log.ts";

/**
 * (log(erfc a) + a) / -a, by powers of a, such that the relative error of erf stays below 2^-27.7
 * (a <= 3.95) and 2^-55 (a <= 5.95).
 */
const LOG_ERFC: Both<readonly number[]> = {
  float32: [
    0.12837917,
    0.63661957,
    0.10277624,
    -0.019147228,
    -0.0001709081,
    0.0016774465,
    -0.0006385133,
    0.00011923080,
    -9.434277e-06,
  ],
  float64: [
    0.12837916709551256,
    0.6366197723675898,
    0.10277260330135801,
    -0.019128446993830383,
    -0.00020919484667982733,
    0.0016962076244158384,
    -0.0005901322350204936,
    2.59038982768714e-05,
    6.442184950101537e-05,
    -2.957807023440772e-05,
    3.172921953964724e-06,
    3.1295068856367474e-06,
    -2.034274700800074e-06,
    5.686720126349724e-07,
    -1.0653036838070703e-08,
    -6.618754635098176e-08,
    3.4740327504799496e-08,
    -1.0815362637239316e-08,
    2.369344152252033e-09,
    -3.774820619151956e-10,
    4.318325055642116e-11,
    -3.377742977011283e-12,
    1.6215577182450222e-13,
    -3.607689020315299e-15,
  ],
};

export function erf(x: Expr): Expr {
  const k = kitOf(x);
  const a = atMost(ex.abs(x), k.pick({ float32: 3.95, float64: 5.95 }));
  // 1 - e^-q with q = -log(erfc a), which loses nothing where erf is small.
  const q = ex.fma(a, poly(a, k.pick(LOG_ERFC)), a);
  const { bits, r } = reduceExp(k, ex.neg(q));
  const power = k.ofBits(ex.add(k.exponent(bits), k.whole(k.powerBits(0))));
  const y = ex.sub(ex.sub(1, power), ex.mul(expm1Reduced(k, r), power));
  return k.setSign(y, x);
}

/** (erf x - x) / x by powers of x^2, |x| < 0.75; errors 2^-29.2, 2^-56.3. */
const ERF: Both<readonly number[]> = {
  float32: [
    0.12837917,
    -0.3761262,
    0.11283384,
    -0.026834825,
    0.005114568,
    -0.0006750318,
  ],
  float64: [
    0.1283791670955126,
    -0.3761263890318394,
    0.11283791670963765,
    -0.026866170646947882,
    0.005223977646689573,
    -0.0008548328542222554,
    0.00012055402666389438,
    -1.492774264465635e-05,
    1.65029163050646e-06,
    -1.6861062394351742e-07,
    1.8149471351350055e-08,
    -2.100238999956485e-09,
  ],
};

/**
 * e^(a^2) erfc(a) (a + 3/8) by powers of 1 / (a + shift) - center, for a >= 0.75; errors 2^-27.6,
 * 2^-56.8.
 */
const ERFCX: Both<readonly number[]> = {
  float32: [
    0.60467345,
    0.10172733,
    -1.1078056,
    -4.546332,
    -7.605335,
    -0.16696845,
    18.942207,
    7.2989693,
    -50.15522,
  ],
  float64: [
    0.5960425034218373,
    0.3179522211281594,
    -0.5185023340561086,
    -18.504790608498165,
    -181.4639354412017,
    -1260.898302391637,
    -6967.058815523549,
    -31326.19316062892,
    -112703.19093161366,
    -303133.69813164405,
    -476798.6761732118,
    317681.8574849461,
    4232845.033600548,
    9285512.172209604,
    -9909136.332337294,
    -97040358.33155592,
    -99427755.45716998,
    685540084.9548568,
    1660120670.971567,
    -3660528642.024664,
    -10451530496.660534,
  ],
};
const SHIFT: Both<number> = { float32: 2, float64: 4 };
const CENTER: Both<number> = { float32: 210 / 1024, float64: 234 / 2048 };

export function erfc(x: Expr): Expr {
  const k = kitOf(x);
  const z = ex.mul(x, x);
  // 1 - x is exact where it matters, and erf x is near x here.
  const near = ex.sub(ex.sub(1, x), ex.mul(x, poly(z, k.pick(ERF))));
  const a = atMost(ex.abs(x), k.pick({ float32: 10.2, float64: 27.3 }));
  // a^2 = square + rest; e^-(a^2) = 2^n (1 + p).
  const head = k.high(a);
  const square = ex.mul(head, head);
  const rest = ex.mul(ex.sub(a, head), ex.add(a, head));
  const { bits, r } = reduceExp(k, ex.neg(square), rest);
  const p = expm1Reduced(k, r);
  const t = ex.sub(ex.div(k.num(1), ex.add(a, k.pick(SHIFT))), k.pick(CENTER));
  const [first, ...others] = k.pick(ERFCX);
  const v = ex.mul(t, poly(t, others));
  // (first + v) (1 + p) / (a + 3/8), what every rounding of a whole term loses caught by the next.
  const lead = ex.add(v, first);
  const w = ex.fma(lead, p, ex.add(ex.sub(first, lead), v));
  const top = ex.add(lead, w);
  const inverse = ex.div(k.num(1), ex.add(a, 0.375));
  const q = ex.mul(top, inverse);
  const [qh, dh] = [k.high(q), k.high(ex.add(a, 0.375))];
  const left = ex.sub(ex.sub(top, ex.mul(qh, dh)), ex.mul(ex.sub(q, qh), dh));
  const less = ex.mul(q, ex.sub(a, ex.sub(dh, 0.375)));
  const missing = ex.add(ex.sub(left, less), ex.add(ex.sub(lead, top), w));
  const right = ex.fma(missing, inverse, q);
  const tail = scale(k, right, bits);
  const far = ex.where(ex.lt(x, 0), ex.sub(2, tail), tail);
  return ex.where(ex.lt(ex.abs(x), 0.75), near, far);
}

/**
 * erfinv(x) / x by powers of w - center, w = -log(1 - x^2) <= cut, and of sqrt(w) - center above;
 * errors 2^-27, 2^-56.
 */
const INVERSE: Both<{
  readonly cut: number;
  readonly centers: readonly [number, number];
  readonly near: readonly number[];
  readonly far: readonly number[];
}> = {
  float32: {
    cut: 5,
    centers: [1.515625, 2.921875],
    near: [
      1.255976,
      0.25038838,
      0.00078196224,
      -0.0020810808,
      0.00017943187,
      2.2705433e-05,
      -5.343137e-06,
      -2.5902622e-08,
      1.0227692e-07,
      -8.927653e-09,
    ],
    far: [
      2.7547824,
      1.0000478,
      0.01146252,
      -0.009648802,
      0.0072195185,
      -0.0042880294,
      0.0014841133,
      0.0001478517,
      -0.000414936,
      0.00013275899,
    ],
  },
  float64: {
    cut: 7.5,
    centers: [2.296875, 4.21875],
    near: [
      1.4511490615770957,
      0.24817490103633236,
      -0.0033595910880381704,
      -0.001431496733623051,
      0.0002210715336319767,
      -4.259820021259151e-07,
      -4.073857518519772e-06,
      4.399535647170242e-07,
      3.476506633103226e-08,
      -1.2374642360801224e-08,
      5.541627332045816e-10,
      1.9654630067959085e-10,
      -3.122048099446065e-11,
      -9.190922579251457e-13,
      7.414081416303754e-13,
      -5.5526899148195196e-14,
      -9.903560994038368e-15,
      2.1700556921738167e-15,
      -1.7595763569218787e-17,
      -4.292204474359131e-17,
      5.166022405589463e-18,
      1.9972985937572817e-19,
      -1.1676075335412874e-19,
      1.3810663806543905e-20,
      -7.729148778017377e-22,
      1.7300600230484073e-23,
      3.5649509921853007e-26,
    ],
    far: [
      4.060662317307477,
      1.009931923136778,
      0.0007710032409738051,
      -0.000635058981711127,
      0.00022257556624061958,
      -6.876047808659447e-05,
      2.4378196609649347e-05,
      -1.1767996683322086e-05,
      6.778524243067562e-06,
      -3.7050829117869832e-06,
      1.6730478926406955e-06,
      -5.479567854069793e-07,
      8.003008958391541e-08,
      4.025110258175174e-08,
      -3.681625531876649e-08,
      1.4914125270162304e-08,
      -2.8712583891623154e-09,
      -4.711309027169244e-10,
      5.661865508291231e-10,
      -2.108515564667065e-10,
      3.7224474538196994e-11,
      6.098173744070377e-12,
      -7.046769599829724e-12,
      2.0215217014958647e-12,
      4.228033461187847e-15,
      -1.222593242613866e-13,
      1.9045176654243637e-14,
    ],
  },
};

export function erfinv(x: Expr): Expr {
  const k = kitOf(x);
  const a = ex.abs(x);
  const { cut, centers, near, far } = k.pick(INVERSE);
  const w = ex.neg(logNormal(k, ex.mul(ex.sub(1, a), ex.add(1, a))));
  const large = ex.gt(w, cut);
  const t = ex.where(large, ex.sub(ex.sqrt(w), centers[1]), ex.sub(w, centers[0]));
  const c = near.map((v, i) => ex.where(large, k.num(far[i]), k.num(v)));
  let sum = c[c.length - 1];
  for (let i = c.length - 2; i >= 0; i--) sum = ex.fma(t, sum, c[i]);
  const outside = ex.where(ex.eq(a, 1), ex.mul(x, Infinity), NaN);
  return ex.where(ex.lt(a, 1), ex.mul(x, sum), outside);
}
