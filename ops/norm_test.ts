import { assertAlmostEquals, assertEquals, assertThrows } from "jsr:@std/assert@1";
import fc from "npm:fast-check@4";
import { ShapeError, ValueError } from "../core/errors.ts";
import { nn, ones, tensor, zeros } from "../mod.ts";
import { assertGrid, coordsOf, type Grid, grid, noise, toTensor } from "../tests/grid.ts";

const F = nn.functional;

/** Elements less the mean of their group, by the root of its variance. */
function standardized(
  x: Grid,
  groupOf: (coords: readonly number[]) => number,
  epsilon: number,
): Grid {
  const groups = new Map<number, number[]>();
  const group = (i: number) => groupOf(coordsOf(x.shape, i));
  x.values.forEach((v, i) => groups.set(group(i), [...groups.get(group(i)) ?? [], v]));
  return grid(x.shape, (_, i) => {
    const all = groups.get(group(i))!;
    const mean = all.reduce((a, b) => a + b, 0) / all.length;
    const variance = all.reduce((a, b) => a + (b - mean) ** 2, 0) / all.length;
    return (x.values[i] - mean) / Math.sqrt(variance + epsilon);
  });
}

const size = fc.integer({ min: 2, max: 5 });

Deno.test("layerNorm, batchNorm, groupNorm, instanceNorm: any sizes, as the definitions say", () => {
  fc.assert(
    fc.property(size, size, size, (n, c, s) => {
      const x = noise([n, 2 * c, s], 3);
      const t = toTensor(x);
      const epsilon = 1e-3;
      assertGrid(F.layerNorm(t, s, { epsilon }), standardized(x, ([i, j]) => i * 99 + j, epsilon));
      assertGrid(F.layerNorm(t, [2 * c, s], { epsilon }), standardized(x, ([i]) => i, epsilon));
      const stats = [zeros([2 * c]), ones([2 * c])] as const;
      const train = { training: true, epsilon };
      assertGrid(F.batchNorm(t, ...stats, train), standardized(x, ([, j]) => j, epsilon));
      const half = ([i, j]: readonly number[]) => i * 2 + Math.floor(j / c);
      assertGrid(F.groupNorm(t, 2, { epsilon }), standardized(x, half, epsilon));
      assertGrid(F.instanceNorm(t, { epsilon }), standardized(x, ([i, j]) => i * 99 + j, epsilon));
    }),
    { numRuns: 20, seed: 1 },
  );
});

Deno.test("layerNorm: a mean far from 0 does not spoil the variance", async () => {
  const x = tensor([4096, 4097, 4098, 4099]);
  const [y] = await F.layerNorm(x, 4).toArray() as number[];
  assertAlmostEquals(y, -1.5 / Math.sqrt(1.25), 1e-4);
});

Deno.test("batchNorm: training moves the running statistics in place, eval reads them", async () => {
  const [mean, variance] = [zeros([2]), ones([2])];
  const x = tensor([[1, 10], [3, 30]], { requiresGrad: true });
  const y = F.batchNorm(x, mean, variance, { training: true, momentum: 0.75 });
  assertEquals(y.requiresGrad, true);
  assertEquals(await mean.toArray(), [0.5, 5]);
  assertEquals(await variance.toArray(), [1, 25.75]);
  assertEquals(mean.requiresGrad, false);
  const z = F.batchNorm(tensor([[0.5, 5]]), mean, variance);
  assertEquals(await z.toArray(), [[0, 0]]);
});

Deno.test("batchNorm: float16 input with float32 statistics", () => {
  const [mean, variance] = [zeros([2]), ones([2])];
  const x = tensor([[1, 10], [3, 30]]).cast("float16");
  const y = F.batchNorm(x, mean, variance, { training: true });
  assertEquals([y.dtype, mean.dtype], ["float16", "float32"]);
});

Deno.test("norms: what goes wrong is said", () => {
  const x = zeros([4, 6]);
  assertThrows(
    () => F.layerNorm(x, 5),
    ShapeError,
    "Cannot layerNorm [4, 6] over [5]: the input must end in the normalized shape",
  );
  assertThrows(
    () => F.layerNorm(x, 6, { weight: zeros([4]) }),
    ShapeError,
    "Cannot layerNorm with weight [4]: expected [6]",
  );
  assertThrows(
    () => F.batchNorm(x, zeros([4]), ones([6])),
    ShapeError,
    "Cannot batchNorm with runningMean [4]: expected [6]",
  );
  assertThrows(
    () => F.batchNorm(zeros([1, 6]), zeros([6]), ones([6]), { training: true }),
    ValueError,
    "Cannot batchNorm [1, 6] in training: one element for each channel has no spread; use a larger " +
      "batch, or eval mode",
  );
  assertThrows(
    () => F.groupNorm(x, 4),
    ShapeError,
    "Cannot groupNorm [4, 6] in 4 groups: the input must be [batch, channels, …], with channels that " +
      "divide by the groups",
  );
  assertThrows(
    () => F.instanceNorm(x),
    ShapeError,
    "Cannot instanceNorm [4, 6]: the input must be [batch, channels, …] with at least one axis of space",
  );
  assertThrows(
    () => F.rmsNorm(x, { epsilon: -1 }),
    ValueError,
    "Cannot rmsNorm with epsilon -1: it must be at least 0",
  );
});
