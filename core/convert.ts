// Conversion of elements between dtypes on the host, in storage form (float16 and bfloat16 as bits,
// complex as pairs). Same rules as the `cast` op, but a 16-bit float is rounded once from whatever it comes
// from. Not here: nested arrays (nested.ts), conversion on a device (ops/cast.ts).
import { type DataArray, type DType, DTYPES } from "./dtype.ts";
import { ShapeError } from "./errors.ts";
import { decodeBfloat16, decodeFloat16, encodeBfloat16, encodeFloat16 } from "./half.ts";

/** The values of elements as numbers: bits decoded, int64 rounded to float64, the rest as it is. */
export function toNumbers(data: DataArray, dtype: DType): Exclude<DataArray, BigInt64Array> {
  if (dtype === "float16") return decodeFloat16(data as Uint16Array);
  if (dtype === "bfloat16") return decodeBfloat16(data as Uint16Array);
  if (data instanceof BigInt64Array) return Float64Array.from(data, Number);
  return data;
}

/** The part of a complex number that a real dtype can hold. */
function realParts(data: Float32Array | Float64Array): Float64Array {
  const out = new Float64Array(data.length / 2);
  for (let i = 0; i < out.length; i++) out[i] = data[2 * i];
  return out;
}

/** Truncates and saturates; NaN gives 0. */
function saturated(x: number, low: number, high: number): number {
  if (Number.isNaN(x)) return 0;
  return x <= low ? low : x >= high ? high : Math.trunc(x);
}

const INT_BOUNDS: Partial<Record<DType, readonly [number, number]>> = {
  uint8: [0, 255],
  int8: [-128, 127],
  int16: [-32768, 32767],
  int32: [-2147483648, 2147483647],
};

function bigOf(x: number): bigint {
  if (Number.isNaN(x)) return 0n;
  if (x >= 2 ** 63) return 2n ** 63n - 1n;
  return x <= -(2 ** 63) ? -(2n ** 63n) : BigInt(Math.trunc(x));
}

/** Fills a typed array of integers; typed arrays wrap integers by themselves. */
function toIntegers(data: DataArray, from: DType, to: DType, out: DataArray): DataArray {
  const n = out.length;
  const isFloat = DTYPES[from].kind === "float";
  if (out instanceof BigInt64Array) {
    const values = toNumbers(data, from);
    for (let i = 0; i < n; i++) out[i] = isFloat ? bigOf(values[i]) : BigInt(values[i]);
  } else if (data instanceof BigInt64Array) {
    for (let i = 0; i < n; i++) out[i] = Number(BigInt.asIntN(32, data[i]));
  } else if (isFloat) {
    const values = toNumbers(data, from);
    const [low, high] = INT_BOUNDS[to]!;
    for (let i = 0; i < n; i++) out[i] = saturated(values[i], low, high);
  } else out.set(data);
  return out;
}

function toBools(values: DataArray, out: Uint8Array): Uint8Array {
  for (let i = 0; i < out.length; i++) out[i] = Number(values[i]) !== 0 ? 1 : 0;
  return out;
}

/** An int64 rounded to odd in float64: a later rounding to fewer bits is then the only one. */
function oddFloat64(x: bigint): number {
  if (x >= -(2n ** 53n) && x <= 2n ** 53n) return Number(x);
  return Number((x >> 10n) | ((x & 1023n) === 0n ? 0n : 1n)) * 1024;
}

function toFloats(data: DataArray, from: DType, to: DType): DataArray {
  const values = data instanceof BigInt64Array && to !== "float64"
    ? Float64Array.from(data, oddFloat64)
    : toNumbers(data, from);
  if (to === "float16") return encodeFloat16(values);
  if (to === "bfloat16") return encodeBfloat16(values);
  return to === "float32" ? Float32Array.from(values) : Float64Array.from(values);
}

/**
 * Elements in another dtype; always a new array.
 *
 * Float to integer drops the fraction and saturates (NaN gives 0); integer to narrower integer wraps;
 * to bool is "not 0"; a complex number becomes real by losing its imaginary part, a real one complex by
 * getting 0. Throws a `ShapeError` if complex data has an odd length.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { convert } from "./convert.ts";
 *
 * assertEquals(convert(Float64Array.of(1.5, -300), "float64", "int8"), Int8Array.of(1, -128));
 * assertEquals(convert(Int32Array.of(300), "int32", "int8"), Int8Array.of(44));
 * assertEquals(convert(Float32Array.of(1), "float32", "float16"), Uint16Array.of(0x3c00));
 * ```
 */
export function convert(data: DataArray, from: DType, to: DType): DataArray {
  if (DTYPES[from].lanes === 2 && data.length % 2 !== 0) {
    throw new ShapeError(
      `Cannot convert ${data.length} numbers from ${from}: complex elements are pairs of numbers`,
    );
  }
  if (from === to) return data.slice();
  const source = DTYPES[from];
  const target = DTYPES[to];
  if (source.kind === "complex" && target.kind === "complex") {
    return to === "complex64"
      ? Float32Array.from(data as Float64Array)
      : Float64Array.from(data as Float32Array);
  }
  if (source.kind === "complex") {
    if (to === "bool") return anyPart(data as Float32Array);
    return convert(realParts(data as Float32Array), "float64", to);
  }
  if (target.kind === "complex") {
    const values = toNumbers(data, from);
    const out = new target.array(2 * values.length) as Float32Array;
    for (let i = 0; i < values.length; i++) out[2 * i] = values[i];
    return out;
  }
  if (target.kind === "float") return toFloats(data, from, to);
  const out = new target.array(data.length) as DataArray;
  // The bits of -0 are not 0.
  if (to === "bool") {
    return toBools(source.kind === "float" ? toNumbers(data, from) : data, out as Uint8Array);
  }
  return toIntegers(data, from, to, out);
}

function anyPart(data: Float32Array | Float64Array): Uint8Array {
  const out = new Uint8Array(data.length / 2);
  for (let i = 0; i < out.length; i++) out[i] = data[2 * i] !== 0 || data[2 * i + 1] !== 0 ? 1 : 0;
  return out;
}
