/**
 * Philox 4x32-10 on the host: the function from (counter, key) to four random words from which every
 * random number of every place comes. Not here: who owns which counters (`generator.ts`), what is
 * made of the words (`distributions.ts`).
 *
 * J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
 *
 * @module
 */

import { IndexError } from "../errors.ts";

/** A run of counters handed out by a generator: all that is needed to draw its words, anywhere. */
export interface PhiloxRange {
  /** Lower 32 bits of the key. */
  readonly key0: number;
  /** Upper 32 bits of the key. */
  readonly key1: number;
  /** Lower 32 bits of the first block's counter. */
  readonly offsetLo: number;
  /** Upper 32 bits of the first block's counter. */
  readonly offsetHi: number;
}

/**
 * Ten rounds of Philox 4x32 on one counter block; the four words go to `out[0…3]`.
 *
 * Arguments are taken modulo 2^32.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { philox4x32 } from "./philox.ts";
 *
 * const out = new Uint32Array(4);
 * philox4x32(0, 0, 0, 0, 0, 0, out);
 * assertEquals([...out], [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
 * ```
 */
export function philox4x32(
  c0: number,
  c1: number,
  c2: number,
  c3: number,
  k0: number,
  k1: number,
  out: Uint32Array,
): void {
  philoxInto(c0 | 0, c1 | 0, c2 | 0, c3 | 0, k0 | 0, k1 | 0, out, 0);
}

/**
 * The words `start … start + out.length - 1` of a range.
 *
 * Word i is word i mod 4 of the block with counter (lo, hi, attempt, 0), where (lo, hi) is the 64-bit
 * sum of the range's offset and floor(i / 4). `attempt` is 0 but for values drawn again after a
 * rejection, so that a rejection takes no counter of anybody else.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { philoxWords } from "./philox.ts";
 *
 * const range = { key0: 0, key1: 0, offsetLo: 0, offsetHi: 0 };
 * assertEquals([...philoxWords(range, 0, new Uint32Array(2))], [0x6627e8d5, 0xe169c58d]);
 * assertEquals([...philoxWords(range, 3, new Uint32Array(1))], [0x9b00dbd8]);
 * ```
 */
export function philoxWords(
  range: PhiloxRange,
  start: number,
  out: Uint32Array,
  options: { attempt?: number } = {},
): Uint32Array {
  if (!Number.isSafeInteger(start) || start < 0) {
    throw new IndexError(
      `Cannot philoxWords from word ${start}: the start must be a non-negative integer`,
    );
  }
  const attempt = (options.attempt ?? 0) | 0;
  const key0 = range.key0 | 0;
  const key1 = range.key1 | 0;
  const n = out.length;
  // Exact: the sum stays below 2^53.
  const block = range.offsetLo + Math.floor(start / 4);
  let lo = block | 0;
  let hi = (range.offsetHi + Math.floor(block / 2 ** 32)) | 0;
  let word = start % 4;
  let i = 0;
  while (i < n) {
    if (word === 0 && i + 4 <= n) {
      philoxInto(lo, hi, attempt, 0, key0, key1, out, i);
      i += 4;
    } else {
      philoxInto(lo, hi, attempt, 0, key0, key1, partial, 0);
      while (i < n && word < 4) out[i++] = partial[word++];
      word = 0;
    }
    lo = (lo + 1) | 0;
    if (lo === 0) hi = (hi + 1) | 0;
  }
  return out;
}

/** A block of which only some words are wanted. */
const partial = new Uint32Array(4);

function philoxInto(
  c0: number,
  c1: number,
  c2: number,
  c3: number,
  k0: number,
  k1: number,
  out: Uint32Array,
  at: number,
): void {
  for (let round = 0; round < 10; round++) {
    const hi0 = mulHigh(c0, 0xd2511f53);
    const hi1 = mulHigh(c2, 0xcd9e8d57);
    const lo0 = Math.imul(c0, 0xd2511f53);
    const lo1 = Math.imul(c2, 0xcd9e8d57);
    c0 = hi1 ^ c1 ^ k0;
    c1 = lo1;
    c2 = hi0 ^ c3 ^ k1;
    c3 = lo0;
    // The key steps by the golden ratio and sqrt(3) - 1, as 32-bit fractions.
    k0 = (k0 + 0x9e3779b9) | 0;
    k1 = (k1 + 0xbb67ae85) | 0;
  }
  out[at] = c0;
  out[at + 1] = c1;
  out[at + 2] = c2;
  out[at + 3] = c3;
}

/**
 * The upper 32 bits of the product of two 32-bit unsigned integers (as a signed integer; apply
 * `>>> 0` for the value). Schoolbook on 16-bit halves: no partial sum exceeds 2^32 - 1.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { mulHigh } from "./philox.ts";
 *
 * assertEquals(mulHigh(0xffffffff, 0xffffffff) >>> 0, 0xfffffffe);
 * ```
 */
export function mulHigh(a: number, b: number): number {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  const middle = (Math.imul(aHigh, bLow) + (Math.imul(aLow, bLow) >>> 16)) | 0;
  const carry = (Math.imul(aLow, bHigh) + (middle & 0xffff)) | 0;
  return (Math.imul(aHigh, bHigh) + (middle >>> 16) + (carry >>> 16)) | 0;
}
