// pow of core ops. Not here: exp2 and log2 by themselves, which need less precision.
//
// x^y = 2^(y log2 |x|) with log2 |x| in two parts, to about ten bits more than the width has: so
// much is lost when it is multiplied by y. 2 artanh(s) = 2/3 s (3 + s^2 + rest) as in fdlibm (Sun
// Microsystems 1993), products of two `high` parts being exact.
import * as ex from "../expr.ts";
import type { Expr } from "../expr.ts";
import { exp2m1Reduced, scale } from "./exp.ts";
import { atLeast, atMost, type Both, type Kit, kitOf, poly } from "./kit.ts";
import { reduceLog } from "./log.ts";

/** (3 artanh(s) / s - 3 - s^2) / s^4 by powers of s^2, s <= 3 - sqrt(8); errors
 * 2^-21, 2^-54.6. */
const REST: Both<readonly number[]> = {
  float32: [0.6000002, 0.42843664, 0.34564015],
  float64: [
    0.6,
    0.42857142857146524,
    0.33333333331574,
    0.27272727650514794,
    0.23076880184952267,
    0.20002752811254218,
    0.1754698281957732,
    0.1769692943776233,
  ],
};

/** 2 / (3 ln 2): leading half, rest, and all. */
const SCALE: Both<readonly [number, number]> = {
  float32: [0.961669921875, 0.00012677205],
  float64: [0.9617966860532761, 7.872699542894897e-09],
};
const WHOLE = 0.9617966939259756;

/** A sum of two floats, the first of which has half a mantissa. */
interface Pair {
  readonly head: Expr;
  readonly tail: Expr;
}

/** log2 a for a positive, finite a. */
function log2Pair(k: Kit, a: Expr): Pair {
  const { n, f } = reduceLog(k, a);
  // s = f / (2 + f)
  const d = ex.add(f, 2);
  const inverse = ex.div(k.num(1), d);
  const s = ex.mul(f, inverse);
  const [sh, dh] = [k.high(s), k.high(d)];
  const dl = ex.sub(f, ex.sub(dh, 2));
  const sl = ex.mul(inverse, ex.sub(ex.sub(f, ex.mul(sh, dh)), ex.mul(sh, dl)));
  // t = 3 + s^2 + rest
  const z = ex.mul(s, s);
  const square = ex.mul(sh, sh);
  const rest = ex.fma(ex.mul(z, z), poly(z, k.pick(REST)), ex.mul(sl, ex.add(sh, s)));
  const th = k.high(ex.add(ex.add(square, 3), rest));
  const tl = ex.sub(rest, ex.sub(ex.sub(th, 3), square));
  // p = s t
  const u = ex.mul(sh, th);
  const v = ex.fma(sl, th, ex.mul(tl, s));
  const ph = k.high(ex.add(u, v));
  const pl = ex.sub(v, ex.sub(ph, u));
  // n + p / (3/2 ln 2)
  const [c0, c1] = k.pick(SCALE);
  const zh = ex.mul(ph, c0);
  const zl = ex.fma(ph, c1, ex.mul(pl, WHOLE));
  const head = k.high(ex.add(ex.add(zh, zl), n));
  return { head, tail: ex.sub(zl, ex.sub(ex.sub(head, n), zh)) };
}

/** 2^(y log2 a) for a positive, finite a and any y. */
function powPositive(k: Kit, a: Expr, y: Expr): Expr {
  const log = log2Pair(k, a);
  // Beyond this every a but 1 gives 0 or infinity.
  const most = k.pick({ float32: 2 ** 34, float64: 2 ** 65 });
  const m = atMost(atLeast(y, -most), most);
  const mh = k.high(m);
  const head = ex.mul(mh, log.head);
  const tail = ex.fma(ex.sub(m, mh), log.head, ex.mul(m, log.tail));
  const e = ex.add(head, tail);
  const [low, high] = k.pick({ float32: [-151, 128.25], float64: [-1076, 1024.25] });
  const over = ex.gt(e, high);
  const under = ex.lt(e, low);
  const main = ex.where(over, high, ex.where(under, low, head));
  const minor = ex.where(ex.or(over, under), 0, tail);
  const { float: n, bits } = k.nearest(ex.add(main, minor));
  const r = ex.add(ex.sub(main, n), minor);
  return scale(k, ex.add(exp2m1Reduced(k, r), 1), bits, ex.lt(n, 0));
}

/** x^y with the special cases of C99, annex F.9.4.4. */
export function pow(x: Expr, y: Expr): Expr {
  const k = kitOf(x);
  const a = ex.abs(x);
  const zero = ex.eq(a, 0);
  const edge = ex.or(zero, ex.eq(a, Infinity));
  const gone = ex.xor(zero, ex.lt(y, 0));
  const size = ex.where(edge, ex.where(gone, k.num(0), k.num(Infinity)), powPositive(k, a, y));
  // An odd y keeps the sign of x; a y that is no integer has no power of a negative x.
  const whole = ex.eq(ex.floor(y), y);
  const half = ex.mul(y, 0.5);
  const odd = ex.and(whole, ex.ne(ex.floor(half), half));
  const sign = ex.where(odd, k.whole(1n << BigInt(k.width - 1)), k.whole(0));
  const signed = k.ofBits(ex.xor(k.bits(size), ex.and(k.bits(x), sign)));
  const negative = ex.and(ex.lt(x, 0), ex.gt(x, -Infinity));
  const isNaN = (v: Expr): Expr => ex.gt(k.bits(v), k.bits(k.num(Infinity)));
  const none = ex.or(
    ex.and(negative, ex.not(whole)),
    ex.or(isNaN(a), isNaN(ex.abs(y))),
  );
  const one = ex.or(ex.eq(y, 0), ex.eq(x, 1));
  return ex.where(one, 1, ex.where(none, NaN, signed));
}
