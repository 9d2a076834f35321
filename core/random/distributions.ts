/**
 * What the words of a random stream become: the definitions that kernels must reproduce, as host
 * code in float64. Kernels use them per element, from the same words. Not here: tensors, kernels,
 * distributions with parameters (they scale and shift these).
 *
 * | value i of a range | words | rule |
 * | --- | --- | --- |
 * | float32 uniform in [0, 1) | i | `(w >>> 8) * 2^-24` |
 * | float16, bfloat16 uniform in [0, 1) | i | upper 11 or 8 bits, `* 2^-11` or `* 2^-8` |
 * | float64 uniform in [0, 1) | 2i, 2i+1 | upper 27 and upper 26 bits, joined, `* 2^-53` |
 * | float32 normal | 2i, 2i+1 | Box–Muller, cosine branch, of two 24-bit uniforms |
 * | float64 normal | 4i … 4i+3 | Box–Muller, cosine branch, of two 53-bit uniforms |
 * | integer in [0, n), n ≤ 2^32 | i | high word of `w * n`, rejecting |
 * | integer in [0, n), n ≤ 2^64 | 2i, 2i+1 | high 64 bits of `(w1:w0) * n`, rejecting |
 * | integer of `randint`, n ≤ 2^64 | 2i, 2i+1 | high 64 bits of `(w1:w0) * n`: no loop, for kernels |
 *
 * Every uniform is a multiple of its step, exact in its dtype, so all places agree in every bit; so
 * do integers. Normals agree to the accuracy of the place's log, sqrt and cos.
 *
 * @module
 */

import { ValueError } from "../errors.ts";
import type { Generator } from "./generator.ts";
import { mulHigh, type PhiloxRange, philoxWords } from "./philox.ts";

/**
 * A float32 uniform in [0, 1) from one word: its upper 24 bits.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { uint32ToUniformFloat32 } from "./distributions.ts";
 *
 * assertEquals(uint32ToUniformFloat32(0x80000000), 0.5);
 * assertEquals(uint32ToUniformFloat32(0xffffffff), 1 - 2 ** -24);
 * ```
 */
export function uint32ToUniformFloat32(u: number): number {
  return (u >>> 8) * 2 ** -24;
}

/**
 * A float64 uniform in [0, 1) from two words: the upper 27 bits of `a` above the upper 26 of `b`.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { uint32PairToUniformFloat64 } from "./distributions.ts";
 *
 * assertEquals(uint32PairToUniformFloat64(0x80000000, 0), 0.5);
 * assertEquals(uint32PairToUniformFloat64(0xffffffff, 0xffffffff), 1 - 2 ** -53);
 * ```
 */
export function uint32PairToUniformFloat64(a: number, b: number): number {
  return ((a >>> 5) * 2 ** 26 + (b >>> 6)) * 2 ** -53;
}

/**
 * A standard normal of float32 resolution from two words, by Box and Muller: `sqrt(-2 ln u) cos(2πv)`
 * with u = `((a >>> 8) + 1) * 2^-24` in (0, 1] and v = `(b >>> 8) * 2^-24` in [0, 1).
 * The result lies in ±5.77. It is computed in float64; storing it in float32 rounds it.
 *
 * G. Box, M. Muller, "A note on the generation of random normal deviates", Ann. Math. Stat. 29, 1958.
 *
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { uint32PairToNormalFloat32 } from "./distributions.ts";
 *
 * assertAlmostEquals(uint32PairToNormalFloat32(0, 0), Math.sqrt(48 * Math.LN2), 1e-12);
 * ```
 */
export function uint32PairToNormalFloat32(a: number, b: number): number {
  return boxMuller(uint32ToUniformFloat32(a) + 2 ** -24, uint32ToUniformFloat32(b));
}

/**
 * A standard normal of float64 resolution from four words: like
 * {@linkcode uint32PairToNormalFloat32} with u = the 53-bit uniform of (a, b) + 2^-53 and v = the
 * 53-bit uniform of (c, d). The result lies in ±8.57.
 *
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { uint32QuadToNormalFloat64 } from "./distributions.ts";
 *
 * assertAlmostEquals(uint32QuadToNormalFloat64(0, 0, 0, 0), Math.sqrt(106 * Math.LN2), 1e-12);
 * ```
 */
export function uint32QuadToNormalFloat64(a: number, b: number, c: number, d: number): number {
  return boxMuller(uint32PairToUniformFloat64(a, b) + 2 ** -53, uint32PairToUniformFloat64(c, d));
}

function boxMuller(u: number, v: number): number {
  return Math.sqrt(-2 * Math.log(u)) * Math.cos(2 * Math.PI * v);
}

/**
 * Integer `index` of a range: exactly uniform in [0, bound), bound an integer from 1 to 2^32.
 *
 * The result is floor(w * bound / 2^32) for word w = word `index` of the range. Words whose low half of
 * the product is below 2^32 mod bound would favour some results; such a word is drawn again, at the
 * same place of the same block with the attempt number as third counter word. So each value depends
 * on its index only, and a rejection shifts no other value. Throws a `ValueError` for another bound.
 *
 * D. Lemire, "Fast random integer generation in an interval", ACM TOMACS 29, 2019.
 *
 * @example
 * ```ts
 * import { assert } from "jsr:@std/assert@1";
 * import { boundedUint32 } from "./distributions.ts";
 * import { Generator } from "./generator.ts";
 *
 * const range = new Generator(1).reserve(10);
 * assert(boundedUint32(range, 9, 6) < 6);
 * ```
 */
export function boundedUint32(range: PhiloxRange, index: number, bound: number): number {
  if (!Number.isInteger(bound) || bound < 1 || bound > 2 ** 32) {
    throw new ValueError(
      `Cannot boundedUint32 below ${bound}: the bound must be an integer from 1 to 2^32`,
    );
  }
  return accept(philoxWords(range, index, word)[0], range, index, bound);
}

/**
 * Integer `index` of a range, for bounds from 1 to 2^64: like {@linkcode boundedUint32} with words
 * 2 * index (lower half) and 2 * index + 1 (upper half) as one 64-bit word. Throws a `ValueError` for
 * another bound.
 *
 * @example
 * ```ts
 * import { assert } from "jsr:@std/assert@1";
 * import { boundedUint64 } from "./distributions.ts";
 * import { Generator } from "./generator.ts";
 *
 * const range = new Generator(1).reserve(2 * 10);
 * assert(boundedUint64(range, 9, 10n ** 18n) < 10n ** 18n);
 * ```
 */
export function boundedUint64(range: PhiloxRange, index: number, bound: bigint): bigint {
  if (bound < 1n || bound > 1n << 64n) {
    throw new ValueError(
      `Cannot boundedUint64 below ${bound}: the bound must be an integer from 1 to 2^64`,
    );
  }
  const threshold = ((1n << 64n) - bound) % bound;
  for (let attempt = 0;; attempt++) {
    philoxWords(range, 2 * index, pair, { attempt });
    const product = ((BigInt(pair[1]) << 32n) | BigInt(pair[0])) * bound;
    if (BigInt.asUintN(64, product) >= threshold) return product >> 64n;
  }
}

const word = new Uint32Array(1);
const pair = new Uint32Array(2);

/** The value of a first word, or of the first later attempt that is not rejected. */
function accept(first: number, range: PhiloxRange, index: number, bound: number): number {
  if (bound === 2 ** 32) return first;
  let draw = first;
  let low = Math.imul(draw, bound) >>> 0;
  // The threshold is below the bound: the division is seldom needed.
  if (low < bound) {
    const threshold = (2 ** 32 - bound) % bound;
    for (let attempt = 1; low < threshold; attempt++) {
      draw = philoxWords(range, index, word, { attempt })[0];
      low = Math.imul(draw, bound) >>> 0;
    }
  }
  return mulHigh(draw, bound) >>> 0;
}

/** Words computed at a time by the loops below. */
const CHUNK = 4096;

/**
 * A uniformly random permutation of 0 … n-1 (Fisher–Yates, downwards); takes max(n - 1, 0) words.
 *
 * The swap partner of position p is integer n-1-p of the range below p + 1
 * ({@linkcode boundedUint32}). Throws a `ValueError` unless n is an integer from 0 to 2^31 - 1.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { randperm } from "./distributions.ts";
 * import { Generator } from "./generator.ts";
 *
 * const order = randperm(5, new Generator(3));
 * assertEquals([...order].sort(), [0, 1, 2, 3, 4]);
 * assertEquals(order, randperm(5, new Generator(3)));
 * ```
 */
export function randperm(n: number, generator: Generator): Int32Array {
  if (!Number.isInteger(n) || n < 0 || n > 0x7fffffff) {
    throw new ValueError(`Cannot randperm ${n}: n must be an integer from 0 to 2^31 - 1`);
  }
  const order = new Int32Array(n);
  for (let i = 0; i < n; i++) order[i] = i;
  const draws = Math.max(n - 1, 0);
  const range = generator.reserve(draws);
  const words = new Uint32Array(Math.min(draws, CHUNK));
  for (let start = 0; start < draws; start += CHUNK) {
    const count = Math.min(CHUNK, draws - start);
    philoxWords(range, start, words.subarray(0, count));
    for (let k = 0; k < count; k++) {
      const position = draws - start - k;
      const partner = accept(words[k], range, start + k, position + 1);
      const held = order[position];
      order[position] = order[partner];
      order[partner] = held;
    }
  }
  return order;
}
