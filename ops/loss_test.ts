import { assertAlmostEquals, assertEquals, assertThrows } from "jsr:@std/assert@1";
import fc from "npm:fast-check@4";
import { setRequiresGrad } from "../core/autograd.ts";
import { DTypeError, IndexError, ShapeError, ValueError } from "../core/errors.ts";
import { grad, nn, tensor, zeros } from "../mod.ts";
import { assertGrid, at, type Grid, grid, noise, toTensor } from "../tests/grid.ts";

const F = nn.functional;

/** log(softmax) along the last axis, in plain numbers. */
function logProbabilities(x: Grid): Grid {
  const classes = x.shape[x.shape.length - 1];
  return grid(x.shape, (_, i) => {
    const row = x.values.slice(i - i % classes, i - i % classes + classes);
    const top = Math.max(...row);
    return x.values[i] - top - Math.log(row.reduce((s, v) => s + Math.exp(v - top), 0));
  });
}

Deno.test("crossEntropy: any labels, weights, ignored ones and smoothing, as the definition says", () => {
  const label = fc.integer({ min: -1, max: 3 });
  fc.assert(
    fc.property(
      fc.array(label, { minLength: 1, maxLength: 6 }),
      fc.boolean(),
      fc.constantFrom(0, 0.25),
      fc.constantFrom("mean", "sum", "none"),
      (labels, weighted, smoothing, reduction) => {
        const x = noise([labels.length, 4], 5);
        const w = grid([4], ([i]) => 0.5 + i);
        const logp = logProbabilities(x);
        const weight = (c: number) => (c < 0 ? 0 : weighted ? w.values[c] : 1);
        const losses = labels.map((c, i) => {
          if (c < 0) return 0;
          const even = [0, 1, 2, 3].reduce((s, j) => s + at(logp, [i, j]), 0) / 4;
          return -weight(c) * ((1 - smoothing) * at(logp, [i, c]) + smoothing * even);
        });
        const sum = losses.reduce((a, b) => a + b, 0);
        const total = labels.reduce((a, c) => a + weight(c), 0);
        const out = F.crossEntropy(toTensor(x), tensor(labels, { dtype: "int32" }), {
          weight: weighted ? toTensor(w) : undefined,
          ignoreIndex: -1,
          labelSmoothing: smoothing,
          reduction,
        });
        const one = { shape: [], values: [reduction === "sum" ? sum : sum / (total || 1)] };
        assertGrid(out, reduction === "none" ? { shape: [labels.length], values: losses } : one);
      },
    ),
    { numRuns: 60, seed: 1 },
  );
});

Deno.test("crossEntropy: its gradient is softmax less the label, and 0 for ignored ones", async () => {
  const x = tensor([[1, 2, 3], [1, 2, 3]], { dtype: "float64", requiresGrad: true });
  const loss = F.crossEntropy(x, tensor([2, -100], { dtype: "int32" }));
  const [g] = grad(loss, x);
  const p = await F.softmax(tensor([1, 2, 3], { dtype: "float64" })).toArray() as number[];
  const rows = await g.toArray() as number[][];
  p.forEach((v, i) => assertAlmostEquals(rows[0][i], i === 2 ? v - 1 : v, 1e-12));
  assertEquals(rows[1], [0, 0, 0]);
});

Deno.test("crossEntropy: a class of probability 0 elsewhere costs nothing and gives no NaN", async () => {
  const x = tensor([[0, -Infinity]], { requiresGrad: true });
  const loss = F.crossEntropy(x, tensor([0], { dtype: "int64" }));
  assertEquals(await loss.item(), 0);
  assertEquals(await grad(loss, x)[0].toArray(), [[0, 0]]);
});

Deno.test("crossEntropy: one cached plan serves two batch sizes, each with its own mean", async () => {
  for (const n of [2, 3, 2]) {
    const x = zeros([n, 4]);
    const labels = zeros([n], { dtype: "int32" });
    assertAlmostEquals(await F.crossEntropy(x, labels).item() as number, Math.log(4), 1e-6);
    const sum = F.crossEntropy(x, labels, { reduction: "sum" });
    assertAlmostEquals(await sum.item() as number, n * Math.log(4), 1e-5);
  }
});

Deno.test("crossEntropy, nllLoss: what goes wrong is said", () => {
  const x = zeros([2, 10]);
  const labels = (...values: number[]) => tensor(values, { dtype: "int32" });
  assertThrows(
    () => F.crossEntropy(x, labels(3, 12)),
    IndexError,
    "Cannot crossEntropy with label 12: labels must be in 0..9 (10 classes) or ignoreIndex -100",
  );
  assertThrows(
    () => F.nllLoss(x, labels(-1, 0), { ignoreIndex: 5 }),
    IndexError,
    "Cannot nllLoss with label -1: labels must be in 0..9 (10 classes) or ignoreIndex 5",
  );
  assertThrows(
    () => F.crossEntropy(x, labels(1, 2, 3)),
    ShapeError,
    "Cannot crossEntropy [2, 10] with labels [3]: they must have the input's shape without its class " +
      "axis 1: expected [2]",
  );
  assertThrows(
    () => F.crossEntropy(x, tensor([1, 2])),
    DTypeError,
    `Cannot crossEntropy with float32 labels: class numbers must be integers; cast them to "int32"`,
  );
  assertThrows(
    () => F.crossEntropy(x, labels(1, 2), { weight: zeros([3]) }),
    ShapeError,
    "Cannot crossEntropy with weight [3]: there must be one weight for each class: expected [10]",
  );
  assertThrows(
    () => F.crossEntropy(x, labels(1, 2), { reduction: "avg" as "mean" }),
    ValueError,
    `Cannot crossEntropy with reduction "avg": it must be "mean", "sum" or "none"`,
  );
  assertThrows(
    () => F.crossEntropy(x, labels(1, 2), { labelSmoothing: 1.5 }),
    ValueError,
    "Cannot crossEntropy with labelSmoothing 1.5: it must be from 0 to 1",
  );
  assertThrows(
    () => F.crossEntropy(x, zeros([2, 9]), { softLabel: true }),
    ShapeError,
    "Cannot crossEntropy [2, 10] with soft labels [2, 9]: both must have one shape",
  );
});

Deno.test("softmax: any axis sums to 1 and is right far from 0", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2 }), fc.integer({ min: -9, max: 9 }), (axis, far) => {
      const x = noise([2, 3, 4], 3);
      const moved = toTensor(grid(x.shape, (_, i) => x.values[i] + 100 * far));
      const y = F.softmax(moved, axis);
      const shape = x.shape.filter((_, i) => i !== axis);
      assertGrid(y.sum(axis), grid(shape, () => 1));
      assertGrid(F.logSoftmax(moved, axis).exp().sub(y), grid(x.shape, () => 0), 1e-6);
    }),
    { numRuns: 20, seed: 1 },
  );
});

Deno.test("losses of pairs never broadcast", () => {
  assertThrows(
    () => F.mseLoss(zeros([4, 1]), zeros([4])),
    ShapeError,
    "Cannot mseLoss [4, 1] with [4]: shapes must be equal; reshape or squeeze one of them",
  );
  assertThrows(
    () => F.marginRankingLoss(zeros([4]), zeros([4]), zeros([1])),
    ShapeError,
    "Cannot marginRankingLoss [4] with [4] with [1]: shapes must be equal",
  );
  assertThrows(
    () => F.binaryCrossEntropy(zeros([4]), zeros([4]), { weight: zeros([3]) }),
    ShapeError,
    "Cannot binaryCrossEntropy [4] with weight [3]: it must broadcast to the input",
  );
  assertThrows(
    () => F.l1Loss(zeros([4]), zeros([4]), { reduction: "avg" as "mean" }),
    ValueError,
    `Cannot l1Loss with reduction "avg"`,
  );
  assertThrows(
    () => F.smoothL1Loss(zeros([4]), zeros([4]), { delta: 0 }),
    ValueError,
    "Cannot smoothL1Loss with delta 0: it must be greater than 0",
  );
});

Deno.test("klDiv: a target of 0 costs nothing, and its gradients are finite", async () => {
  const logp = tensor([-1, -2], { requiresGrad: true });
  const target = tensor([0, 1]);
  setRequiresGrad(target, true);
  const loss = F.klDiv(logp, target, { reduction: "sum" });
  assertEquals(await loss.item(), 2);
  const [a, b] = grad(loss, [logp, target]);
  assertEquals(await a.toArray(), [-0, -1]);
  assertEquals((await b.toArray() as number[]).every(Number.isFinite), true);
});
