import { assert, assertAlmostEquals, assertEquals, assertThrows } from "jsr:@std/assert@1";
import {
  bernoulli,
  defaultGenerator,
  dropout,
  DTypeError,
  Generator,
  grad,
  multinomial,
  normal,
  ones,
  rand,
  randint,
  randn,
  randperm,
  seed,
  ShapeError,
  type Tensor,
  tensor,
  uniform,
  ValueError,
} from "../mod.ts";
import {
  uint32PairToNormalFloat32,
  uint32PairToUniformFloat64,
  uint32QuadToNormalFloat64,
  uint32ToUniformFloat32,
} from "../core/random/distributions.ts";
import { philoxWords } from "../core/random/philox.ts";

const N = 37;

function words(generator: Generator, count: number): Uint32Array {
  return philoxWords(generator.reserve(count), 0, new Uint32Array(count));
}

function values(x: Tensor): number[] {
  return Array.from(x.dataSync() as ArrayLike<number | bigint>, Number);
}

for (const place of ["cpu", "ref"]) {
  Deno.test(`uniforms are those of the host stream, bit for bit (${place})`, () => {
    const host = words(new Generator(9), N);
    const x = rand([N], { generator: new Generator(9), place });
    assertEquals(values(x), [...host].map(uint32ToUniformFloat32));
    const host2 = words(new Generator(9), 2 * N);
    const y = rand([N], { generator: new Generator(9), dtype: "float64", place });
    assertEquals(
      values(y),
      Array.from(
        { length: N },
        (_, i) => uint32PairToUniformFloat64(host2[2 * i], host2[2 * i + 1]),
      ),
    );
  });

  Deno.test(`normals are those of the host stream (${place})`, () => {
    const host = words(new Generator(-3), 4 * N);
    const x = values(randn([N], { generator: new Generator(-3), place }));
    x.forEach((v, i) => {
      assertAlmostEquals(v, uint32PairToNormalFloat32(host[2 * i], host[2 * i + 1]), 2e-6);
    });
    const y = values(randn([N], { generator: new Generator(-3), dtype: "float64", place }));
    y.forEach((v, i) => {
      const [a, b, c, d] = host.subarray(4 * i, 4 * i + 4);
      assertAlmostEquals(v, uint32QuadToNormalFloat64(a, b, c, d), 1e-14);
    });
  });

  Deno.test(`integers are the upper part of a 64-bit product (${place})`, () => {
    const cases: [bigint, bigint, "int32" | "int64"][] = [
      [0n, 10n, "int32"],
      [-5n, -4n, "int32"],
      [-(2n ** 31n), 2n ** 31n, "int32"],
      [0n, 2n ** 31n, "int32"],
      [-(2n ** 31n), 7n, "int32"],
      [-3n, 4n, "int64"],
      [-(2n ** 63n), 2n ** 63n, "int64"],
      [1n, 3n * 10n ** 18n, "int64"],
    ];
    for (const [low, high, dtype] of cases) {
      const host = words(new Generator(5), 2 * N);
      const want = Array.from({ length: N }, (_, i) => {
        const word = (BigInt(host[2 * i + 1]) << 32n) | BigInt(host[2 * i]);
        return low + ((word * (high - low)) >> 64n);
      });
      const x = randint(low, high, { shape: [N], dtype, generator: new Generator(5), place });
      assertEquals(Array.from(x.dataSync() as ArrayLike<number | bigint>, BigInt), want);
    }
  });

  Deno.test(`what is drawn does not depend on the shape (${place})`, () => {
    const make = (shape: number[]) => values(rand(shape, { generator: new Generator(4), place }));
    const flat = make([60]);
    assertEquals(make([3, 4, 5]), flat);
    assertEquals(make([60, 1]), flat);
    assertEquals(make([7]), flat.slice(0, 7));
    assertEquals(make([]), flat.slice(0, 1));
    assertEquals(make([0, 3]), []);
  });

  Deno.test(`dropout and bernoulli take the same uniforms as rand (${place})`, () => {
    const u = values(rand([6, 7], { generator: new Generator(11), place }));
    const x = ones([6, 7], { place });
    const y = dropout(x, { p: 0.25, generator: new Generator(11) });
    assertEquals(values(y), u.map((v) => (v >= 0.25 ? Math.fround(1 / 0.75) : 0)));
    const p = tensor(u.map((_, i) => (i % 5) / 4), { place });
    const b = bernoulli(p, { generator: new Generator(11) });
    assertEquals(values(b), u.map((v, i) => Number(v < (i % 5) / 4)));
  });
}

Deno.test("transposed operands draw by their logical position", () => {
  const u = values(rand([4, 3], { generator: new Generator(2) }));
  const x = ones([3, 4]).transpose(0, 1);
  const y = dropout(x, { generator: new Generator(2) });
  assertEquals(values(y.add(0)), u.map((v) => (v >= 0.5 ? 2 : 0)));
});

Deno.test("narrow floats never reach 1 and lie on their grid", () => {
  for (const [dtype, step] of [["float16", 2 ** -11], ["bfloat16", 2 ** -8]] as const) {
    const x = values(rand([5000], { dtype, generator: new Generator(1) }));
    assert(x.every((v) => v >= 0 && v < 1 && Number.isInteger(v / step)));
    assert(Math.max(...x) > 0.99);
  }
});

Deno.test("moments are right", async () => {
  const generator = new Generator(123);
  const n = 40000;
  const z = randn([n], { generator });
  const near = async (x: Tensor, want: number, tolerance: number) =>
    assertAlmostEquals(await x.item() as number, want, tolerance);
  await near(z.mean(), 0, 0.02);
  await near(z.square().mean(), 1, 0.03);
  await near(z.mul(z).mul(z).mean(), 0, 0.08);
  await near(z.square().square().mean(), 3, 0.2);
  const u = uniform([n], { min: -2, max: 4, generator });
  await near(u.mean(), 1, 0.04);
  await near(u.sub(1).square().mean(), 3, 0.06);
  const scaled = normal({ mean: 5, std: 0.5, shape: [n], generator });
  await near(scaled.mean(), 5, 0.02);
  await near(scaled.sub(5).square().mean(), 0.25, 0.01);
});

Deno.test("each value of a small range is drawn about equally often", () => {
  const counts = new Array<number>(7).fill(0);
  for (const v of values(randint(7, undefined, { shape: [14000], generator: new Generator(6) }))) {
    counts[v]++;
  }
  assert(counts.every((c) => Math.abs(c - 2000) < 200), String(counts));
});

Deno.test("a seed repeats everything; a generator of one's own leaves the global one alone", () => {
  const draw = () => [
    ...values(rand([5])),
    ...values(randn([5])),
    ...values(randperm(5)),
    ...values(randint(100, undefined, { shape: [5] })),
  ];
  seed(42);
  const first = draw();
  seed(42);
  rand([100], { generator: new Generator(1) });
  assertEquals(draw(), first);
  assert(String(draw()) !== String(first));
});

Deno.test("draws take the documented number of words", () => {
  const generator = new Generator(0);
  const taken = (fn: () => unknown) => {
    const before = generator.offset;
    fn();
    return Number(generator.offset - before);
  };
  const shape = [10, 10];
  const half = ones(shape).mul(0.5);
  assertEquals(taken(() => rand(shape, { generator })), 25);
  assertEquals(taken(() => rand(shape, { generator, dtype: "float64" })), 50);
  assertEquals(taken(() => randn(shape, { generator })), 50);
  assertEquals(taken(() => randn(shape, { generator, dtype: "float64" })), 100);
  assertEquals(taken(() => randint(9, undefined, { shape, generator })), 50);
  assertEquals(taken(() => bernoulli(half, { generator })), 25);
  assertEquals(taken(() => dropout(half, { generator })), 25);
  assertEquals(taken(() => dropout(half, { generator, training: false })), 0);
  assertEquals(taken(() => randperm(101, { generator })), 25);
  assertEquals(taken(() => multinomial(half, 4, { generator, replacement: true })), 10);
  assertEquals(taken(() => multinomial(half, 4, { generator })), 25);
});

Deno.test("the gradient of dropout goes where the value went, and so does the next one", () => {
  const x = ones([50], { requiresGrad: true });
  const y = dropout(x, { p: 0.3, generator: new Generator(8) });
  const g = ones([50], { requiresGrad: true });
  const [dx] = grad([y], [x], { gradOutputs: [g], createGraph: true });
  assertEquals(values(dx), values(y));
  const [dg] = grad([dx], [g], { gradOutputs: [ones([50])] });
  assertEquals(values(dg), values(y));
});

Deno.test("dropout: modes, p = 0 and p = 1", () => {
  const x = tensor([1, -2, 3]);
  assert(dropout(x, { training: false }) === x);
  assertEquals(values(dropout(x, { p: 0 })), [1, -2, 3]);
  assertEquals(values(dropout(x, { p: 1 })).map(Math.abs), [0, 0, 0]);
  const down = { p: 0.5, mode: "downscale_in_infer" } as const;
  assertEquals(values(dropout(x, { ...down, training: false })), [0.5, -1, 1.5]);
  assert(values(dropout(ones([99]), down)).every((v) => v === 0 || v === 1));
  assertEquals(values(dropout(tensor([Infinity, NaN]), { p: 1 })), [0, 0]);
});

Deno.test("normal passes gradients to tensors of mean and deviation", () => {
  const mean = tensor([[1], [2]], { requiresGrad: true });
  const std = tensor([1, 2, 3], { requiresGrad: true });
  const x = normal({ mean, std, generator: new Generator(3) });
  assertEquals(x.shape, [2, 3]);
  const z = values(randn([2, 3], { generator: new Generator(3) }));
  const [dm, ds] = grad([x.sum()], [mean, std]);
  assertEquals(values(dm), [3, 3]);
  values(ds).forEach((v, i) => assertAlmostEquals(v, z[i] + z[i + 3], 1e-6));
});

Deno.test("multinomial follows the weights", () => {
  const weights = tensor([[1, 0, 3], [0, 5, 0]]);
  const n = 8000;
  const generator = new Generator(77);
  const drawn = multinomial(weights, n, { replacement: true, generator });
  assertEquals([drawn.shape, drawn.dtype], [[2, n], "int32"]);
  const rows = values(drawn);
  const ones = rows.slice(0, n).filter((v) => v === 0).length;
  assertAlmostEquals(ones / n, 0.25, 0.02);
  assertEquals(rows.slice(0, n).filter((v) => v === 1).length, 0);
  assert(rows.slice(n).every((v) => v === 1));
});

Deno.test("multinomial without replacement draws each category once, likely ones first", () => {
  const generator = new Generator(78);
  const order = values(multinomial(ones([20]), 20, { generator }));
  assertEquals([...order].sort((a, b) => a - b), Array.from({ length: 20 }, (_, i) => i));
  // With weights 1 and 3 the second comes first three times in four.
  const pairs = ones([4000, 2]).mul(tensor([1, 3]));
  const drawn = values(multinomial(pairs, 2, { generator }));
  const first = drawn.filter((v, i) => i % 2 === 0 && v === 1).length;
  assertAlmostEquals(first / 4000, 0.75, 0.03);
  const some = values(multinomial(tensor([0, 1, 0, 2]), 2, { generator }));
  assertEquals(some.sort(), [1, 3]);
});

Deno.test("randperm on every integer dtype", () => {
  const want = values(randperm(10, { generator: new Generator(1) }));
  for (const dtype of ["int64", "uint8", "float32"] as const) {
    const x = randperm(10, { generator: new Generator(1), dtype });
    assertEquals([x.dtype, values(x)], [dtype, want]);
  }
  assertEquals(randperm(0).shape, [0]);
});

Deno.test("randint in narrow and floating dtypes", () => {
  for (const dtype of ["uint8", "int8", "int16", "float32", "float16"] as const) {
    const x = randint(3, 120, { shape: [200], dtype });
    assertEquals(x.dtype, dtype);
    assert(values(x).every((v) => Number.isInteger(v) && v >= 3 && v < 120));
  }
});

Deno.test("bad arguments are refused", () => {
  assertThrows(() => rand([2], { dtype: "int32" }), DTypeError, "must be floating");
  assertThrows(() => rand([-1]), ShapeError);
  assertThrows(() => rand([2 ** 31]), ShapeError, "2^31 - 1");
  assertThrows(() => randint(5, 5), ValueError, "below");
  assertThrows(() => randint(0.5), ValueError, "safe integers");
  assertThrows(() => randint(0, 300, { dtype: "uint8" }), ValueError, "hold");
  assertThrows(() => randint(0, 3, { dtype: "bool" }), DTypeError);
  assertThrows(() => dropout(ones([2]), { p: 1.5 }), ValueError, "probability");
  assertThrows(() => dropout(ones([2]), { mode: "other" as "upscale_in_train" }), ValueError);
  assertThrows(() => bernoulli(tensor([1], { dtype: "int32" })), DTypeError);
  assertThrows(() => multinomial(tensor(1), 1), ShapeError);
  assertThrows(() => multinomial(ones([3]), 4), ValueError, "replacement");
  assertThrows(() => multinomial(ones([3]), 0), ValueError);
  assertThrows(() => randperm(-1), ValueError);
  assert(defaultGenerator() instanceof Generator);
});
