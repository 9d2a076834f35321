import { assert, assertAlmostEquals, assertEquals, assertThrows } from "jsr:@std/assert@1";
import { nn, seed, ShapeError, type Tensor, tensor, ValueError } from "../mod.ts";

const init = nn.initializer;
const float32 = { dtype: "float32" } as const;
const float64 = { dtype: "float64" } as const;

async function numbers(x: Tensor): Promise<number[]> {
  return Array.from(await x.data(), Number);
}

function moments(
  xs: readonly number[],
): { mean: number; std: number; least: number; most: number } {
  const mean = xs.reduce((a, b) => a + b, 0) / xs.length;
  const std = Math.sqrt(xs.reduce((a, b) => a + (b - mean) ** 2, 0) / xs.length);
  return { mean, std, least: Math.min(...xs), most: Math.max(...xs) };
}

Deno.test("nn.initializer: fans as in Paddle", () => {
  assertEquals(init.fansOf([]), { fanIn: 1, fanOut: 1 });
  assertEquals(init.fansOf([5]), { fanIn: 5, fanOut: 5 });
  assertEquals(init.fansOf([3, 4]), { fanIn: 3, fanOut: 4 });
  assertEquals(init.fansOf([8, 3, 2, 5]), { fanIn: 30, fanOut: 80 });
});

Deno.test("nn.initializer: means, deviations and bounds of the random rules", async () => {
  seed(11);
  const shape = [60, 40, 3, 2];
  const [fanIn, fanOut] = [240, 360];
  const uniform = (limit: number) => ({ std: limit / Math.sqrt(3), limit });
  const rules: [nn.initializer.Initializer, { std: number; mean?: number; limit?: number }][] = [
    [new init.Normal({ mean: 3, std: 0.5 }), { mean: 3, std: 0.5 }],
    [new init.Uniform({ low: -2, high: 2 }), uniform(2)],
    [new init.XavierNormal({ gain: 2 }), { std: 2 * Math.sqrt(2 / (fanIn + fanOut)) }],
    [new init.XavierUniform(), uniform(Math.sqrt(6 / (fanIn + fanOut)))],
    [new init.KaimingNormal({ mode: "fanOut" }), { std: Math.sqrt(2 / fanOut) }],
    [new init.KaimingNormal({ negativeSlope: 2 }), { std: Math.sqrt(2 / 5 / fanIn) }],
    [new init.KaimingUniform({ nonlinearity: "linear" }), uniform(Math.sqrt(3 / fanIn))],
  ];
  for (const [rule, { mean = 0, std, limit }] of rules) {
    for (const options of [float32, float64]) {
      const found = moments(await numbers(rule.create(shape, options)));
      const name = `${rule.constructor.name} ${options.dtype}`;
      // Of 14400 values: five standard errors.
      assertAlmostEquals(found.mean, mean, 5 * std / Math.sqrt(14400), name);
      assertAlmostEquals(found.std / std, 1, 5 / Math.sqrt(2 * 14400), name);
      if (limit === undefined) continue;
      assert(found.least >= -limit * (1 + 1e-6) && found.most <= limit * (1 + 1e-6), name);
      assert(found.least < -0.99 * limit && found.most > 0.99 * limit, name);
    }
  }
});

Deno.test("nn.initializer: TruncatedNormal has the moments of its formula", async () => {
  seed(12);
  const rule = new init.TruncatedNormal({ mean: 1, std: 0.5, low: 0.5, high: 2.5 });
  const xs = await numbers(rule.create([20000], float64));
  const { mean, std, least, most } = moments(xs);
  // With α = -1, β = 3: φ(α) = 0.2419707, φ(β) = 0.0044318, Z = Φ(β) - Φ(α) = 0.8399948.
  const [a, b, z] = [0.24197072, 0.00443185, 0.83999485];
  const shift = (a - b) / z;
  const expected = 0.5 * Math.sqrt(1 + (-1 * a - 3 * b) / z - shift * shift);
  assertAlmostEquals(mean, 1 + 0.5 * shift, 5 * expected / Math.sqrt(20000));
  assertAlmostEquals(std / expected, 1, 0.03);
  assert(least >= 0.5 && least < 0.51 && most <= 2.5 && most > 2.2);
  const usual = moments(await numbers(new init.TruncatedNormal().create([5000], float32)));
  assert(usual.least >= -2 && usual.most <= 2 && usual.most > 1.8);
});

Deno.test("nn.initializer: seed(n) makes models the same again", async () => {
  const make = async () => {
    seed(3);
    const model = new nn.Sequential(
      new nn.Conv2D(1, 2, 3),
      new nn.Linear(3, 4),
      new nn.Linear(4, 2, { weightInit: new init.Orthogonal() }),
    );
    return await Promise.all(model.parameters().map(numbers));
  };
  const first = await make();
  assertEquals(await make(), first);
  assert(first[0].some((x) => x !== first[0][0]));
});

Deno.test("nn.initializer: Orthogonal has orthonormal rows or columns", async () => {
  seed(9);
  for (const shape of [[3, 5], [5, 3], [4, 4], [2, 3, 2, 2], [1, 1], [40, 25], [90, 90]]) {
    const columns = shape.slice(1).reduce((a, b) => a * b, 1);
    const x = new init.Orthogonal({ gain: 2 }).create(shape, float64);
    assertEquals(x.shape, shape);
    const q = x.reshape([shape[0], columns]);
    const product = shape[0] <= columns ? q.matmul(q.mT) : q.mT.matmul(q);
    const rows = await product.toArray() as number[][];
    rows.forEach((row, i) =>
      row.forEach((v, j) => assertAlmostEquals(v, i === j ? 4 : 0, 1e-13, `${shape} ${i} ${j}`))
    );
  }
  // Uniform over orthogonal matrices: of 2 × 2 ones, as many reflections as rotations.
  seed(5);
  let reflections = 0;
  for (let i = 0; i < 400; i++) {
    const [a, b, c, d] = await numbers(new init.Orthogonal().create([2, 2], float64));
    if (a * d - b * c < 0) reflections++;
  }
  assertAlmostEquals(reflections, 200, 50);
});

Deno.test("nn.initializer: Assign copies, casts, and checks shapes", async () => {
  const value = tensor([[1, 2]]);
  const rule = new init.Assign(value);
  const layer = new nn.Linear(1, 2, { weightInit: rule, dtype: "float64" });
  assertEquals([layer.weight.dtype, await layer.weight.toArray()], ["float64", [[1, 2]]]);
  const same = new nn.Linear(1, 2, { weightInit: rule });
  value.fill_(9);
  assertEquals(await same.weight.toArray(), [[1, 2]]);
  assertThrows(() => new nn.Linear(2, 1, { weightInit: rule }), ShapeError, "[1, 2]");
});

Deno.test("nn.initializer: defaults of layers", async () => {
  const linear = new nn.Linear(50, 30);
  const limit = Math.sqrt(6 / 80);
  const { least, most } = moments(await numbers(linear.weight));
  assert(least >= -limit && most <= limit && most > 0.9 * limit);
  assertEquals(new Set(await numbers(linear.bias!)), new Set([0]));
  const conv = new nn.Conv2D(16, 64, 3, { groups: 2 });
  assertAlmostEquals(moments(await numbers(conv.weight)).std / Math.sqrt(2 / 72), 1, 0.06);
});

Deno.test("nn.initializer: numbers out of range", () => {
  assertThrows(() => new init.Normal({ std: -1 }), ValueError, "std -1");
  assertThrows(() => new init.Normal({ mean: NaN }), ValueError, "mean NaN");
  assertThrows(() => new init.Uniform({ low: 2, high: 1 }), ValueError, "high 1");
  assertThrows(() => new init.TruncatedNormal({ std: 0 }), ValueError, "std 0");
  assertThrows(() => new init.XavierNormal({ gain: -1 }), ValueError, "gain -1");
  assertThrows(() => new init.Orthogonal().create([3], float32), ShapeError, "[3]");
});
