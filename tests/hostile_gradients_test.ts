/**
 * Gradients at infinities, NaN, zeros and numbers whose squares overflow or vanish: the true value where there is
 * one, and never NaN out of a branch that was not taken. Deliberately not here: ordinary points, which are checked
 * numerically in `ops_test.ts`, and kinks, which the goldens hold.
 *
 * @module
 */

import { assertEquals } from "jsr:@std/assert@1";
import * as plesio from "../mod.ts";
import { nn, type Tensor, tensor } from "../mod.ts";

type Case = readonly [
  what: string,
  f: (...xs: Tensor[]) => Tensor,
  inputs: readonly (readonly number[])[],
  gradients: readonly (readonly number[])[],
];

const F = nn.functional;
const { atan2, logAddExp, softsign, amax, amin, logCumSumExp, logSumExp, hypot } = plesio;

const CASES: readonly Case[] = [
  ["softsign far out", softsign, [[Infinity, -Infinity, 1e30, -1e30]], [[0, 0, 1e-60, 1e-60]]],
  ["atan2 at the origin", atan2, [[0, -0, 0], [0, 0, -0]], [[0, 0, 0], [0, 0, 0]]],
  ["atan2 near it", atan2, [[0, 1e-200], [1e-200, 0]], [[1e200, 0], [0, -1e200]]],
  ["atan2 far from it", atan2, [[0, 1e200], [1e200, 0]], [[1e-200, 0], [0, -1e-200]]],
  ["hypot at the origin", hypot, [[0], [0]], [[0], [0]]],
  [
    "logAddExp of infinities and NaN",
    logAddExp,
    [[Infinity, -Infinity, NaN, 0, -Infinity], [Infinity, -Infinity, 0, NaN, 0]],
    [[0.5, 0.5, NaN, NaN, 0], [0.5, 0.5, NaN, NaN, 1]],
  ],
  ["amax with NaN", (x) => amax(x), [[1, NaN, 3, NaN]], [[0, 0.5, 0, 0.5]]],
  ["amin with NaN", (x) => amin(x), [[1, NaN, 3]], [[0, 1, 0]]],
  ["amax of equal infinities", (x) => amax(x), [[Infinity, 1, Infinity]], [[0.5, 0, 0.5]]],
  ["logSumExp of nothing", (x) => logSumExp(x), [[-Infinity, -Infinity]], [[0, 0]]],
  ["logSumExp of huge ones", (x) => logSumExp(x), [[1e300, 1e300]], [[0.5, 0.5]]],
  [
    "logCumSumExp behind an infinity",
    (x) => logCumSumExp(x, 0),
    [[Infinity, 1, 2]],
    [[NaN, 0, 0]],
  ],
  ["logCumSumExp of nothing", (x) => logCumSumExp(x, 0), [[-Infinity, -Infinity, 0]], [[0, 0, 1]]],
  [
    "smoothL1Loss of outliers",
    (a, b) => F.smoothL1Loss(a, b, { reduction: "sum" }),
    [[0, 0, 1e200, 0.5], [Infinity, -Infinity, 0, 0]],
    [[-1, 1, 1, 0.5], [1, -1, -1, -0.5]],
  ],
];

for (const [what, f, inputs, gradients] of CASES) {
  Deno.test(`gradient of ${what}`, () => {
    const xs = inputs.map((v) => tensor([...v], { dtype: "float64", requiresGrad: true }));
    f(...xs).sum().backward();
    xs.forEach((x, i) => {
      const got = x.grad!.toArraySync() as number[];
      // Zeros of both signs are equal here; the rest may be off by rounding.
      const rounded = got.map((g, k) => {
        const e = gradients[i][k];
        return Math.abs(g - e) <= 4e-15 * Math.abs(e) ? e : g + 0;
      });
      assertEquals(rounded, [...gradients[i]], `input ${i}`);
    });
  });
}
