// Layers beyond their goldens: shapes, modes, errors, and that a small model trains.
import { assert, assertEquals, assertThrows } from "jsr:@std/assert@1";
import {
  nn,
  ones,
  optim,
  randn,
  seed,
  ShapeError,
  type Tensor,
  tensor,
  ValueError,
  zeros,
} from "../mod.ts";

Deno.test("nn layers: every activation and loss is the function of its name", async () => {
  const F = nn.functional as unknown as Record<string, (...args: unknown[]) => Tensor>;
  const x = tensor([[-2.5, -0.3, 0], [0.4, 1.5, 8]]);
  const unary: [nn.Layer, string, unknown?][] = [
    [new nn.Sigmoid(), "sigmoid"],
    [new nn.LogSigmoid(), "logSigmoid"],
    [new nn.Tanh(), "tanh"],
    [new nn.Tanhshrink(), "tanhshrink"],
    [new nn.SiLU(), "silu"],
    [new nn.Mish(), "mish"],
    [new nn.SELU(), "selu"],
    [new nn.Softsign(), "softsign"],
    [new nn.GELU({ approximate: true }), "gelu", { approximate: true }],
    [new nn.ELU({ alpha: 2 }), "elu", { alpha: 2 }],
    [new nn.CELU({ alpha: 2 }), "celu", { alpha: 2 }],
    [new nn.Softplus({ beta: 2, threshold: 3 }), "softplus", { beta: 2, threshold: 3 }],
    [new nn.Softmax({ axis: 0 }), "softmax", 0],
    [new nn.LogSoftmax(), "logSoftmax"],
    [new nn.ReLU(), "relu"],
    [new nn.ReLU6(), "relu6"],
    [new nn.Hardswish(), "hardswish"],
    [new nn.Hardsigmoid(), "hardsigmoid"],
    [new nn.LeakyReLU({ negativeSlope: 0.2 }), "leakyRelu", { negativeSlope: 0.2 }],
    [new nn.Hardtanh({ min: -2 }), "hardtanh", { min: -2 }],
    [new nn.Softshrink({ threshold: 1 }), "softshrink", { threshold: 1 }],
    [new nn.Hardshrink({ threshold: 1 }), "hardshrink", { threshold: 1 }],
    [new nn.ThresholdedReLU({ threshold: 0.1 }), "thresholdedRelu", { threshold: 0.1 }],
  ];
  for (const [layer, name, options] of unary) {
    assertEquals(await layer.call(x).toArray(), await F[name](x, options).toArray(), name);
  }
  const a = tensor([0.2, 0.7, 0.9]);
  const b = tensor([1, 0, 1]);
  const sum = { reduction: "sum" } as const;
  const binary: [nn.Layer<[Tensor, Tensor]>, string, unknown?][] = [
    [new nn.MSELoss(sum), "mseLoss", sum],
    [new nn.L1Loss(), "l1Loss"],
    [new nn.SmoothL1Loss({ delta: 0.25 }), "smoothL1Loss", { delta: 0.25 }],
    [new nn.KLDivLoss({ reduction: "batchmean" }), "klDiv", { reduction: "batchmean" }],
    [new nn.HingeEmbeddingLoss({ margin: 2 }), "hingeEmbeddingLoss", { margin: 2 }],
    [new nn.SoftMarginLoss(), "softMarginLoss"],
    [new nn.BCELoss({ weight: a }), "binaryCrossEntropy", { weight: a }],
    [
      new nn.BCEWithLogitsLoss({ posWeight: a }),
      "binaryCrossEntropyWithLogits",
      { posWeight: a },
    ],
    [new nn.CosineSimilarity({ axis: 0 }), "cosineSimilarity", { axis: 0 }],
  ];
  for (const [layer, name, options] of binary) {
    assertEquals(await layer.call(a, b).toArray(), await F[name](a, b, options).toArray(), name);
  }
  const label = tensor([2, 0], { dtype: "int32" });
  const weight = tensor([1, 2, 3]);
  const cross = new nn.CrossEntropyLoss({ weight });
  assertEquals(
    await cross.call(x, label).item(),
    await F.crossEntropy(x, label, { weight }).item(),
  );
  assertEquals(
    await new nn.NLLLoss({ weight }).call(x, label).item(),
    await F.nllLoss(x, label, { weight }).item(),
  );
  assertEquals(Object.keys(cross.stateDict()), []);
  assertEquals(cross.to("float64").weight!.dtype, "float64");
  const ranking = new nn.MarginRankingLoss({ margin: 1 });
  assertEquals(
    await ranking.call(a, b, b).item(),
    await F.marginRankingLoss(a, b, b, { margin: 1 }).item(),
  );
});

Deno.test("nn layers: batch normalization in both modes", async () => {
  seed(2);
  const layer = new nn.BatchNorm2D(3, { momentum: 0 });
  const x = randn([4, 3, 5, 5]).mul(3).add(1);
  const y = layer.call(x);
  const close = async (a: Tensor, b: Tensor) => {
    const difference = await a.sub(b).abs().max().item() as number;
    assert(difference < 1e-5, `${difference}`);
  };
  await close(y.mean([0, 2, 3]), zeros([3]));
  await close(layer.runningMean, x.mean([0, 2, 3]));
  // With momentum 0 evaluation uses the very statistics of the batch.
  await close(layer.eval().call(x), y);
  const before = await layer.runningMean.toArray();
  layer.call(x.add(5));
  assertEquals(await layer.runningMean.toArray(), before);
  assertEquals(layer.runningMean.requiresGrad, false);
});

Deno.test("nn layers: without affine parameters", () => {
  assertEquals(new nn.BatchNorm1D(2, { affine: false }).parameters(), []);
  assertEquals(new nn.LayerNorm([2, 3], { affine: false }).call(ones([4, 2, 3])).shape, [4, 2, 3]);
  assertEquals(new nn.RMSNorm(3).namedParameters().map(([name]) => name), ["weight"]);
});

Deno.test("nn layers: sizes and ranks that do not fit", () => {
  assertThrows(() => new nn.Linear(0, 2), ValueError, "inFeatures 0");
  assertThrows(() => new nn.Conv2D(3, 4, 3, { groups: 2 }), ValueError, "2 groups");
  assertThrows(() => new nn.Conv2D(2, 4, 1.5), ValueError, "height 1.5");
  assertThrows(() => new nn.GroupNorm(2, 3), ValueError, "2 groups");
  assertThrows(() => new nn.BatchNorm1D(2, { momentum: 2 }), ValueError, "momentum 2");
  assertThrows(() => new nn.LayerNorm(2, { epsilon: -1 }), ValueError, "epsilon -1");
  assertThrows(() => new nn.Dropout({ p: 1.5 }), ValueError, "p 1.5");
  assertThrows(() => new nn.Embedding(3, 2, { paddingIdx: 3 }), ValueError, "paddingIdx 3");
  assertThrows(() => new nn.BatchNorm2D(2).call(ones([1, 2])), ShapeError, "rank 2");
  assertThrows(() => new nn.BatchNorm1D(2).call(ones([1, 2, 3, 3])), ShapeError, "rank 4");
  assertThrows(() => new nn.InstanceNorm2D(2).call(ones([1, 2])), ShapeError, "rank 2");
  assertThrows(() => new nn.Unflatten(1, [3, 3]).call(ones([2, 6])), ShapeError, "multiply to 6");
  assertThrows(() => new nn.Unflatten(1, [4, -1]).call(ones([2, 6])), ShapeError);
});

Deno.test("nn layers: a small model learns exclusive or", async () => {
  seed(4);
  const model = new nn.Sequential(new nn.Linear(2, 16), new nn.Tanh(), new nn.Linear(16, 2));
  const optimizer = new optim.Adam({ parameters: model.parameters(), learningRate: 0.05 });
  const x = tensor([[0, 0], [0, 1], [1, 0], [1, 1]]);
  const y = tensor([0, 1, 1, 0], { dtype: "int32" });
  const loss = new nn.CrossEntropyLoss();
  const losses: number[] = [];
  for (let i = 0; i < 100; i++) {
    const value = loss.call(model.call(x), y);
    value.backward();
    await optimizer.step();
    optimizer.clearGrad();
    losses.push(await value.item() as number);
  }
  assert(losses[0] > 0.5 && losses[99] < 0.05, `${losses[0]} … ${losses[99]}`);
  assertEquals(await model.call(x).argmax(1).toArray(), [0, 1, 1, 0]);
});

Deno.test("nn layers: a small convolutional model with batch normalization trains", async () => {
  seed(6);
  const model = new nn.Sequential(
    new nn.Conv2D(1, 4, 3, { padding: 1 }),
    new nn.BatchNorm2D(4),
    new nn.ReLU(),
    new nn.MaxPool2D(2),
    new nn.Flatten(),
    new nn.Dropout({ p: 0.1 }),
    new nn.Linear(4 * 3 * 3, 2),
  );
  const learningRate = new optim.lr.LinearWarmup(0.1, 3, { startLr: 0.01, endLr: 0.1 });
  const optimizer = new optim.Momentum({
    parameters: model.parameters(),
    learningRate,
    gradClip: new optim.ClipGradByGlobalNorm(1),
  });
  // Bars across or along.
  const image = (k: number) =>
    Array.from(
      { length: 6 },
      (_, i) => Array.from({ length: 6 }, (_, j) => (k % 2 ? i : j) === k % 5 ? 1 : 0),
    );
  const x = tensor(Array.from({ length: 10 }, (_, k) => [image(k)]));
  const y = tensor(Array.from({ length: 10 }, (_, k) => k % 2), { dtype: "int32" });
  let last = 0;
  let first = 0;
  for (let i = 0; i < 25; i++) {
    const loss = nn.functional.crossEntropy(model.call(x), y);
    loss.backward();
    await optimizer.step();
    optimizer.clearGrad();
    learningRate.step();
    last = await loss.item() as number;
    if (i === 0) first = last;
  }
  assert(first > 0.4 && last < 0.15, `${first} … ${last}`);
  model.eval();
  assertEquals(await model.call(x).argmax(1).toArray(), await y.toArray());
});
