// Functions of float64 numbers that Math lacks or defines otherwise than IEEE 754, for the
// interpreter: written to be right to the last place by carrying twice the precision
// (double-double, Dekker 1971), not to be fast. Not here: the expressions that backends run
// (math/), which share no code with this, so that each can test the other.

/** An unevaluated sum hi + lo with |lo| at most half a unit of hi. */
type Pair = readonly [hi: number, lo: number];

function twoSum(a: number, b: number): Pair {
  const s = a + b;
  const t = s - a;
  return [s, (a - (s - t)) + (b - t)];
}

function twoProd(a: number, b: number): Pair {
  const p = a * b;
  const [ah, al] = split(a);
  const [bh, bl] = split(b);
  return [p, ((ah * bh - p) + ah * bl + al * bh) + al * bl];
}

function split(a: number): Pair {
  const t = 134217729 * a;
  const hi = t - (t - a);
  return [hi, a - hi];
}

function addPair(a: Pair, b: Pair): Pair {
  const [s, e] = twoSum(a[0], b[0]);
  return twoSum(s, e + a[1] + b[1]);
}

function mulPair(a: Pair, b: Pair): Pair {
  const [p, e] = twoProd(a[0], b[0]);
  return twoSum(p, e + (a[0] * b[1] + a[1] * b[0]));
}

function divPair(a: Pair, b: Pair): Pair {
  const q = a[0] / b[0];
  const r = addPair(a, mulPair([-q, 0], b));
  return twoSum(q, (r[0] + r[1]) / b[0]);
}

const LN2: Pair = [0.6931471805599453, 2.3190468138462996e-17];
const INV_SQRT_PI: Pair = [0.5641895835477563, 7.66772980658294e-18];

/** exp(-x^2) as a pair to be multiplied by 2^-k. */
function expMinusSquare(x: number): { pair: Pair; k: number } {
  const s = twoProd(x, x);
  const k = Math.round(s[0] / LN2[0]);
  const r = addPair([-s[0], -s[1]], mulPair([k, 0], LN2));
  let sum: Pair = [1, 0];
  for (let n = 28; n > 0; n--) sum = addPair([1, 0], divPair(mulPair(sum, r), [n, 0]));
  return { pair: sum, k };
}

/** 2 / sqrt(pi) e^(-x^2) sum 2^n x^(2n+1) / (1 3 … (2n+1)); Abramowitz & Stegun 7.1.6. */
function erfSeries(x: number): Pair {
  const twice = mulPair([2, 0], twoProd(x, x));
  let term: Pair = [x, 0];
  let sum = term;
  for (let n = 1; Math.abs(term[0]) > 1e-34 * Math.abs(sum[0]); n++) {
    term = divPair(mulPair(term, twice), [2 * n + 1, 0]);
    sum = addPair(sum, term);
  }
  const { pair, k } = expMinusSquare(x);
  const p = mulPair(mulPair(sum, pair), INV_SQRT_PI);
  return [p[0] * 2 ** (1 - k), p[1] * 2 ** (1 - k)];
}

/** erfc for x >= 2 by its continued fraction; Abramowitz & Stegun 7.1.14. */
function erfcFraction(x: number): number {
  let tail: Pair = [x, 0];
  for (let n = 150; n > 0; n--) tail = addPair([x, 0], divPair([n / 2, 0], tail));
  const { pair, k } = expMinusSquare(x);
  const p = divPair(mulPair(pair, INV_SQRT_PI), tail);
  return (p[0] + p[1]) * 2 ** -Math.min(k, 500) * 2 ** -Math.max(k - 500, 0);
}

/** The error function. */
export function erf(x: number): number {
  if (Math.abs(x) < 1e-150) return x * 1.1283791670955126;
  if (Math.abs(x) > 6) return Math.sign(x);
  const [hi, lo] = erfSeries(x);
  return hi + lo;
}

/** 1 - erf(x), right where that is small. */
export function erfc(x: number): number {
  if (Number.isNaN(x)) return x;
  if (Math.abs(x) < 1e-20) return 1;
  if (x < -6) return 2;
  if (x > 27.3) return 0;
  if (x >= 2) return erfcFraction(x);
  const [hi, lo] = erfSeries(x);
  const [s, e] = addPair([1, 0], [-hi, -lo]);
  return s + e;
}

/** erf(y) - x without losing places where x is near 1; x and y not negative. */
function erfError(y: number, x: number): number {
  if (y >= 2) return (1 - x) - erfcFraction(y);
  const [s, e] = addPair(erfSeries(y), [-x, 0]);
  return s + e;
}

/** The inverse of erf, by Halley steps from a closed approximation (Winitzki 2008). */
export function erfinv(x: number): number {
  const a = Math.abs(x);
  if (!(a < 1)) return a === 1 ? x * Infinity : NaN;
  if (a < 1e-150) return x * 0.8862269254527580;
  const l = Math.log((1 - a) * (1 + a));
  const t = 2 / (Math.PI * 0.147) + l / 2;
  let y = Math.sqrt(Math.sqrt(t * t - l / 0.147) - t);
  if (a < 1e-3) y = a * 0.8862269254527580;
  for (let i = 0; i < 4; i++) {
    const { pair, k } = expMinusSquare(y);
    const slope = 1.1283791670955126 * pair[0] * 2 ** -k;
    const u = erfError(y, a) / slope;
    y -= u / (1 + y * u);
  }
  return x < 0 ? -y : y;
}

/** 2^x. */
export function exp2(x: number): number {
  const n = Math.round(x);
  if (!(Math.abs(x) < 1100)) return x > 0 ? x * Infinity : x < 0 ? 0 : x;
  const r = mulPair(LN2, [x - n, 0]);
  let sum: Pair = [1, 0];
  for (let i = 28; i > 0; i--) sum = addPair([1, 0], divPair(mulPair(sum, r), [i, 0]));
  const half = Math.trunc(n / 2);
  return (sum[0] + sum[1]) * 2 ** half * 2 ** (n - half);
}

/** x^y as C99 has it: 1^NaN and (-1)^±Infinity are 1, which JavaScript makes NaN. */
export function pow(x: number, y: number): number {
  if (x === 1 || (x === -1 && Math.abs(y) === Infinity)) return 1;
  return Math.pow(x, y);
}

/** The angle of (x, y), with arguments in the order of C; V8 forgets the sign of a tiny one. */
export function atan2(y: number, x: number): number {
  const angle = Math.atan2(y, x);
  return angle === 0 && (y < 0 || Object.is(y, -0)) ? -0 : angle;
}

const view = new DataView(new ArrayBuffer(8));

/** A finite float64 as m * 2^e. */
function decompose(x: number): { m: bigint; e: number } {
  view.setFloat64(0, x);
  const bits = view.getBigInt64(0);
  const e = Number((bits >> 52n) & 2047n);
  const f = bits & ((1n << 52n) - 1n);
  const m = e === 0 ? f : f | (1n << 52n);
  return { m: bits < 0n ? -m : m, e: Math.max(e, 1) - 1075 };
}

/** The number nearest to m * 2^e that has `digits` binary digits and no bit below 2^lowest. */
function nearest(m: bigint, e: number, digits: number, lowest: number): number {
  const negative = m < 0n;
  let n = negative ? -m : m;
  const drop = Math.max(n.toString(2).length - digits, lowest - e);
  if (drop > 0) {
    const d = BigInt(drop);
    const rest = n & ((1n << d) - 1n);
    const half = 1n << (d - 1n);
    n >>= d;
    if (rest > half || (rest === half && (n & 1n) === 1n)) n++;
    e += drop;
  }
  const x = Number(n) * 2 ** Math.trunc(e / 2) * 2 ** (e - Math.trunc(e / 2));
  return negative ? -x : x;
}

function fma(a: number, b: number, c: number, digits: number, lowest: number): number {
  const plain = a * b + c;
  // Infinities, NaN and signed zeros are as in plain arithmetic, if the product is.
  if (!Number.isFinite(a) || !Number.isFinite(b) || !Number.isFinite(c)) {
    return Number.isFinite(a) && Number.isFinite(b) ? c : plain;
  }
  if (a === 0 || b === 0) return plain;
  const [p, q, r] = [decompose(a), decompose(b), decompose(c)];
  const e = Math.min(p.e + q.e, r.e);
  const m = ((p.m * q.m) << BigInt(p.e + q.e - e)) + (r.m << BigInt(r.e - e));
  if (m === 0n) return 0;
  return nearest(m, e, digits, lowest);
}

/** a * b + c rounded once to float64. */
export function fma64(a: number, b: number, c: number): number {
  return fma(a, b, c, 53, -1074);
}

/** a * b + c rounded once to float32. */
export function fma32(a: number, b: number, c: number): number {
  return Math.fround(fma(a, b, c, 24, -149));
}
