// When memory comes back: by disposal, collection and inside plans; and what a loop without any of these holds.
// Scopes are in scope_test.ts, the allocator's own tests beside it.
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "jsr:@std/assert@1";
import {
  customFunction,
  DisposedError,
  grad,
  memory,
  MemoryError,
  nn,
  noGrad,
  ones,
  optim,
  rand,
  scope,
  type Tensor,
  tensor,
  ValueError,
  zeros,
} from "../mod.ts";
import { composite, engine } from "../core/op.ts";
import { op } from "../core/slots.ts";
import { backendOf } from "../backends/registry.ts";
import { Place } from "../core/place.ts";

const MB = 2 ** 20;
const cpu = backendOf(Place.of("cpu"));
const values = (x: Tensor) => x.toArraySync();

interface Figures {
  readonly live: number;
  readonly backend: number;
  readonly storages: number;
}

function figures(): Figures {
  const { live, storages } = memory.stats();
  return { live, backend: cpu.stats().live, storages };
}

/** The figures after a collection. */
async function settled(): Promise<Figures> {
  await memory.collect();
  await memory.collect();
  return figures();
}

/** Fails if anything is left of what was made since: the bytes of the backend must be back too. */
async function assertBackTo(before: Figures, what: string): Promise<void> {
  // A frame may hold on to its last values for a while.
  for (let i = 0; i < 8; i++) {
    await memory.collect();
    if (figures().storages <= before.storages) break;
  }
  assertEquals(figures(), before, what);
}

/** Runs `fn` and fails if anything is left of it. */
async function leavesNothing(fn: () => unknown, name: string): Promise<void> {
  // Once before, so that what is kept for good (scratch memory) is there.
  await fn();
  const before = await settled();
  await fn();
  await assertBackTo(before, name);
}

async function withLimits<T>(
  limits: { limit?: number; watermark?: number },
  fn: () => T,
): Promise<Awaited<T>> {
  const { limit, watermark } = memory.stats();
  try {
    if (limits.limit !== undefined) memory.setLimit(limits.limit);
    if (limits.watermark !== undefined) memory.setWatermark(limits.watermark);
    return await fn();
  } finally {
    memory.setLimit(limit);
    memory.setWatermark(watermark);
  }
}

Deno.test("using frees at the end of its block", () => {
  const before = memory.stats().live;
  let outside: Tensor;
  {
    using x = zeros([MB]);
    using y = x.add(1);
    outside = x;
    assertEquals(memory.stats().live - before, 8 * MB);
    y.dispose();
    assertEquals(memory.stats().live - before, 4 * MB);
  }
  assertEquals(memory.stats().live, before);
  assertThrows(
    () => outside.data === undefined || outside.add(1),
    DisposedError,
    "after dispose(): its `using` block or scope has ended; return it from the scope or clone() it before",
  );
});

Deno.test("memory shared with views lives until all are disposed of", () => {
  const before = memory.stats().live;
  const x = ones([MB]);
  const view = x.reshape([1024, 1024]).T;
  const cut = x.detach();
  x.dispose();
  x.dispose();
  assertEquals(memory.stats().live - before, 4 * MB);
  assertEquals(view.sum().itemSync(), MB);
  assertThrows(() => x.add(1), DisposedError);
  view.dispose();
  assertEquals(cut.sum().itemSync(), MB);
  cut.dispose();
});

Deno.test("disposed tensors refuse every way of use", async () => {
  const x = zeros([2]);
  x.dispose();
  assertThrows(() => x.add(1), DisposedError);
  assertThrows(() => x.reshape([2, 1]), DisposedError);
  assertThrows(() => x.add_(1), DisposedError);
  assertThrows(() => zeros([2]).add_(x), DisposedError);
  assertThrows(() => x.dataSync(), DisposedError);
  assertThrows(() => x.sum(), DisposedError);
  assertThrows(() => x.to("ref"), DisposedError);
  await assertRejects(() => x.data(), DisposedError);
  await assertRejects(() => x.item(), DisposedError);
});

Deno.test("garbage is freed by collection", async () => {
  const before = await settled();
  (() => {
    for (let i = 0; i < 10; i++) zeros([MB]).add(1);
  })();
  assert(memory.stats().live - before.live >= 40 * MB);
  assert(memory.stats().garbage >= 40 * MB);
  await assertBackTo(before, "garbage");
});

Deno.test("operations of every kind, and their gradients, leave nothing", async (t) => {
  const x = rand([8, 16], { requiresGrad: true });
  const w = rand([16, 4], { requiresGrad: true });
  const index = tensor([1, 0, 3], { dtype: "int32" });
  const F = nn.functional;
  const image = rand([2, 3, 8, 8], { requiresGrad: true });
  const kernel = rand([4, 3, 3, 3], { requiresGrad: true });
  const label = tensor([1, 0, 3, 2, 1, 0, 3, 2], { dtype: "int32" });
  const calls: Record<string, () => Tensor> = {
    elementwise: () => x.add(1).mul(x).exp(),
    broadcast: () => x.add(x.at(0)),
    cast: () => x.cast("float64"),
    reduction: () => x.sum(0),
    mean: () => x.mean(),
    maximum: () => x.max(-1),
    scan: () => x.cumsum(1),
    view: () => x.T.reshape([-1]).at("::2"),
    copy: () => x.T.clone(),
    matmul: () => x.matmul(w),
    linear: () => F.linear(x, w, w.at(0)).relu(),
    gather: () => x.gather(index),
    at: () => x.at([0, 2], "1:"),
    sort: () => x.sort()[0],
    topk: () => x.topk(3)[0],
    concat: () => op.concat([x, x], 1),
    pad: () => op.pad(x, [[1, 1], [0, 2]]),
    softmax: () => F.softmax(x),
    layerNorm: () => F.layerNorm(x, [16]),
    crossEntropy: () => F.crossEntropy(x, label),
    dropout: () => F.dropout(x, { p: 0.5 }),
    conv: () => F.conv2d(image, kernel, undefined, { padding: 1 }),
    pool: () => F.maxPool2d(image, 2),
    attention: () => {
      const q = x.reshape([1, 2, 8, 8]);
      return F.scaledDotProductAttention(q, q, q);
    },
    norm: () => x.norm(),
    prod: () => x.prod(0),
    where: () => op.where(x.greaterThan(0.5), x, 0),
  };
  const once = (name: string) => {
    const call = calls[name];
    noGrad(() => void call());
    call().mul(1).mean().backward();
    for (const leaf of [x, w, image, kernel]) leaf.zeroGrad();
    const from = name === "conv" || name === "pool" ? image : x;
    const [g] = grad(call().mul(2).mean(), from, { createGraph: true });
    if (g.requiresGrad) grad(g.mul(g).sum(), [x, w, image], { allowUnused: true });
  };
  for (const name of Object.keys(calls)) once(name);
  const before = await settled();
  for (const name of Object.keys(calls)) {
    await t.step(name, async () => {
      once(name);
      await assertBackTo(before, name);
    });
  }
});

Deno.test("backward leaves nothing but the gradients of leaves, at once", () => {
  const w = rand([64, 64], { requiresGrad: true });
  const b = rand([64], { requiresGrad: true });
  const F = nn.functional;
  const made = (fn: () => unknown) => {
    const before = memory.stats().storages;
    fn();
    return memory.stats().storages - before;
  };
  const loss = () => F.softmax(F.linear(w.T, w, b).relu().exp()).mul(w).cumsum(0).mean();
  let y = loss();
  assertEquals(made(() => y.backward()), 2);
  y = loss();
  w.zeroGrad();
  assertEquals(made(() => y.backward()), 2, "one new, one for the sum with the old");
  y = loss();
  let gs: Tensor[] = [];
  assertEquals(made(() => gs = grad(y, [w, b, w])), 3);
  assertEquals(gs.map((g) => g.numel), [4096, 64, 4096]);
  y = loss();
  const scoped = made(() => scope(() => grad(y, [w, b])));
  assertEquals(scoped, 2);
  y = loss();
  assertEquals(made(() => scope(() => void grad(y, [w, b]))), 0);
});

Deno.test("what a composite saves for its gradient goes with the gradient", () => {
  const w = rand([64, 64], { requiresGrad: true });
  const normalize = composite({
    name: "normalizeRows",
    body: ([x]) => op.div(x, op.sqrt(op.sum(op.square(x as Tensor), 1, { keepdim: true }))),
  });
  const before = memory.stats().storages;
  const y = engine.call(normalize, [w]);
  assertEquals(memory.stats().storages - before, 2, "the result and the sums");
  y.backward(ones([64, 64]));
  y.dispose();
  assertEquals(memory.stats().storages - before, 2, "the gradient and its seed");
});

Deno.test("a tensor that was changed in place with gradients is freed by dispose", () => {
  const w = rand([64], { requiresGrad: true });
  const x = zeros([64]);
  const before = memory.stats().storages;
  x.add_(w);
  x.dispose();
  assertEquals(memory.stats().storages - before, -1);
});

Deno.test("hooks and functions of one's own may keep gradients", async () => {
  const w = tensor([1, 2], { requiresGrad: true });
  const kept: Tensor[] = [];
  const half = customFunction<[Tensor]>({
    forward: (_, x) => x.mul(0.5),
    backward: (_, g) => {
      const mine = g.mul(0.5);
      kept.push(g, mine);
      return mine;
    },
  });
  const y = half(w.mul(3)) as Tensor;
  const z = y.mul(2);
  y.registerHook((g) => void kept.push(g, g.add(1)));
  z.registerHook((g) => {
    const other = g.mul(1);
    kept.push(other);
    return other;
  });
  z.sum().backward();
  await memory.collect();
  assertEquals(kept.map((t) => (values(t) as number[])[0]), [1, 2, 3, 2, 1]);
  assertEquals(values(w.grad!), [3, 3]);
});

Deno.test("in-place changes and reading leave nothing", async () => {
  const x = rand([8, 16]);
  await leavesNothing(async () => {
    x.add_(1).mul_(x.at(0)).clip_(0, 1);
    x.T.add_(1);
    x.setAt([0, "1:3"], 5);
    await x.T.data();
    x.T.toArraySync();
    String(x.T);
    await x.greaterThan(0.5).nonzero();
    await x.at(x.greaterThan(0.5));
    x.to("ref").to("cpu");
  }, "in place");
});

Deno.test("a training loop that awaits its step holds a flat line", async () => {
  const model = new nn.Sequential(new nn.Linear(64, 128), new nn.ReLU(), new nn.Linear(128, 10));
  const optimizer = new optim.SGD({ parameters: model.parameters(), learningRate: 0.01 });
  const x = rand([64, 64]);
  const y = tensor(Int32Array.from({ length: 64 }, (_, i) => i % 10));
  await withLimits({ watermark: 4 * MB }, async () => {
    let live = 0;
    let highest = 0;
    const step = async () => {
      nn.functional.crossEntropy(model.call(x), y).backward();
      await optimizer.step();
      optimizer.clearGrad();
      highest = Math.max(highest, memory.stats().live - live);
    };
    await step();
    const before = await settled();
    live = before.live;
    highest = 0;
    for (let i = 0; i < 300; i++) await step();
    // A step makes about 0.3 MB; what is above the watermark is collected at its await.
    assert(highest < 8 * MB, `${highest / MB} MB`);
    // Without collection it would be 100 MB.
    await assertBackTo(before, "after the loop");
  });
});

Deno.test("a loop that never awaits gets an error that says what to write", async () => {
  const { live } = await settled();
  const w = rand([64, 64], { requiresGrad: true });
  await withLimits({ limit: live + 8 * MB }, () => {
    const error = assertThrows(() => {
      for (let i = 0; i < 10_000; i++) w.matmul(w).sum().backward();
    }, MemoryError);
    const { message } = error;
    const pattern =
      /^Cannot allocate ([\d.]+ (?:bytes|KiB)): the limit of ([\d.]+ MiB) would be passed; ([\d.]+ MiB) are live, of which up to ([\d.]+ MiB) are garbage that only an await can collect; write `await optimizer\.step\(\)` \(or await item\(\), data\(\)\) in the loop, wrap the step in scope\(\(\) => …\), or make the tensors smaller$/;
    assert(pattern.test(message), message);
    const [, , limit, held] = pattern.exec(message)!;
    assertEquals(limit, `${((live + 8 * MB) / MB).toFixed(1)} MiB`);
    assert(Math.abs(parseFloat(held) - (live + 8 * MB) / MB) < 0.2, message);
  });
  await memory.collect();
  w.sum().backward();
});

Deno.test("an allocation beyond the limit names what was asked and what is live", async () => {
  const { live } = await settled();
  await withLimits({ limit: live + 10 * MB }, () => {
    using _held = zeros([MB]);
    assertThrows(() => zeros([64, MB]), MemoryError, "Cannot allocate 256.0 MiB: the limit of ");
    assertThrows(
      () => zeros([2, MB]),
      MemoryError,
      `${((live + 4 * MB) / MB).toFixed(1)} MiB are live`,
    );
    zeros([MB]).dispose();
  });
  assertThrows(() => zeros([2 ** 40]), MemoryError, "Cannot allocate");
  assertThrows(() => zeros([2 ** 20, 2 ** 20]), MemoryError, "Cannot allocate");
  assertThrows(() => op.empty([2 ** 50]), MemoryError, "Cannot allocate");
});

Deno.test("limits must be numbers of bytes", () => {
  for (const bytes of [0, -1, NaN]) {
    assertThrows(() => memory.setLimit(bytes), ValueError, "positive number of bytes");
    assertThrows(() => memory.setWatermark(bytes), ValueError, "positive number of bytes");
  }
});

Deno.test("a plan that fails in the middle frees what it had made", async () => {
  const chain = composite({
    name: "chainOfProducts",
    body: ([x]) => {
      let y = x as Tensor;
      const all = Array.from({ length: 8 }, () => y = op.matmul(y, op.exp(op.mul(y, 1e-3))));
      return op.concat(all);
    },
  });
  const x = rand([256, 256]);
  const run = () => engine.call(chain, [x]);
  run().dispose();
  const before = await settled();
  for (const room of [0.3, 0.8, 1.3, 2.5]) {
    await withLimits({ limit: before.live + room * MB }, () => {
      assertThrows(run, MemoryError);
    });
    await assertBackTo(before, `with ${room} MB of room`);
  }
});

Deno.test("a backend that fails in the middle of a plan keeps its memory straight", async () => {
  const x = rand([64, 64], { requiresGrad: true });
  const loss = () => x.matmul(x).exp().sum(0).matmul(x).sum();
  loss().backward();
  x.zeroGrad();
  const before = await settled();
  const { alloc } = cpu;
  for (let k = 1; k < 12; k++) {
    let calls = 0;
    Object.assign(cpu, {
      alloc: (bytes: number) => {
        if (++calls === k) throw new MemoryError("no more");
        return alloc.call(cpu, bytes);
      },
    });
    try {
      loss().backward();
    } catch (e) {
      assert(e instanceof MemoryError);
      assertStringIncludes(e.message, "cpu has no such block left");
    } finally {
      delete (cpu as { alloc?: unknown }).alloc;
    }
    x.zeroGrad();
    await assertBackTo(before, `at allocation ${k}`);
  }
});

Deno.test("the figures", () => {
  memory.resetPeak();
  const before = memory.stats();
  assertEquals(before.peak, before.live);
  const x = zeros([MB]);
  const during = memory.stats();
  assertEquals(during.live - before.live, 4 * MB);
  assertEquals(during.storages - before.storages, 1);
  assert(during.reserved >= during.live);
  x.dispose();
  const after = memory.stats();
  assertEquals([after.live, after.storages], [before.live, before.storages]);
  assertEquals(after.peak, during.live);
});
