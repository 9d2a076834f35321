// Scopes: what is freed when one ends, what leaves it, how async ones keep apart.
import {
  assert,
  assertEquals,
  assertRejects,
  assertStringIncludes,
  assertThrows,
} from "jsr:@std/assert@1";
import {
  DisposedError,
  memory,
  nn,
  ones,
  optim,
  scope,
  type Tensor,
  tensor,
  ValueError,
  zeros,
} from "../mod.ts";

const MB = 2 ** 20;
const values = (x: Tensor) => x.toArraySync();

Deno.test("a scope frees what it does not return, at once", () => {
  const before = memory.stats().live;
  const inner: Tensor[] = [];
  const y = scope(() => {
    const x = zeros([MB]);
    inner.push(x, x.add(1), x.reshape([1024, 1024]));
    return inner[1].slice({ axes: [0], starts: [0], ends: [2] }).clone();
  });
  assertEquals(memory.stats().live - before < 1024, true);
  assertEquals(values(y), [1, 1]);
  for (const x of inner) {
    assertThrows(() => x.add(1), DisposedError, "left a scope()");
    assertStringIncludes(String(x), "Tensor(disposed");
  }
});

Deno.test("what a scope returns lives, in arrays, records, Maps, Sets and objects of classes", () => {
  class Holder {
    constructor(readonly held: Tensor) {}
  }
  const make = () => tensor([1, 2]).mul(2);
  const out = scope(() => {
    const cyclic: { self?: unknown; x: Tensor } = { x: make() };
    cyclic.self = cyclic;
    return {
      list: [make(), [make()]],
      map: new Map([["a", make()]]),
      set: new Set([make()]),
      holder: new Holder(make()),
      bare: Object.assign(Object.create(null), { x: make() }),
      key: new Map([[make(), 1]]),
      view: make().reshape([2, 1]),
      cyclic,
      other: [1, null, undefined, "text", () => 1],
    };
  });
  const found: Tensor[] = [
    out.list[0] as Tensor,
    (out.list[1] as Tensor[])[0],
    out.map.get("a")!,
    [...out.set][0],
    out.holder.held,
    out.bare.x,
    [...out.key.keys()][0],
    out.cyclic.x,
  ];
  for (const [i, x] of found.entries()) assertEquals(values(x), [2, 4], `tensor ${i}`);
  assertEquals(values(out.view), [[2], [4]]);
});

Deno.test("a model made in a scope keeps its parameters", () => {
  const model = scope(() => new nn.Linear(3, 2));
  assertEquals(model.call(ones([1, 3])).shape, [1, 2]);
});

Deno.test("gradients of leaves from outside outlive the scope, and add up in the next", () => {
  const w = tensor([1, 2], { requiresGrad: true });
  for (let i = 1; i <= 3; i++) {
    scope(() => w.mul(w).sum().backward());
    assertEquals(values(w.grad!), [2 * i, 4 * i]);
  }
  scope(() => w.grad = tensor([7, 7]));
  assertEquals(values(w.grad!), [7, 7]);
});

Deno.test("an optimizer may be stepped in a scope", async () => {
  const w = tensor([1, 2], { requiresGrad: true });
  const optimizer = new optim.Adam({ parameters: [w], learningRate: 0.1 });
  for (let i = 0; i < 3; i++) {
    await scope(async () => {
      w.mul(w).sum().backward();
      await optimizer.step();
      optimizer.clearGrad();
    });
  }
  assertEquals((values(w) as number[]).map((v) => Math.round(v * 100)), [70, 170]);
});

Deno.test("scopes nest: what leaves an inner one belongs to the outer", () => {
  let kept: Tensor;
  const y = scope(() => {
    const a = scope(() => tensor([1]).add(1));
    kept = a;
    return scope(() => a.add(1));
  });
  assertEquals(values(y), [3]);
  assertThrows(() => kept.add(1), DisposedError);
});

Deno.test("a scope that throws frees everything and closes", () => {
  const before = memory.stats().live;
  let inner: Tensor;
  assertThrows(() =>
    scope(() => {
      inner = zeros([MB]);
      scope(() => {
        zeros([MB]);
        throw new RangeError("out");
      });
    }), RangeError);
  assertEquals(memory.stats().live, before);
  assertThrows(() => inner.add(1), DisposedError);
  const outside = zeros([2]);
  scope(() => zeros([2]));
  assertEquals(values(outside), [0, 0]);
});

Deno.test("an async scope frees when it settles", async () => {
  const before = memory.stats().live;
  let inner: Tensor;
  const y = await scope(async () => {
    inner = zeros([MB]);
    await inner.data();
    assert(memory.stats().live >= before + 4 * MB);
    return inner.sum();
  });
  assertThrows(() => inner.add(1), DisposedError);
  assertEquals(values(y), 0);
  await assertRejects(
    () =>
      scope(async () => {
        inner = zeros([MB]);
        await inner.data();
        throw new RangeError("out");
      }),
    RangeError,
  );
  assertThrows(() => inner.add(1), DisposedError);
});

Deno.test("async scopes that overlap free each what they made, and nothing else", async () => {
  const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));
  const run = (pauses: readonly number[], inner: Tensor[]) =>
    scope(async () => {
      let x = tensor([0]);
      for (const ms of pauses) {
        inner.push(x);
        await pause(ms);
        x = x.add(1);
      }
      return x;
    });
  const inner: Tensor[] = [];
  const [first, second] = [run([5, 20], inner), run([1, 10, 30], inner)];
  const beside = tensor([7]).add(1);
  assertEquals([values(await first), values(await second), values(beside)], [[2], [3], [8]]);
  for (const x of inner) assertThrows(() => x.add(1), DisposedError, "left a scope()");
});

Deno.test("what goes on after its scope has ended belongs to the collector", async () => {
  let late: Promise<Tensor> | null = null;
  scope(() => {
    const go = async (): Promise<Tensor> => {
      await new Promise((done) => setTimeout(done, 1));
      return scope(() => tensor([1]).add(1));
    };
    late = go();
  });
  const x = await late!;
  assertEquals(values(x), [2]);
  x.dispose();
});

Deno.test("a scope takes a function", () => {
  assertThrows(
    () => scope(3 as unknown as () => void),
    ValueError,
    "Cannot scope: it takes a function: got 3; write scope(() => …)",
  );
});

Deno.test("backward through what a scope freed is an error that says so", () => {
  const w = tensor([1, 2], { requiresGrad: true });
  const loss = scope(() => w.mul(2).exp().sum());
  assertThrows(() => loss.backward(), DisposedError, "left a scope()");
});
