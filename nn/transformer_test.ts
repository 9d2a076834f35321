// Attention layers and transformers beyond their goldens: names, errors, masks, caches, modes, training.
import { assert, assertEquals, assertThrows } from "jsr:@std/assert@1";
import {
  arange,
  grad,
  nn,
  noGrad,
  ones,
  optim,
  randint,
  randn,
  scope,
  seed,
  ShapeError,
  type Tensor,
  tensor,
  tril,
  ValueError,
  zeros,
} from "../mod.ts";

async function close(a: Tensor, b: Tensor, tolerance = 2e-6): Promise<void> {
  assertEquals(a.shape, b.shape);
  const difference = await a.sub(b).abs().max().item() as number;
  assert(difference <= tolerance, `${difference}`);
}

const causal = (n: number): Tensor => tril(ones([n, n])).cast("bool");

Deno.test("nn transformer: names of state as in Paddle, printing, blocks of their own", async () => {
  const projections = (name: string) =>
    ["q", "k", "v", "out"].flatMap((p) =>
      ["weight", "bias"].map((leaf) => `${name}.${p}Proj.${leaf}`)
    );
  const pairs = (...names: string[]) => names.flatMap((n) => [`${n}.weight`, `${n}.bias`]);
  const encoder = new nn.TransformerEncoderLayer(8, 2, 16);
  assertEquals(Object.keys(encoder.stateDict()), [
    ...projections("selfAttn"),
    ...pairs("linear1", "linear2", "norm1", "norm2"),
  ]);
  const decoder = new nn.TransformerDecoderLayer(8, 2, 16);
  assertEquals(Object.keys(decoder.stateDict()), [
    ...projections("selfAttn"),
    ...projections("crossAttn"),
    ...pairs("linear1", "linear2", "norm1", "norm2", "norm3"),
  ]);
  const attention = new nn.MultiHeadAttention(8, 2, { kdim: 3, needWeights: true, dropout: 0.1 });
  assertEquals(
    String(attention).split("\n")[0],
    "MultiHeadAttention(embedDim=8, numHeads=2, dropout=0.1, kdim=3, needWeights=true",
  );
  const model = new nn.Transformer(8, 2, { numEncoderLayers: 2, numDecoderLayers: 1 });
  const names = model.namedSublayers().map(([name]) => name);
  for (const name of ["encoder.layers.1.linear2", "decoder.layers.0.crossAttn.vProj"]) {
    assert(names.includes(name), name);
  }
  assertEquals(model.stateDict()["encoder.layers.0.linear1.weight"].shape, [8, 2048]);
  // The blocks of a stack do not share values.
  const stack = new nn.TransformerEncoder(encoder, 2);
  const [a, b] = [...stack.layers].map((layer) => layer.selfAttn.qProj.weight);
  assert(await a.sub(b).abs().max().item() as number > 0.01);
  assertEquals(new nn.MultiHeadAttention(8, 2, { bias: false }).parameters().length, 4);
  const wide = new nn.TransformerEncoderLayer(8, 2, 16, { dtype: "float64" }).another();
  assert(wide.parameters().every((p) => p.dtype === "float64"));
});

Deno.test("nn transformer: what goes wrong is said", () => {
  assertThrows(
    () => new nn.MultiHeadAttention(8, 3),
    ValueError,
    "Cannot make a MultiHeadAttention of size 8 with 3 heads: the heads must share the size evenly",
  );
  assertThrows(() => new nn.MultiHeadAttention(8, 2, { dropout: 2 }), ValueError, "dropout 2");
  assertThrows(() => new nn.TransformerEncoderLayer(8, 2, 0), ValueError, "dimFeedforward 0");
  assertThrows(
    () => new nn.TransformerEncoderLayer(8, 2, 16, { activation: "swish" as "silu" }),
    ValueError,
    `activation "swish": it must be "relu", "gelu", "silu" or a function`,
  );
  const layer = new nn.MultiHeadAttention(8, 2, { kdim: 3 });
  assertThrows(
    () => layer.call(ones([2, 5, 8])),
    ShapeError,
    "Cannot MultiHeadAttention with a key of shape [2, 5, 8]: it must be [batch, length, 3]",
  );
  assertThrows(() => layer.call(ones([5, 8])), ShapeError, "a query of shape [5, 8]");
  assertThrows(
    () => layer.genCache(ones([1, 1, 8]), undefined, { type: "growing" as "static" }),
    ValueError,
    `Cannot genCache of type "growing"`,
  );
  const block = new nn.TransformerEncoderLayer(8, 2, 16);
  assertThrows(
    () => new nn.TransformerEncoder(block, 2).call(ones([1, 2, 8]), { cache: [] }),
    ValueError,
    "there must be one cache for each of the 2 blocks",
  );
  assertThrows(
    () => block.call(ones([1, 2, 8]), { srcMask: causal(3) }),
    ShapeError,
    "it must broadcast to the scores, [1, 2, 2, 2]",
  );
});

Deno.test("nn transformer: masks say where to attend", async () => {
  seed(1);
  const layer = new nn.MultiHeadAttention(8, 2, { needWeights: true });
  const x = randn([2, 4, 8]);
  const [out, weights] = layer.call(x, x, x, { attnMask: causal(4) });
  await close(weights.sum(-1), ones([2, 2, 4]));
  await close(weights, tril(weights));
  const [added] = layer.call(x, x, x, {
    attnMask: nn.Transformer.generateSquareSubsequentMask(4),
  });
  await close(added, out);
  const [whole] = layer.call(x, x, x, { attnMask: causal(4).cast("int64") });
  await close(whole, out);
  // Later positions change nothing before them.
  const changed = x.clone();
  noGrad(() => changed.setAt([":", 3], randn([2, 8])));
  const [other] = layer.call(changed, changed, changed, { attnMask: causal(4) });
  await close(other.at(":, :3"), out.at(":, :3"));
  // Nothing to attend to: the heads give zeros, of which the bias of the projection is left.
  noGrad(() => layer.outProj.bias!.fill_(3));
  const [none, zero] = layer.call(x, x, x, { attnMask: zeros([1, 1, 4, 4]).cast("bool") });
  await close(none, ones([2, 4, 8]).mul(3));
  await close(zero, zeros([2, 2, 4, 4]));
  none.square().sum().backward();
  assertEquals(await layer.qProj.weight.grad!.abs().max().item(), 0);
});

Deno.test("nn transformer: cached decoding gives what decoding at once gives", async () => {
  seed(2);
  for (const normalizeBefore of [false, true]) {
    const options = { normalizeBefore };
    const decoder = new nn.TransformerDecoder(
      new nn.TransformerDecoderLayer(8, 2, 16, options),
      2,
      new nn.LayerNorm(8),
    ).eval();
    const encoder = new nn.TransformerEncoder(
      new nn.TransformerEncoderLayer(8, 2, 16, options),
      2,
    ).eval();
    const [tgt, memory] = [randn([2, 5, 8]), randn([2, 3, 8])];
    const whole = decoder.call(tgt, memory, { tgtMask: causal(5) });
    const cache = decoder.genCache(memory);
    const encoded = encoder.call(tgt, { srcMask: causal(5) });
    const caches = encoder.genCache(tgt);
    for (let t = 0; t < 5; t++) {
      const piece = tgt.at(`:, ${t}:${t + 1}`);
      // What a cache holds outlives the scope that it was computed in.
      const y = noGrad(() => scope(() => decoder.call(piece, memory, { cache })));
      await close(y, whole.at(`:, ${t}:${t + 1}`));
      const z = noGrad(() => scope(() => encoder.call(piece, { cache: caches })));
      await close(z, encoded.at(`:, ${t}:${t + 1}`));
    }
    assertEquals(cache.map(([own, crossed]) => [own.k.shape[2], crossed.k.shape[2]]), [
      [5, 3],
      [5, 3],
    ]);
    const copy = caches[0].clone();
    copy.append(copy.k, copy.v);
    assertEquals([copy.k.shape[2], caches[0].k.shape[2]], [10, 5]);
  }
  const layer = new nn.MultiHeadAttention(8, 2);
  const [k, v] = [randn([1, 2, 3, 4]), randn([1, 2, 3, 4])];
  const started = layer.genCache(k, v);
  layer.call(randn([1, 2, 8]), undefined, undefined, { cache: started });
  assertEquals(started.k.shape, [1, 2, 5, 4]);
  await close(started.k.at("..., :3, :"), k);
});

Deno.test("nn transformer: gradients flow through caches, and to every parameter", async () => {
  seed(3);
  const model = new nn.Transformer(8, 2, {
    numEncoderLayers: 2,
    numDecoderLayers: 2,
    dimFeedforward: 16,
    normalizeBefore: true,
  });
  model.call(randn([2, 4, 8]), randn([2, 3, 8]), { tgtMask: causal(3) }).square().sum().backward();
  assert(model.parameters().every((p) => p.grad !== null));
  const layer = new nn.MultiHeadAttention(8, 2);
  const x = randn([1, 2, 8]);
  x.requiresGrad = true;
  const cache = layer.genCache(x);
  layer.call(x, x, x, { cache });
  const [g] = grad([layer.call(randn([1, 1, 8]), undefined, undefined, { cache }).sum()], [x]);
  assert(await g.abs().max().item() as number > 1e-4);
});

Deno.test("nn transformer: what is dropped in training is kept in evaluation", async () => {
  seed(4);
  const x = randn([2, 4, 8]);
  const difference = async (layer: { call(x: Tensor): Tensor }) =>
    await layer.call(x).sub(layer.call(x)).abs().max().item() as number;
  const off = { dropout: 0, attnDropout: 0, actDropout: 0 };
  for (const which of ["dropout", "attnDropout", "actDropout"]) {
    const layer = new nn.TransformerEncoderLayer(8, 2, 16, { ...off, [which]: 0.5 });
    assert(await difference(layer) > 1e-3, which);
    assertEquals(await difference(layer.eval()), 0);
  }
  assertEquals(await difference(new nn.TransformerEncoderLayer(8, 2, 16, off)), 0);
  // The others follow `dropout`, which is 0.1.
  const usual = new nn.TransformerDecoderLayer(8, 2, 16);
  assertEquals(String(usual.dropout3), "Dropout(p=0.1)");
  assertEquals(String(usual.selfAttn).includes("dropout=0.1"), true);
  const attention = new nn.MultiHeadAttention(8, 2, { dropout: 1, needWeights: true });
  const [, weights] = attention.call(x);
  assertEquals(await weights.abs().max().item(), 0);
});

Deno.test("nn transformer: parts of one's own", async () => {
  seed(5);
  class Same extends nn.Layer<[Tensor, nn.EncoderCallOptions?]> {
    forward(x: Tensor): Tensor {
      return x;
    }
  }
  const model = new nn.Transformer(8, 2, {
    customEncoder: new Same(),
    numDecoderLayers: 1,
    dimFeedforward: 16,
    dropout: 0,
  });
  const [src, tgt] = [randn([1, 3, 8]), randn([1, 2, 8])];
  await close(model.call(src, tgt), model.decoder.call(tgt, src));
  const square = new nn.TransformerEncoderLayer(8, 2, 16, {
    activation: (x) => x.square(),
    dropout: 0,
  });
  const attended = square.norm1.call(src.add(square.selfAttn.call(src)));
  const z = square.linear2.call(square.linear1.call(attended).square());
  await close(square.call(src), square.norm2.call(attended.add(z)));
  await close(
    model.generateSquareSubsequentMask(2).exp(),
    tensor([[1, 0], [1, 1]]),
  );
});

Deno.test("nn transformer: both places agree", async () => {
  seed(6);
  const layer = new nn.TransformerEncoderLayer(4, 2, 6).eval();
  const x = randn([1, 3, 4]);
  const run = async (place: string) => {
    const y = layer.call(x.to(place), { srcMask: causal(3).to(place) });
    y.square().sum().backward();
    const all = [y, ...layer.parameters().map((p) => p.grad!)].map((t) => t.data());
    layer.zeroGrad();
    return await Promise.all(all);
  };
  const here = await run("cpu");
  layer.to("ref");
  const there = await run("ref");
  here.forEach((values, i) =>
    values.forEach((v, j) => assert(Math.abs(Number(v) - Number(there[i][j])) < 1e-5, `${i} ${j}`))
  );
});

Deno.test("nn transformer: an encoder learns to repeat the symbol before", async () => {
  seed(7);
  const [symbols, length, size] = [5, 6, 16];
  class Model extends nn.Layer {
    tokens = new nn.Embedding(symbols, size);
    places = new nn.Embedding(length, size);
    encoder = new nn.TransformerEncoder(
      new nn.TransformerEncoderLayer(size, 2, 32, { dropout: 0, normalizeBefore: true }),
      1,
      new nn.LayerNorm(size),
    );
    head = new nn.Linear(size, symbols);
    forward(ids: Tensor): Tensor {
      const places = this.places.call(arange(length, undefined, { dtype: "int32" }));
      const x = this.tokens.call(ids).add(places);
      return this.head.call(this.encoder.call(x, { srcMask: causal(length) }));
    }
  }
  const model = new Model();
  const optimizer = new optim.Adam({ parameters: model.parameters(), learningRate: 0.01 });
  let right = 0;
  for (let i = 0; i < 120; i++) {
    const ids = randint(0, symbols, { shape: [16, length] });
    const label = ids.at(":, :-1");
    const logits = model.call(ids).at(":, 1:");
    nn.functional.crossEntropy(logits, label).backward();
    await optimizer.step();
    optimizer.clearGrad();
    right = await logits.argmax(-1).equal(label).cast("float32").mean().item() as number;
  }
  assert(right > 0.95, `${right}`);
});
