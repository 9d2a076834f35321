// Definitions checked exactly; shapes of distributions checked on fixed seeds with bounds far in the
// tail (chance of failing for a right generator below 1e-6, were the seed not fixed).

import { assert, assertAlmostEquals, assertEquals, assertThrows } from "jsr:@std/assert@1";
import { ValueError } from "../errors.ts";
import {
  boundedUint32,
  boundedUint64,
  randperm,
  uint32PairToNormalFloat32,
  uint32PairToUniformFloat64,
  uint32QuadToNormalFloat64,
  uint32ToUniformFloat32,
} from "./distributions.ts";
import { Generator } from "./generator.ts";
import { type PhiloxRange, philoxWords } from "./philox.ts";

const COUNT = 100_000;

function words(seed: number, count: number): Uint32Array {
  return philoxWords(new Generator(seed).reserve(count), 0, new Uint32Array(count));
}

/** Sum of (observed - expected)^2 / expected for equally likely cells. */
function chiSquare(counts: number[]): number {
  const expected = counts.reduce((a, b) => a + b) / counts.length;
  return counts.reduce((sum, n) => sum + (n - expected) ** 2 / expected, 0);
}

/** Greatest distance between the empirical and the given distribution function. */
function kolmogorov(values: Float64Array, cdf: (x: number) => number): number {
  const sorted = values.toSorted();
  let worst = 0;
  sorted.forEach((x, i) => {
    const p = cdf(x);
    worst = Math.max(worst, p - i / sorted.length, (i + 1) / sorted.length - p);
  });
  return worst;
}

/** Phi(x) by the series x + x^3/3 + x^5/15 + …, Abramowitz and Stegun 26.2.11. */
function normalCdf(x: number): number {
  let term = x;
  let sum = x;
  for (let k = 3; Math.abs(term) > 1e-17 * Math.abs(sum); k += 2) {
    term *= x * x / k;
    sum += term;
  }
  return 0.5 + sum * Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI);
}

/** Kolmogorov's 1e-6 point: P(D > d) is about 2 exp(-2 n d^2). */
const KOLMOGOROV_LIMIT = Math.sqrt(Math.log(2e6) / 2 / COUNT);

Deno.test("uniforms: endpoints and bits", () => {
  assertEquals(uint32ToUniformFloat32(0), 0);
  assertEquals(uint32ToUniformFloat32(0xff), 0);
  assertEquals(uint32ToUniformFloat32(0x100), 2 ** -24);
  assertEquals(uint32ToUniformFloat32(0xffffffff), 1 - 2 ** -24);
  assertEquals(uint32PairToUniformFloat64(0x1f, 0x3f), 0);
  assertEquals(uint32PairToUniformFloat64(0, 0x40), 2 ** -53);
  assertEquals(uint32PairToUniformFloat64(0x20, 0), 2 ** -27);
  assertEquals(uint32PairToUniformFloat64(0xffffffff, 0xffffffff), 1 - 2 ** -53);
  for (const w of words(1, 1000)) {
    const x = uint32ToUniformFloat32(w);
    assert(x === Math.fround(x) && x >= 0 && x < 1);
  }
});

Deno.test("uniforms: flat", () => {
  const w = words(2, 2 * COUNT);
  const single = Float64Array.from({ length: COUNT }, (_, i) => uint32ToUniformFloat32(w[i]));
  const double = Float64Array.from(
    { length: COUNT },
    (_, i) => uint32PairToUniformFloat64(w[2 * i], w[2 * i + 1]),
  );
  assert(kolmogorov(single, (x) => x) < KOLMOGOROV_LIMIT);
  assert(kolmogorov(double, (x) => x) < KOLMOGOROV_LIMIT);
});

Deno.test("normals: finite at every corner, and the formula", () => {
  const ends = [0, 0xff, 0x80000000, 0xffffffff];
  for (const a of ends) {
    for (const b of ends) {
      assert(Math.abs(uint32PairToNormalFloat32(a, b)) < 5.77);
      for (const c of ends) assert(Math.abs(uint32QuadToNormalFloat64(a, b, c, c)) < 8.58);
    }
  }
  // u = 1/2, v = 1/8; u = 1 gives 0.
  const want = Math.sqrt(2 * Math.LN2) * Math.SQRT1_2;
  assertAlmostEquals(uint32PairToNormalFloat32(0x7fffff00, 0x20000000), want, 1e-15);
  assertAlmostEquals(uint32QuadToNormalFloat64(0x7fffffff, ~0, 0x20000000, 0), want, 1e-15);
  assertEquals(Math.abs(uint32PairToNormalFloat32(0xffffffff, 0)), 0);
  assertEquals(Math.abs(uint32QuadToNormalFloat64(0xffffffff, 0xffffffff, 0, 0)), 0);
});

Deno.test("normals: normal, neighbours uncorrelated", () => {
  const w = words(3, 4 * COUNT);
  const single = Float64Array.from(
    { length: COUNT },
    (_, i) => uint32PairToNormalFloat32(w[2 * i], w[2 * i + 1]),
  );
  const double = Float64Array.from(
    { length: COUNT },
    (_, i) => uint32QuadToNormalFloat64(w[4 * i], w[4 * i + 1], w[4 * i + 2], w[4 * i + 3]),
  );
  for (const values of [single, double]) {
    assert(kolmogorov(values, normalCdf) < KOLMOGOROV_LIMIT);
    const products = values.subarray(1).reduce((sum, x, i) => sum + x * values[i], 0);
    assert(Math.abs(products / Math.sqrt(COUNT)) < 5);
  }
});

/** Lemire's method with exact integers; also counts the rejections. */
function exactBounded(range: PhiloxRange, index: number, bound: bigint, wordBits: 32n | 64n) {
  const per = Number(wordBits / 32n);
  const modulus = 1n << wordBits;
  for (let attempt = 0;; attempt++) {
    const w = philoxWords(range, per * index, new Uint32Array(per), { attempt });
    const product = w.reduceRight((x, half) => (x << 32n) | BigInt(half), 0n) * bound;
    if (product % modulus >= modulus % bound) return { value: product / modulus, attempt };
  }
}

Deno.test("bounded integers: agree with exact integers, rejections included", () => {
  const range = new Generator(4).reserve(400);
  let rejected = 0;
  for (const bound of [1, 2, 3, 6, 1000, 65536, 2 ** 31, 2 ** 31 + 1, 3 * 2 ** 30, 2 ** 32 - 1]) {
    for (let i = 0; i < 200; i++) {
      const { value, attempt } = exactBounded(range, i, BigInt(bound), 32n);
      rejected += attempt;
      assertEquals(boundedUint32(range, i, bound), Number(value));
      assert(value < bound);
    }
  }
  assert(rejected > 200);
  rejected = 0;
  for (const bound of [1n, 10n ** 12n, (1n << 63n) + 1n, (1n << 64n) - 1n, 1n << 64n]) {
    for (let i = 0; i < 200; i++) {
      const { value, attempt } = exactBounded(range, i, bound, 64n);
      rejected += attempt;
      assertEquals(boundedUint64(range, i, bound), value);
    }
  }
  assert(rejected > 100);
  assertEquals(boundedUint32(range, 3, 2 ** 32), philoxWords(range, 3, new Uint32Array(1))[0]);
});

Deno.test("bounded integers: flat where rejection matters most", () => {
  const range = new Generator(5).reserve(COUNT);
  const small = new Array<number>(6).fill(0);
  const large = new Array<number>(6).fill(0);
  for (let i = 0; i < COUNT; i++) {
    small[boundedUint32(range, i, 6)]++;
    // Without rejection the residues modulo 3 would not be equally likely: 2^32 words on 3 * 2^30.
    large[boundedUint32(range, i, 3 * 2 ** 30) % 3]++;
  }
  // 1e-6 points of chi-square with 5 and 2 degrees of freedom.
  assert(chiSquare(small) < 35.9);
  assert(chiSquare(large.slice(0, 3)) < 27.7);
});

Deno.test("bounded integers: bounds that are none", () => {
  const range = new Generator(1).reserve(1);
  for (const bound of [0, -1, 1.5, NaN, 2 ** 32 + 1]) {
    assertThrows(
      () => boundedUint32(range, 0, bound),
      ValueError,
      `Cannot boundedUint32 below ${bound}: the bound must be an integer from 1 to 2^32`,
    );
  }
  for (const bound of [0n, -1n, (1n << 64n) + 1n]) {
    assertThrows(
      () => boundedUint64(range, 0, bound),
      ValueError,
      `Cannot boundedUint64 below ${bound}: the bound must be an integer from 1 to 2^64`,
    );
  }
});

Deno.test("randperm: a permutation, reproducible, taking n - 1 words", () => {
  for (const n of [0, 1, 2, 5, 4096, 4097, 4098, 20_000]) {
    const generator = new Generator(6);
    const order = randperm(n, generator);
    assertEquals(generator.offset, BigInt(Math.ceil(Math.max(n - 1, 0) / 4)));
    assertEquals(order.toSorted(), Int32Array.from({ length: n }, (_, i) => i));
    assertEquals(randperm(n, new Generator(6)), order);
  }
  assertThrows(
    () => randperm(-1, new Generator()),
    ValueError,
    "Cannot randperm -1: n must be an integer from 0 to 2^31 - 1",
  );
});

Deno.test("randperm: is Fisher–Yates on the documented integers", () => {
  const n = 9000;
  const range = new Generator(7).reserve(n - 1);
  const want = Int32Array.from({ length: n }, (_, i) => i);
  for (let p = n - 1; p > 0; p--) {
    const q = boundedUint32(range, n - 1 - p, p + 1);
    [want[p], want[q]] = [want[q], want[p]];
  }
  assertEquals(randperm(n, new Generator(7)), want);
});

Deno.test("randperm: all orders of four are equally likely", () => {
  const generator = new Generator(8);
  const counts = new Map<string, number>();
  for (let i = 0; i < 24_000; i++) {
    const key = randperm(4, generator).join("");
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  assertEquals(counts.size, 24);
  // 1e-6 point of chi-square with 23 degrees of freedom.
  assert(chiSquare([...counts.values()]) < 70.6);
});
