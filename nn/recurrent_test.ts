// Recurrent layers beyond their goldens: names, errors, cells against layers, padding, gradients, training.
import { assert, assertEquals, assertThrows } from "jsr:@std/assert@1";
import {
  DTypeError,
  grad,
  nn,
  ones,
  optim,
  randint,
  randn,
  seed,
  ShapeError,
  type Tensor,
  tensor,
  ValueError,
  zeros,
} from "../mod.ts";

async function close(a: Tensor, b: Tensor, tolerance = 1e-6): Promise<void> {
  assertEquals(a.shape, b.shape);
  const difference = a.numel === 0 ? 0 : await a.sub(b).abs().max().item() as number;
  assert(difference <= tolerance, `${difference}`);
}

const KINDS = ["SimpleRNN", "LSTM", "GRU"] as const;

/** A layer of that kind as a function from inputs to all that it gives. */
function make(
  kind: typeof KINDS[number],
  options: nn.RecurrentOptions,
): { layer: nn.LSTM | nn.GRU; run(x: Tensor, call?: nn.RecurrentCallOptions): Tensor[] } {
  const layer = new nn[kind](3, 4, options) as nn.LSTM | nn.GRU;
  return {
    layer,
    run: (x, call) => {
      const [out, states] = layer.call(x, undefined, call);
      return [out, states].flat(2) as Tensor[];
    },
  };
}

Deno.test("nn recurrent: names of state, first values, printing", async () => {
  const layer = new nn.GRU(3, 4, { numLayers: 2, direction: "bidirect", dropout: 0.1 });
  const names = ["weightIh", "weightHh", "biasIh", "biasHh"];
  assertEquals(
    layer.namedParameters().map(([name]) => name),
    ["L0", "L0Reverse", "L1", "L1Reverse"].flatMap((end) => names.map((name) => name + end)),
  );
  assertEquals(layer.weightIhL1.shape, [12, 8]);
  assertEquals(
    String(layer),
    "GRU(inputSize=3, hiddenSize=4, numLayers=2, direction=bidirect, dropout=0.1)",
  );
  assertEquals(
    String(new nn.SimpleRNN(2, 5, { activation: "relu", bias: false, timeMajor: true })),
    "SimpleRNN(inputSize=2, hiddenSize=5, timeMajor=true, activation=relu, bias=false)",
  );
  assertEquals(String(new nn.LSTMCell(2, 5)), "LSTMCell(inputSize=2, hiddenSize=5)");
  assertEquals(new nn.LSTM(2, 5, { bias: false }).biasIhL0, null);
  seed(5);
  const { weightHh, biasIh } = new nn.LSTMCell(2, 64);
  for (const p of [weightHh, biasIh!]) {
    const top = await p.abs().max().item() as number;
    assert(top <= 1 / 8 && top > 0.12, `${top}`);
  }
  const constant = new nn.initializer.Constant(0.5);
  const same = new nn.GRU(2, 3, { weightInit: constant, dtype: "float64" });
  assertEquals([same.weightHhL0.dtype, await same.weightHhL0.min().item()], ["float64", 0.5]);
});

Deno.test("nn recurrent: what goes wrong is said", () => {
  assertThrows(() => new nn.LSTM(0, 4), ValueError, "LSTM with inputSize 0");
  assertThrows(
    () => new nn.LSTM(3, 4, { dropout: 2 }),
    ValueError,
    "dropout 2: it must be in 0 … 1",
  );
  assertThrows(
    () => new nn.LSTM(3, 4, { direction: "backward" as "forward" }),
    ValueError,
    `direction "backward": it must be "forward" or "bidirect"`,
  );
  assertThrows(
    () => new nn.SimpleRNNCell(3, 4, { activation: "gelu" as "relu" }),
    ValueError,
    `activation "gelu": it must be "tanh" or "relu"`,
  );
  const layer = new nn.LSTM(3, 4);
  assertThrows(
    () => layer.call(ones([2, 5, 2])),
    ShapeError,
    "Cannot LSTM on [2, 5, 2]: the input must be [batch, time, 3]",
  );
  assertThrows(() => layer.call(ones([2, 0, 3])), ShapeError, "there must be at least one step");
  assertThrows(
    () => layer.call(ones([2, 5, 3]), [zeros([1, 2, 4]), zeros([2, 4])]),
    ShapeError,
    "initial states of shape [2, 4]: they must be [layers · directions, batch, hiddenSize], here [1, 2, 4]",
  );
  const lengths = (sequenceLength: Tensor | number[]) => () =>
    layer.call(ones([2, 5, 3]), undefined, { sequenceLength });
  assertThrows(
    lengths([6, 1]),
    ValueError,
    "sequenceLength 6: it must be a whole number from 0 to 5",
  );
  assertThrows(lengths([1]), ShapeError, "one length for each of the 2 sequences");
  assertThrows(lengths(tensor([1.5, 2])), DTypeError, "float32: lengths must be integers");
  assertThrows(
    () => new nn.GRUCell(3, 4).call(ones([2, 3]), ones([1, 4])),
    ShapeError,
    "Cannot GRUCell on [2, 3] with a state of shape [1, 4]: it must be [2, 4]",
  );
  assertThrows(() => new nn.GRUCell(3, 4).call(ones([3])), ShapeError, "must be [batch, 3]");
  assertThrows(
    () => layer.call(ones([2, 5, 3]), zeros([1, 2, 4]) as never),
    ValueError,
    "Cannot LSTM: the states must be [h, c]",
  );
  assertThrows(() => new nn.LSTM(3, 4, 2 as never), ValueError, "Cannot make a LSTM: options are");
});

Deno.test("nn recurrent: layers do what their cells do one by one, gradients too", async () => {
  for (const kind of KINDS) {
    seed(9);
    const { layer, run } = make(kind, { dtype: "float64" });
    const cell = new nn[`${kind}Cell`](3, 4, { dtype: "float64" });
    cell.setStateDict(
      Object.fromEntries(
        Object.entries(layer.stateDict()).map(([name, value]) => [name.replace("L0", ""), value]),
      ),
    );
    const data = randn([2, 5, 3], { dtype: "float64" });
    const [a, b] = [data.clone(), data.clone()];
    for (const x of [a, b]) x.requiresGrad = true;
    const [out] = run(a);
    let states: unknown;
    const outs: Tensor[] = [];
    for (let t = 0; t < 5; t++) {
      const [y, next] = (cell as nn.LSTMCell).call(b.at(":", t), states as nn.LSTMStates);
      states = next;
      outs.push(y);
    }
    const weights = randn([2, 5, 4], { dtype: "float64" });
    const loss = (parts: Tensor) => parts.mul(weights).sum();
    const other = outs.map((y, t) => y.mul(weights.at(":", t)).sum()).reduce((p, q) => p.add(q));
    loss(out).backward();
    other.backward();
    await close(out.at(":", 4), outs[4], 1e-12);
    await close(a.grad!, b.grad!, 1e-12);
    await close(layer.weightHhL0.grad!, cell.weightHh.grad!, 1e-12);
    await close(layer.biasHhL0!.grad!, cell.biasHh!.grad!, 1e-12);
  }
});

Deno.test("nn recurrent: what lies behind the end of a sequence changes nothing and gets no gradient", async () => {
  const sequenceLength = [2, 5, 0];
  const kept = tensor(
    sequenceLength.map((n) => Array.from({ length: 5 }, (_, t) => [Number(t < n)])),
  );
  for (const kind of KINDS) {
    seed(11);
    const { layer, run } = make(kind, { numLayers: 2, direction: "bidirect" });
    const x = randn([3, 5, 3]);
    x.requiresGrad = true;
    const outs = run(x, { sequenceLength });
    const noise = randn([3, 5, 3]).mul(kept.mul(-1).add(1)).mul(100);
    const others = run(x.detach().add(noise), { sequenceLength });
    for (const [i, out] of outs.entries()) await close(out, others[i]);
    await close(outs[0].mul(kept.mul(-1).add(1)), zeros([3, 5, 8]));
    outs[0].square().sum().backward();
    await close(x.grad!.mul(kept.mul(-1).add(1)), zeros([3, 5, 3]));
    // The second sequence is the same alone, and the first without its padding.
    const [alone] = run(x.detach().at("1:2"));
    await close(alone, outs[0].at("1:2").detach());
    const [short] = run(x.detach().at("0:1, :2"));
    await close(short, outs[0].at("0:1, :2").detach());
    assertEquals(await outs[0].at(2).abs().max().item(), 0);
    // Lengths may be a tensor of integers.
    const [again] = run(x, { sequenceLength: tensor(sequenceLength, { dtype: "int64" }) });
    await close(again, outs[0]);
    assert(layer.parameters().every((p) => p.grad !== null));
  }
});

Deno.test("nn recurrent: gradients agree with differences, second ones too, in float64", async () => {
  for (const kind of KINDS) {
    seed(12);
    const { layer, run } = make(kind, { numLayers: 2, direction: "bidirect", dtype: "float64" });
    const weights = [[2, 4, 8], [4, 2, 4], [4, 2, 4]].map((s) => randn(s, { dtype: "float64" }));
    const x = randn([2, 4, 3], { dtype: "float64" });
    x.requiresGrad = true;
    const call = { sequenceLength: [4, 2] };
    const value = (at: Tensor) =>
      run(at, call).map((y, i) => y.mul(weights[i]).sum()).reduce((a, b) => a.add(b));
    const d = randn([2, 4, 3], { dtype: "float64" });
    const number = async (t: Tensor) => await t.item() as number;
    const h = 1e-5;
    const sides = [x.detach().add(d.mul(h)), x.detach().sub(d.mul(h))];
    const numeric = (await number(value(sides[0])) - await number(value(sides[1]))) / (2 * h);
    const [first] = grad([value(x)], [x], { createGraph: true });
    const slope = first.mul(d).sum();
    const exact = await number(slope);
    assert(Math.abs(exact - numeric) < 1e-7 * Math.max(1, Math.abs(exact)), `${exact} ${numeric}`);
    // The derivative of the slope along d, by the weights.
    const weight = layer.weightHhL0;
    const [second] = grad([slope], [weight]);
    const e = randn(weight.shape, { dtype: "float64" });
    const begin = weight.detach().clone();
    const slopeAt = async (by: number) => {
      layer.setStateDict({ weightHhL0: begin.add(e.mul(by)) }, { strict: false });
      const [g] = grad([value(x)], [x]);
      return await number(g.mul(d).sum());
    };
    const change = (await slopeAt(h) - await slopeAt(-h)) / (2 * h);
    const said = await number(second.mul(e).sum());
    assert(Math.abs(said - change) < 1e-6 * Math.max(1, Math.abs(said)), `${said} ${change}`);
  }
});

Deno.test("nn recurrent: both places agree", async () => {
  for (const kind of KINDS) {
    seed(13);
    const { layer, run } = make(kind, { direction: "bidirect" });
    const x = randn([2, 3, 3]);
    const call = { sequenceLength: [3, 1] };
    const results = async () => {
      const place = layer.weightIhL0.place;
      const outs = run(x.to(place), call);
      outs.map((y) => y.square().sum()).reduce((a, b) => a.add(b)).backward();
      const all = [...outs, ...layer.parameters().map((p) => p.grad!)];
      layer.zeroGrad();
      return await Promise.all(all.map((t) => t.data()));
    };
    const here = await results();
    layer.to("ref");
    const there = await results();
    here.forEach((values, i) =>
      values.forEach((v, j) =>
        assert(Math.abs(Number(v) - Number(there[i][j])) < 1e-5, `${kind} ${i} ${j}`)
      )
    );
  }
});

Deno.test("nn recurrent: dropout lies between layers, in training only", async () => {
  seed(14);
  const layer = new nn.LSTM(3, 4, { numLayers: 2, dropout: 1 });
  const x = randn([2, 3, 3]);
  // With everything dropped the second layer sees zeros, whatever comes in.
  await close(layer.call(x)[0], layer.call(x.mul(3))[0]);
  layer.eval();
  const [a] = layer.call(x);
  const [b] = layer.call(x.mul(3));
  assert(await a.sub(b).abs().max().item() as number > 1e-3);
  const single = new nn.LSTM(3, 4, { dropout: 1 });
  await close(single.call(x)[0], single.eval().call(x)[0]);
});

Deno.test("nn recurrent: a frozen weight, states that go on, one tensor as both states", async () => {
  seed(15);
  const layer = new nn.LSTM(3, 4);
  const x = randn([2, 6, 3]);
  const [whole] = layer.call(x);
  const [, states] = layer.call(x.at(":, :3"));
  const [rest] = layer.call(x.at(":, 3:"), states);
  await close(rest, whole.at(":, 3:"));
  layer.weightHhL0.trainable = false;
  whole.sum().backward();
  layer.call(x)[0].sum().backward();
  assertEquals(layer.weightHhL0.grad, null);
  assert(layer.weightIhL0.grad !== null);
  const s = randn([1, 2, 4]);
  s.requiresGrad = true;
  const parts = [s.detach().clone(), s.detach().clone()] as const;
  for (const part of parts) part.requiresGrad = true;
  const [both] = grad([layer.call(x, [s, s])[0].sum()], [s]);
  const [h, c] = grad([layer.call(x, parts)[0].sum()], parts);
  await close(both, h.add(c));
  const [first] = grad([layer.call(x, [s, s])[0].sum()], [s], { createGraph: true });
  await close(first, both);
});

Deno.test("nn recurrent: a GRU learns to recall the first symbol", async () => {
  seed(16);
  const layer = new nn.GRU(4, 16);
  const head = new nn.Linear(16, 4);
  const parameters = [...layer.parameters(), ...head.parameters()];
  const optimizer = new optim.Adam({ parameters, learningRate: 0.02 });
  let right = 0;
  for (let i = 0; i < 120; i++) {
    // Lengths vary from step to step, as they do in batches of text.
    const symbols = randint(0, 4, { shape: [16, 4 + i % 5] });
    const x = nn.functional.oneHot(symbols, 4);
    const [out] = layer.call(x);
    const logits = head.call(out.at(":, -1"));
    const label = symbols.at(":", 0);
    nn.functional.crossEntropy(logits, label).backward();
    await optimizer.step();
    optimizer.clearGrad();
    right = await logits.argmax(1).equal(label).cast("float32").mean().item() as number;
  }
  assert(right > 0.9, `${right}`);
});
