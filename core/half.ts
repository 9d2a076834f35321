/**
 * The two 16-bit float formats, as bits: IEEE 754 binary16 ("float16") and bfloat16.
 *
 * Encoding rounds once, to nearest with ties to even, from the full float64 value: going through
 * float32 first would round twice and be off by one in rare cases. Not here: dtype tables, tensors,
 * arithmetic in half precision.
 *
 * Both encoders work on the sign, exponent and upper 20 fraction bits of a float64, with "some lower
 * bit is set" folded into the last of them. That is rounding to odd, which cannot spoil a later
 * rounding to nearest at 18 bits or fewer (Boldo and Melquiond, "When double rounding is odd", 2005).
 *
 * Words of a float64 are addressed as on a little-endian machine, which linear memory is everywhere.
 *
 * @module
 */

import { ShapeError } from "./errors.ts";

const f64 = new Float64Array(1);
const f64Words = new Int32Array(f64.buffer);
const f32 = new Float32Array(1);
const f32Word = new Int32Array(f32.buffer);

/** Anything the bulk encoders read numbers from. */
export type HalfSource = Float32Array | Float64Array | ArrayLike<number>;

/**
 * The float16 bits nearest to a number (ties to even).
 *
 * Magnitudes of 65520 and more become infinity, of 2^-25 and less zero; NaN stays a quiet NaN.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { float32ToFloat16Bits } from "./half.ts";
 *
 * assertEquals(float32ToFloat16Bits(1), 0x3c00);
 * assertEquals(float32ToFloat16Bits(65520), 0x7c00); // infinity
 * // A hair above the middle of 1 and 1 + 2^-10: rounding to float32 first would lose the hair.
 * assertEquals(float32ToFloat16Bits(1 + 2 ** -11 + 2 ** -40), 0x3c01);
 * ```
 */
export function float32ToFloat16Bits(x: number): number {
  f64[0] = x;
  const high = f64Words[1];
  const sign = (high >>> 16) & 0x8000;
  const top = (high & 0x7fffffff) | (f64Words[0] !== 0 ? 1 : 0);
  // 2^-14 <= |x| < 65536: rebias the exponent and round off 10 fraction bits; the carry may reach
  // the exponent, and past the largest half that is the pattern of infinity.
  if (top >= 0x3f100000 && top < 0x40f00000) {
    return sign | ((top - 0x3f000000 + 0x1ff + ((top >>> 10) & 1)) >>> 10);
  }
  if (top < 0x3f100000) {
    // Multiples of 2^-24; 2^-25 itself is a tie that goes to zero.
    if (top <= 0x3e600000) return sign;
    return sign | roundShift((top & 0xfffff) | 0x100000, 1019 - (top >>> 20));
  }
  if (top > 0x7ff00000) return sign | 0x7e00 | ((top >>> 10) & 0x1ff);
  return sign | 0x7c00;
}

/**
 * The value of float16 bits (exact).
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { float16BitsToFloat32 } from "./half.ts";
 *
 * assertEquals(float16BitsToFloat32(0x3555), 0.333251953125);
 * assertEquals(float16BitsToFloat32(0x0001), 2 ** -24);
 * assertEquals(float16BitsToFloat32(0xfc00), -Infinity);
 * ```
 */
export function float16BitsToFloat32(bits: number): number {
  f32Word[0] = float16BitsToFloat32Bits(bits);
  return f32[0];
}

/**
 * The bfloat16 bits nearest to a number (ties to even).
 *
 * The exponent range is float32's, subnormals included. NaN stays a quiet NaN.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { float32ToBfloat16Bits } from "./half.ts";
 *
 * assertEquals(float32ToBfloat16Bits(1), 0x3f80);
 * assertEquals(float32ToBfloat16Bits(1 + 2 ** -8), 0x3f80); // a tie, to even
 * assertEquals(float32ToBfloat16Bits(1 + 2 ** -8 + 2 ** -40), 0x3f81);
 * ```
 */
export function float32ToBfloat16Bits(x: number): number {
  f64[0] = x;
  const high = f64Words[1];
  const sign = (high >>> 16) & 0x8000;
  const top = (high & 0x7fffffff) | (f64Words[0] !== 0 ? 1 : 0);
  // 2^-126 <= |x| < 2^128, as for float16 with 13 bits to round off.
  if (top >= 0x38100000 && top < 0x47f00000) {
    return sign | ((top - 0x38000000 + 0xfff + ((top >>> 13) & 1)) >>> 13);
  }
  if (top < 0x38100000) {
    // Multiples of 2^-133.
    if (top <= 0x37900000) return sign;
    return sign | roundShift((top & 0xfffff) | 0x100000, 910 - (top >>> 20));
  }
  if (top > 0x7ff00000) return sign | 0x7fc0 | ((top >>> 13) & 0x3f);
  return sign | 0x7f80;
}

/**
 * The value of bfloat16 bits (exact).
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { bfloat16BitsToFloat32 } from "./half.ts";
 *
 * assertEquals(bfloat16BitsToFloat32(0xc049), -3.140625);
 * ```
 */
export function bfloat16BitsToFloat32(bits: number): number {
  f32Word[0] = bfloat16BitsToFloat32Bits(bits);
  return f32[0];
}

/**
 * Encodes many numbers as float16 bits, like {@linkcode float32ToFloat16Bits} on each.
 *
 * `target` is filled from its start, must be as long as `source` (else a `ShapeError`), and is
 * returned. Signs of NaN in a
 * `Float32Array` are kept (the engine may drop them from plain numbers).
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { encodeFloat16 } from "./half.ts";
 *
 * assertEquals([...encodeFloat16(Float32Array.of(0.5, -2))], [0x3800, 0xc000]);
 * ```
 */
export function encodeFloat16(
  source: HalfSource,
  target: Uint16Array = new Uint16Array(source.length),
): Uint16Array {
  const n = source.length;
  checkLength("encodeFloat16", n, target.length);
  if (source instanceof Float32Array) {
    const words = new Int32Array(source.buffer, source.byteOffset, n);
    for (let i = 0; i < n; i++) target[i] = float32BitsToFloat16Bits(words[i]);
  } else {
    for (let i = 0; i < n; i++) target[i] = float32ToFloat16Bits(source[i]);
  }
  return target;
}

/**
 * Decodes float16 bits, like {@linkcode float16BitsToFloat32} on each.
 *
 * `target` is filled from its start, must be as long as `source` (else a `ShapeError`), and is
 * returned.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { decodeFloat16 } from "./half.ts";
 *
 * assertEquals([...decodeFloat16(Uint16Array.of(0x3800, 0xc000))], [0.5, -2]);
 * ```
 */
export function decodeFloat16(
  source: Uint16Array,
  target: Float32Array = new Float32Array(source.length),
): Float32Array {
  const n = source.length;
  checkLength("decodeFloat16", n, target.length);
  const words = new Int32Array(target.buffer, target.byteOffset, target.length);
  for (let i = 0; i < n; i++) words[i] = float16BitsToFloat32Bits(source[i]);
  return target;
}

/**
 * Encodes many numbers as bfloat16 bits, like {@linkcode float32ToBfloat16Bits} on each.
 *
 * `target` is filled from its start, must be as long as `source` (else a `ShapeError`), and is
 * returned. Signs of NaN in a
 * `Float32Array` are kept (the engine may drop them from plain numbers).
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { encodeBfloat16 } from "./half.ts";
 *
 * assertEquals([...encodeBfloat16(Float32Array.of(0.5, -2))], [0x3f00, 0xc000]);
 * ```
 */
export function encodeBfloat16(
  source: HalfSource,
  target: Uint16Array = new Uint16Array(source.length),
): Uint16Array {
  const n = source.length;
  checkLength("encodeBfloat16", n, target.length);
  if (source instanceof Float32Array) {
    const words = new Int32Array(source.buffer, source.byteOffset, n);
    for (let i = 0; i < n; i++) target[i] = float32BitsToBfloat16Bits(words[i]);
  } else {
    for (let i = 0; i < n; i++) target[i] = float32ToBfloat16Bits(source[i]);
  }
  return target;
}

/**
 * Decodes bfloat16 bits, like {@linkcode bfloat16BitsToFloat32} on each.
 *
 * `target` is filled from its start, must be as long as `source` (else a `ShapeError`), and is
 * returned.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { decodeBfloat16 } from "./half.ts";
 *
 * assertEquals([...decodeBfloat16(Uint16Array.of(0x3f00, 0xc000))], [0.5, -2]);
 * ```
 */
export function decodeBfloat16(
  source: Uint16Array,
  target: Float32Array = new Float32Array(source.length),
): Float32Array {
  const n = source.length;
  checkLength("decodeBfloat16", n, target.length);
  const words = new Int32Array(target.buffer, target.byteOffset, target.length);
  for (let i = 0; i < n; i++) words[i] = bfloat16BitsToFloat32Bits(source[i]);
  return target;
}

function checkLength(name: string, source: number, target: number): void {
  if (source !== target) {
    throw new ShapeError(
      `Cannot ${name} [${source}] into [${target}]: the lengths must be equal: ` +
        `got ${source} and ${target}`,
    );
  }
}

/** `significand / 2^shift`, rounded to nearest, ties to even; shift is 1 to 30. */
function roundShift(significand: number, shift: number): number {
  const quotient = significand >>> shift;
  return (significand + (1 << (shift - 1)) - 1 + (quotient & 1)) >>> shift;
}

function float32BitsToFloat16Bits(word: number): number {
  const sign = (word >>> 16) & 0x8000;
  const top = word & 0x7fffffff;
  if (top >= 0x38800000 && top < 0x47800000) {
    return sign | ((top - 0x38000000 + 0xfff + ((top >>> 13) & 1)) >>> 13);
  }
  if (top < 0x38800000) {
    if (top <= 0x33000000) return sign;
    return sign | roundShift((top & 0x7fffff) | 0x800000, 126 - (top >>> 23));
  }
  if (top > 0x7f800000) return sign | 0x7e00 | ((top >>> 13) & 0x1ff);
  return sign | 0x7c00;
}

function float32BitsToBfloat16Bits(word: number): number {
  if ((word & 0x7fffffff) > 0x7f800000) return (word >>> 16) | 0x40;
  return (word + 0x7fff + ((word >>> 16) & 1)) >>> 16;
}

function float16BitsToFloat32Bits(bits: number): number {
  const sign = (bits & 0x8000) << 16;
  const rest = bits & 0x7fff;
  if (rest >= 0x7c00) {
    return sign | 0x7f800000 | (rest << 13) | (rest > 0x7c00 ? 0x400000 : 0);
  }
  if (rest >= 0x400) return sign | ((rest << 13) + 0x38000000);
  if (rest === 0) return sign;
  // A subnormal is normal in float32: shift its first 1 up to the hidden bit.
  const zeros = Math.clz32(rest);
  return sign | (((134 - zeros) << 23) + ((rest << (zeros - 8)) & 0x7fffff));
}

function bfloat16BitsToFloat32Bits(bits: number): number {
  const word = bits << 16;
  return (word & 0x7fffffff) > 0x7f800000 ? word | 0x400000 : word;
}
