// Convolution and pooling of sequences and volumes as layers: state, printing, errors, and that they train.
import { assert, assertEquals, assertThrows } from "jsr:@std/assert@1";
import { nn, ones, optim, randn, seed, ShapeError, ValueError, zeros } from "../mod.ts";

Deno.test("nn conv: state, first values and printing", async () => {
  const conv = new nn.Conv1D(4, 6, 3, { stride: 2, groups: 2 });
  assertEquals(conv.namedParameters().map(([name, p]) => [name, p.shape]), [
    ["weight", [6, 2, 3]],
    ["bias", [6]],
  ]);
  assertEquals(
    String(conv),
    "Conv1D(inChannels=4, outChannels=6, kernel=[3], stride=2, groups=2)",
  );
  const up = new nn.Conv3DTranspose(4, 6, [1, 2, 2], { stride: [1, 2, 2], bias: false });
  assertEquals(up.namedParameters().map(([name, p]) => [name, p.shape]), [[
    "weight",
    [4, 6, 1, 2, 2],
  ]]);
  assertEquals(
    String(up),
    "Conv3DTranspose(inChannels=4, outChannels=6, kernel=[1, 2, 2], stride=[1, 2, 2], bias=false)",
  );
  assertEquals(
    String(new nn.AvgPool1D(3, { exclusive: false })),
    "AvgPool1D(kernel=3, exclusive=false)",
  );
  seed(3);
  // Xavier: uniform within √(6 / (fan-in + fan-out)), as for a kernel of 16 · 9 and 64 · 9 elements.
  const { weight } = new nn.Conv2DTranspose(16, 64, 3);
  const top = await weight.abs().max().item() as number;
  const limit = Math.sqrt(6 / (16 * 9 + 64 * 9));
  assert(top <= limit && top > 0.99 * limit, `${top} of ${limit}`);
  // Kaiming: normals of deviation √(2 / fan-in).
  const deviation = await new nn.Conv3D(8, 32, 3).weight.std().item() as number;
  assert(Math.abs(deviation / Math.sqrt(2 / (8 * 27)) - 1) < 0.05, `${deviation}`);
});

Deno.test("nn conv: sizes and ranks that do not fit", () => {
  assertThrows(() => new nn.Conv1D(3, 4, 3, { groups: 2 }), ValueError, "Conv1D from 3 to 4");
  assertThrows(() => new nn.Conv3D(1, 1, 0), ValueError, "kernel depth 0");
  assertThrows(
    () => new nn.Conv3DTranspose(1, 1, [2, 2] as never),
    ValueError,
    "Cannot make a Conv3DTranspose with kernel [2, 2]: give one number or depth, height, width",
  );
  assertThrows(() => new nn.Conv1D(1, 1, 3).call(ones([2, 2, 9])), ShapeError, "Cannot conv1d");
  assertThrows(() => new nn.BatchNorm3D(2).call(ones([1, 2, 3, 3])), ShapeError, "rank 4");
  assertThrows(() => new nn.MaxPool3D(2).call(ones([1, 2, 3, 3])), ShapeError, "rank 4");
});

Deno.test("nn conv: an encoder and decoder of volumes learns to copy", async () => {
  seed(8);
  const model = new nn.Sequential(
    new nn.Conv3D(1, 4, 3, { padding: 1 }),
    new nn.BatchNorm3D(4),
    new nn.ReLU(),
    new nn.Conv3D(4, 8, 2, { stride: 2 }),
    new nn.ReLU(),
    new nn.Conv3DTranspose(8, 1, 2, { stride: 2 }),
  );
  const optimizer = new optim.Adam({ parameters: model.parameters(), learningRate: 0.02 });
  const x = randn([4, 1, 4, 4, 4]);
  const losses: number[] = [];
  for (let i = 0; i < 60; i++) {
    const loss = nn.functional.mseLoss(model.call(x), x);
    loss.backward();
    await optimizer.step();
    optimizer.clearGrad();
    losses.push(await loss.item() as number);
  }
  assert(losses[59] < 0.35 * losses[0], `${losses[0]} … ${losses[59]}`);
  assertEquals(model.eval().call(zeros([1, 1, 2, 2, 2])).shape, [1, 1, 2, 2, 2]);
});
