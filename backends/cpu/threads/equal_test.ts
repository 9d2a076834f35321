// Every kind of work gives the same bits with any number of threads, whoever takes the parts.
import { assertEquals } from "jsr:@std/assert@1";
import { composite, engine, type Operand } from "../../../core/op.ts";
import {
  cast,
  cumsum,
  gather,
  nn,
  noGrad,
  randn,
  takeAlongAxis,
  type Tensor,
  tensor,
} from "../../../mod.ts";
import { bits, filled, sameBits, sharing, values, withThreads } from "./support_test.ts";
import { livePools } from "./pool.ts";

const F = nn.functional;

Deno.test("elementwise, dense and strided", () => {
  const x = filled([257, 300]);
  const y = filled([300, 257], 2);
  sameBits(12, () => [
    x.exp().add(x.tanh()),
    x.add(y.transpose(0, 1)),
    x.slice({ axes: [0, 1], starts: [1, 2], ends: [250, 299], steps: [3, 2] }).sin(),
    x.reshape([257, 20, 15]).permute([2, 0, 1]).mul(2).contiguous(),
    x.greaterThan(y.transpose(0, 1)),
    cast(x.mul(1000), "int32"),
    cast(x, "bfloat16"),
    filled([3, 50000]).log1p(),
    filled([1, 4, 9000]).add(filled([4, 1])),
    filled([5, 1]).add(filled([1, 7001], 3)),
  ]);
});

Deno.test("reductions of rows, columns and everything", () => {
  const x = filled([500, 301]);
  const long = filled([300_001], 5);
  const many = filled([3, 100, 1001], 6);
  sameBits(14, () => [
    x.sum(1),
    x.sum(0),
    x.max(0),
    x.argmax(1),
    x.mean(1, { keepdim: true }),
    x.sum(),
    long.sum(),
    long.mean(),
    long.max(),
    long.min(),
    long.argmax(),
    long.argmin(),
    long.norm(),
    long.variance(),
    cast(long, "float64").sum(),
    cast(long.mul(100), "int32").sum(),
    long.greaterThan(2).any(),
    many.sum([1, 2]),
    many.sum([0, 2]),
    many.argmax(2),
    filled([200_000, 3]).sum(0),
    filled([2, 200_000]).logSumExp(1),
  ]);
});

Deno.test("softmax, layerNorm, losses, scans, gathers, random numbers", () => {
  const x = filled([333, 257]);
  const rows = tensor(Int32Array.from({ length: 5000 }, (_, i) => i * 7 % 333));
  const labels = tensor(Int32Array.from({ length: 333 }, (_, i) => i * 5 % 257));
  const [w, b] = [filled([257], 3), filled([257], 4)];
  sameBits(15, () => [
    F.softmax(x, 1),
    F.softmax(x, 0),
    F.softmax(filled([100_000])),
    F.logSoftmax(x, -1),
    F.layerNorm(x, [257], { weight: w, bias: b }),
    F.crossEntropy(x, labels),
    cumsum(x, 0),
    cumsum(x, 1),
    gather(x, rows),
    takeAlongAxis(x, cast(x.mul(100).abs(), "int32"), 1),
    randn([100, 333]),
    F.dropout(x, { p: 0.3 }),
  ]);
});

Deno.test("matrix products of many shapes, strides and batches", () => {
  const product = (a: readonly number[], b: readonly number[], turn = ""): Tensor => {
    const turned = (shape: readonly number[], salt: number, yes: boolean) =>
      yes
        ? filled([...shape.slice(0, -2), shape.at(-1)!, shape.at(-2)!], salt).transpose(-1, -2)
        : filled(shape, salt);
    return turned(a, 1, turn.includes("a")).matmul(turned(b, 2, turn.includes("b")));
  };
  sameBits(28, () => [
    product([130, 70], [70, 90]),
    product([130, 70], [70, 90], "a"),
    product([130, 70], [70, 90], "b"),
    product([130, 70], [70, 90], "ab"),
    product([33, 500], [500, 17]),
    product([7, 800], [800, 600]),
    product([1, 800], [800, 600]),
    product([3, 800], [800, 600], "b"),
    product([600, 800], [800, 1]),
    product([600, 800], [800, 2], "a"),
    product([10, 31, 17], [10, 17, 40]),
    product([2, 3, 31, 17], [3, 17, 40]),
    product([2, 3, 31, 17], [17, 40]),
    product([2, 1, 31, 17], [1, 3, 17, 40]),
    cast(filled([65, 64]), "float64").matmul(cast(filled([64, 70], 2), "float64")),
    cast(filled([65, 64]).mul(99), "int32").matmul(cast(filled([64, 70], 2).mul(99), "int32")),
  ]);
});

const linear = composite({
  name: "testThreadsLinear",
  body: ([x, w, b]: readonly Operand[]) => (x as Tensor).matmul(w as Tensor).add(b).relu(),
});

Deno.test("products with a tail, by rows, columns and items", () => {
  sameBits(12, () =>
    noGrad(() =>
      [
        [[128, 300], [300, 200], [200]],
        [[500, 20], [20, 30], [500, 1]],
        [[4, 33, 20], [4, 20, 50], [33, 50]],
        [[2, 3, 33, 20], [3, 20, 50], [2, 1, 33, 50]],
        [[1, 3000], [3000, 70], [70]],
        [[9, 64, 5], [5, 8], [64, 8]],
      ].map(([x, w, b]) =>
        engine.call(linear, [filled(x, 1), filled(w, 2), filled(b, 3)]) as Tensor
      )
    ));
});

const convolve = composite({
  name: "testThreadsConvolve",
  body: ([x, w, b]: readonly Operand[]) =>
    F.conv2d(x as Tensor, w as Tensor, undefined, { padding: 1 }).add(b).relu(),
});

Deno.test("convolutions with their gradients, and with a tail", () => {
  const step = (
    x: readonly number[],
    w: readonly number[],
    options: Parameters<typeof F.conv2d>[3] = {},
  ): Tensor[] => {
    const [a, b] = [filled(x, 1), filled(w, 2)];
    for (const t of [a, b]) t.requiresGrad = true;
    const y = F.conv2d(a, b, undefined, options);
    y.mul(y).sum().backward();
    return [y.detach(), a.grad!, b.grad!];
  };
  sameBits(60, () => [
    ...step([9, 3, 14, 13], [8, 3, 3, 3], { padding: 1 }),
    ...step([9, 1, 28, 28], [6, 1, 5, 5]),
    ...step([1, 16, 14, 14], [40, 16, 3, 3], { padding: 1 }),
    ...step([2, 16, 15, 15], [24, 16, 3, 3], { padding: 1, stride: 2 }),
    ...step([5, 32, 9, 9], [32, 1, 3, 3], { groups: 32, padding: 1 }),
    ...step([1, 12, 9, 9], [24, 6, 3, 3], { groups: 2, dilation: 2 }),
    ...step([6, 12, 9, 9], [20, 12, 1, 1]),
    ...step([1, 12, 19, 9], [20, 12, 1, 1]),
    ...step([30, 12, 5, 5], [20, 12, 5, 5]),
    ...[
      [[7, 3, 16, 16], [8, 3, 3, 3], [8, 1, 1]],
      [[1, 16, 12, 12], [40, 16, 3, 3], [40, 1, 1]],
      [[6, 12, 9, 9], [20, 12, 1, 1], [20, 11, 11]],
    ].map(([x, w, b]) =>
      noGrad(() => engine.call(convolve, [filled(x, 1), filled(w, 2), filled(b, 3)]) as Tensor)
    ),
  ]);
});

Deno.test("pooling with its gradients", () => {
  const step = (pool: (x: Tensor) => Tensor): Tensor[] => {
    const x = filled([5, 7, 15, 17]);
    x.requiresGrad = true;
    const y = pool(x);
    y.mul(y).sum().backward();
    return [y.detach(), x.grad!];
  };
  sameBits(28, () => [
    ...step((x) => F.maxPool2d(x, 2)),
    ...step((x) => F.maxPool2d(x, 3, { stride: 2, padding: 1 })),
    ...step((x) => F.avgPool2d(x, 3, { stride: 2, padding: 1 })),
    ...step((x) => cast(F.maxPool2d(cast(x, "float64"), 2), "float32")),
  ]);
});

Deno.test("workers do take part", () => {
  const x = tensor(values(400_000));
  const expected = bits([x.exp()]);
  withThreads(2, () => {
    const { jobs } = livePools()[0];
    // Nobody else computes it.
    sharing({ away: true }, () => assertEquals(bits([x.exp()]), expected));
    assertEquals(livePools()[0].jobs, jobs + 1);
  });
});
