// How the elements of one tensor look as text, all equally wide, by NumPy's rules: the shortest digits that
// the dtype tells apart, at most 8 after the point; scientific where magnitudes are far apart. Not here:
// brackets and lines (format.ts).
import { type DataArray, type DType, DTYPES } from "./dtype.ts";
import { float32ToBfloat16Bits, float32ToFloat16Bits } from "./half.ts";

/** Digits after the point at most. */
const PRECISION = 8;

/** What printing has to know of a float dtype. */
interface FloatFacts {
  /** Significant digits that tell any two values apart. */
  readonly digits: number;
  /** Magnitudes from here on are written with an exponent. */
  readonly large: number;
  /** A number rounded to the dtype, as something that compares like it (magnitudes only). */
  rounded(x: number): number;
}

const FLOATS: Partial<Record<DType, FloatFacts>> = {
  float16: { digits: 5, large: 1e3, rounded: float32ToFloat16Bits },
  bfloat16: { digits: 4, large: 1e3, rounded: float32ToBfloat16Bits },
  float32: { digits: 9, large: 1e6, rounded: Math.fround },
  float64: { digits: 17, large: 1e8, rounded: (x) => x },
};

/** The fewest significant digits that read back as `x` in its dtype. */
function shortest(x: number, { digits, rounded }: FloatFacts): string {
  // Of float64 the language knows.
  if (digits === 17) return x.toExponential();
  const own = rounded(x);
  for (let p = 0; p < digits - 1; p++) {
    const text = toEven((n) => x.toExponential(n), p);
    if (rounded(Number(text)) === own) return text;
    // Below a power of two the values are twice as dense: the next above may do where the nearest does not.
    const next = Number(text) + 10 ** (Number(text.split("e")[1]) - p);
    if (rounded(next) === own) return next.toExponential(p);
  }
  return x.toExponential(digits - 1);
}

/** Rounds exactly, ties to even: `write` gives that many digits after the point, ties rounded away. */
function toEven(write: (digits: number) => string, digits: number): string {
  // A tie shows all its digits this far; other numbers differ from one before.
  const more = 40;
  const long = write(digits + more);
  const at = long.includes("e") ? long.indexOf("e") : long.length;
  const cut = long.slice(at - more, at);
  if (!/^50*$/.test(cut)) return write(digits);
  const kept = long.slice(0, at - more) + long.slice(at);
  const [, last] = /(\d)\.?(?:e.*)?$/.exec(kept)!;
  return Number(last) % 2 === 0 ? kept : write(digits);
}

/** `-12.5` as its parts: sign and digits before the point, digits after it, exponent or "". */
type Parts = readonly [string, string, string];

function split(text: string): Parts {
  const [mantissa, exponent = ""] = text.split("e");
  const [whole, fraction = ""] = mantissa.split(".");
  return [whole, fraction.replace(/0+$/, ""), exponent];
}

function positional(x: number, facts: FloatFacts): Parts {
  const [first, fraction, exponent] = split(shortest(x, facts));
  const e = Number(exponent);
  if (fraction.length - e > PRECISION) return split(toEven((n) => x.toFixed(n), PRECISION));
  const digits = ("0".repeat(Math.max(0, -e)) + first + fraction).padEnd(1 + e, "0");
  const point = 1 + Math.max(0, e);
  return [digits.slice(0, point), digits.slice(point), ""];
}

function isScientific(sizes: readonly number[], facts: FloatFacts): boolean {
  let largest = 0;
  let smallest = Infinity;
  for (const size of sizes) {
    if (size > largest) largest = size;
    if (size !== 0 && size < smallest) smallest = size;
  }
  const { rounded } = facts;
  if (largest === 0) return false;
  return largest >= facts.large || rounded(smallest) < rounded(1e-4) ||
    rounded(largest / smallest) > rounded(1000);
}

const widest = (texts: readonly string[]) => texts.reduce((n, t) => Math.max(n, t.length), 0);

/** Magnitudes with an exponent, all with the digits that the longest needs. */
function scientific(sizes: readonly number[], facts: FloatFacts): string[] {
  const exact = (x: number, digits: number) => split(toEven((n) => x.toExponential(n), digits));
  const short = sizes.map((x) => {
    const parts = split(shortest(x, facts));
    return parts[1].length <= PRECISION ? parts : exact(x, PRECISION);
  });
  const places = widest(short.map((p) => p[1]));
  const full = short.map((p, i) => (p[1].length === places ? p : exact(sizes[i], places)));
  const powers = Math.max(2, widest(full.map((p) => p[2].slice(1))));
  return full.map(([whole, fraction, exponent]) =>
    `${whole}.${fraction.padEnd(places, "0")}e${exponent[0]}` +
    exponent.slice(1).padStart(powers, "0")
  );
}

/** Magnitudes without an exponent, the points below each other when they end together. */
function fixed(sizes: readonly number[], facts: FloatFacts): string[] {
  const parts = sizes.map((x) => positional(x, facts));
  const places = widest(parts.map((p) => p[1]));
  return parts.map(([whole, fraction]) => `${whole}.${fraction.padEnd(places)}`);
}

/** Texts of real numbers. With `plus`, all have a sign. */
function floatTexts(values: readonly number[], dtype: DType, plus: boolean): string[] {
  const facts = FLOATS[dtype]!;
  const sizes = values.filter(Number.isFinite).map(Math.abs);
  const finite = (isScientific(sizes, facts) ? scientific : fixed)(sizes, facts);
  let next = 0;
  const texts = values.map((x) => {
    const sign = x < 0 || Object.is(x, -0) ? "-" : plus ? "+" : "";
    return sign + (Number.isFinite(x) ? finite[next++] : Number.isNaN(x) ? "nan" : "inf");
  });
  const width = widest(texts);
  return texts.map((t) => t.padStart(width));
}

function complexTexts(data: ArrayLike<number>, dtype: DType): string[] {
  const part = dtype === "complex64" ? "float32" : "float64";
  const every = (from: number) =>
    floatTexts(
      Array.from({ length: data.length / 2 }, (_, i) => data[2 * i + from]),
      part,
      from === 1,
    );
  const imaginary = every(1);
  return every(0).map((re, i) => {
    const im = imaginary[i].trimEnd();
    return `${re}${im}j${" ".repeat(imaginary[i].length - im.length)}`;
  });
}

/** Texts of elements: `values` are numbers (complex: pairs), bits decoded; int64 as bigints. */
export function textsOf(values: DataArray, dtype: DType, scalar: boolean): string[] {
  const { kind } = DTYPES[dtype];
  if (kind === "complex") return complexTexts(values as Float64Array, dtype);
  if (kind === "float") return floatTexts(Array.from(values as Float64Array), dtype, false);
  const texts = kind === "bool"
    ? Array.from(values as Uint8Array, (v) => String(v !== 0))
    : Array.from(values as Int32Array, String);
  if (scalar) return texts;
  const width = kind === "bool" ? 5 : Math.max(0, ...texts.map((t) => t.length));
  return texts.map((t) => t.padStart(width));
}
