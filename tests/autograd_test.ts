// The gradient graph as users see it: what is accumulated, cut, hooked, kept and refused. In-place changes are in
// autograd_inplace_test.ts; the rules of single ops are tested from their definitions in ops_test.ts.
import {
  assert,
  assertEquals,
  assertRejects,
  assertStrictEquals,
  assertThrows,
} from "jsr:@std/assert@1";
import {
  add,
  concat,
  customFunction,
  DTypeError,
  enableGrad,
  grad,
  GradError,
  isGradEnabled,
  noGrad,
  ones,
  ShapeError,
  type Tensor,
  tensor,
  zeros,
} from "../mod.ts";

const leaf = (data: Parameters<typeof tensor>[0]) => tensor(data, { requiresGrad: true });
const double = (data: Parameters<typeof tensor>[0]) =>
  tensor(data, { requiresGrad: true, dtype: "float64" });
const values = (x: Tensor | null) => x?.toArraySync() ?? null;

Deno.test("backward adds to what is there", () => {
  const x = leaf([1, 2]);
  x.mul(3).sum().backward();
  assertEquals(values(x.grad), [3, 3]);
  x.mul(x).sum().backward();
  assertEquals(values(x.grad), [5, 7]);
  x.zeroGrad();
  assertEquals(x.grad, null);
  x.grad = tensor([10, 10]);
  x.sum().backward();
  assertEquals(values(x.grad), [11, 11]);
});

Deno.test("a gradient that is set must fit its tensor", () => {
  const x = leaf([1, 2]);
  assertThrows(
    () => x.grad = tensor([1]),
    ShapeError,
    "Cannot set the grad of a tensor of shape [2]",
  );
  assertThrows(() => x.grad = tensor([1, 2], { dtype: "float64" }), DTypeError, "float64");
  x.grad = null;
  assertEquals(x.grad, null);
});

Deno.test("requiresGrad and stopGradient are opposites, and switch leaves only", () => {
  const x = tensor([1, 2]);
  assertEquals([x.requiresGrad, x.stopGradient, x.isLeaf], [false, true, true]);
  x.stopGradient = false;
  assertEquals([x.requiresGrad, x.stopGradient], [true, false]);
  const y = x.mul(2);
  assertEquals([y.requiresGrad, y.isLeaf], [true, false]);
  assertThrows(() => y.requiresGrad = false, GradError, "use detach()");
  y.requiresGrad = true;
  x.requiresGrad = false;
  assertEquals(x.mul(2).requiresGrad, false);
  assertThrows(() => tensor([1], { dtype: "int32" }).requiresGrad = true, GradError, "int32");
  assertThrows(() => tensor([true], { requiresGrad: true }), GradError, "bool");
});

Deno.test("switching a leaf off afterwards leaves what was recorded", () => {
  const x = leaf([1, 2]);
  const y = x.mul(x).sum();
  x.requiresGrad = false;
  x.requiresGrad = true;
  y.backward();
  assertEquals(values(x.grad), [2, 4]);
});

Deno.test("only a scalar has an implied gradient", () => {
  const x = leaf([1, 2]);
  assertThrows(() => x.mul(2).backward(), GradError, "from shape [2] without a gradient");
  x.mul(2).backward(tensor([1, 10]));
  assertEquals(values(x.grad), [2, 20]);
  assertThrows(() => x.mul(2).backward(tensor([1])), ShapeError, "shapes must be equal");
  const one = leaf([[3]]);
  one.mul(one).backward();
  assertEquals(values(one.grad), [[6]]);
  assertThrows(() => tensor([1]).backward(), GradError, "does not require grad");
});

Deno.test("backward from a leaf gives it the gradient itself", () => {
  const x = leaf(5);
  x.backward();
  assertEquals(values(x.grad), 1);
  const g = tensor([1, 2]);
  const y = leaf([3, 4]);
  y.backward(g);
  g.add_(100);
  assertEquals(values(y.grad), [1, 2], "the user's own tensor is not shared");
});

Deno.test("noGrad records nothing, enableGrad inside it does", () => {
  const x = leaf([1, 2]);
  noGrad(() => {
    assertEquals([isGradEnabled(), x.mul(2).requiresGrad], [false, false]);
    enableGrad(() => assertEquals([isGradEnabled(), x.mul(2).requiresGrad], [true, true]));
    assertEquals(isGradEnabled(), false);
  });
  assertEquals(isGradEnabled(), true);
  assertThrows(() =>
    noGrad(() => {
      throw new RangeError("out");
    }), RangeError);
  assertEquals(isGradEnabled(), true);
});

Deno.test("an async noGrad lasts until it settles", async () => {
  const x = leaf([1, 2]);
  const inside = await noGrad(async () => {
    const before = x.mul(2).requiresGrad;
    await x.data();
    await new Promise((done) => setTimeout(done, 1));
    return [before, x.mul(2).requiresGrad, isGradEnabled()];
  });
  assertEquals(inside, [false, false, false]);
  assertEquals(isGradEnabled(), true);
  await assertRejects(
    () =>
      noGrad(async () => {
        await x.data();
        throw new RangeError("out");
      }),
    RangeError,
  );
  assertEquals(isGradEnabled(), true);
});

Deno.test("async functions that overlap each record as they said", async () => {
  const x = leaf([1, 2]);
  const seen: [string, boolean][] = [];
  const look = async (who: string, pauses: readonly number[]): Promise<void> => {
    for (const ms of pauses) {
      await new Promise((done) => setTimeout(done, ms));
      seen.push([who, x.mul(2).requiresGrad]);
    }
  };
  const off = noGrad(() => look("noGrad", [1, 20]));
  const on = enableGrad(() => look("enableGrad", [10, 20]));
  assertEquals(x.mul(2).requiresGrad, true, "what goes on beside them records");
  await Promise.all([off, on, look("beside", [5, 30])]);
  for (const [who, recorded] of seen) assertEquals(recorded, who !== "noGrad", who);
  assertEquals([seen.length, isGradEnabled()], [6, true]);
});

Deno.test("detach cuts, shares memory and does not follow", () => {
  const x = leaf([1, 2]);
  const y = x.mul(2);
  const d = y.detach();
  assertEquals([d.requiresGrad, d.isLeaf], [false, true]);
  y.mul(d).sum().backward();
  assertEquals(values(x.grad), [4, 8]);
  noGrad(() => y.add_(1));
  assertEquals(values(d), [3, 5]);
});

Deno.test("hooks see and replace gradients of leaves", () => {
  const x = leaf([1, 2]);
  const seen: unknown[] = [];
  const remove = x.registerHook((g) => {
    seen.push(values(g));
  });
  x.registerHook((g) => g.mul(10));
  x.mul(3).sum().backward();
  assertEquals([seen, values(x.grad)], [[[3, 3]], [30, 30]]);
  remove();
  remove();
  x.zeroGrad();
  x.sum().backward();
  assertEquals([seen.length, values(x.grad)], [1, [10, 10]]);
});

Deno.test("a hook sees the sum of all that reaches its tensor, once", () => {
  const x = leaf([1, 2]);
  const y = x.mul(2);
  const seen: unknown[] = [];
  y.registerHook((g) => {
    seen.push(values(g));
    return g.neg();
  });
  add(y.mul(3), y.mul(4)).sum().backward();
  assertEquals([seen, values(x.grad)], [[[7, 7]], [-14, -14]]);
});

Deno.test("a hook may remove itself while it runs", () => {
  const x = leaf([1]);
  const calls: string[] = [];
  const remove = x.registerHook(() => {
    calls.push("first");
    remove();
  });
  x.registerHook(() => void calls.push("second"));
  x.sum().backward();
  x.sum().backward();
  assertEquals(calls, ["first", "second", "second"]);
});

Deno.test("what a hook gives must fit", () => {
  const x = leaf([1, 2]);
  x.registerHook(() => tensor([1]));
  assertThrows(() => x.sum().backward(), GradError, "hook");
  const y = leaf([1, 2]);
  y.registerHook((g) => g.cast("float64"));
  assertThrows(() => y.sum().backward(), GradError, "hook");
  assertThrows(() => tensor([1]).registerHook(() => {}), GradError, "Cannot registerHook");
});

Deno.test("an error in a hook leaves recording as it was", () => {
  const x = leaf([1]);
  x.registerHook(() => {
    throw new RangeError("out");
  });
  assertThrows(() => x.sum().backward(), RangeError);
  assertEquals(isGradEnabled(), true);
});

Deno.test("a second backward needs the graph kept", () => {
  const x = leaf([1, 2]);
  const y = x.mul(x).sum();
  y.backward(undefined, { retainGraph: true });
  y.backward();
  assertEquals(values(x.grad), [4, 8]);
  assertThrows(
    () => y.backward(),
    GradError,
    "Cannot backward through mul a second time: what it saved was released by the first; call " +
      "backward({retainGraph: true})",
  );
  const z = x.exp().sum();
  z.backward();
  assertThrows(() => z.backward(), GradError, "Cannot backward through exp a second time");
});

Deno.test("composites keep their graph or say so", () => {
  const x = leaf([[1, 2], [3, 4]]);
  const y = x.norm();
  grad(y, x, { retainGraph: true });
  grad(y, x);
  assertThrows(() => grad(y, x), GradError, "a second time");
});

Deno.test("gradients of gradients, to the fourth order", () => {
  const x = double([1.5, -0.5]);
  let f = x.pow(5).sum();
  for (let order = 1; order <= 4; order++) {
    const [g] = grad(f, x, { createGraph: true });
    const factor = [5, 20, 60, 120][order - 1];
    assertEquals(
      values(g.sub(x.detach().pow(5 - order).mul(factor)).abs().max().lessThan(1e-12)),
      true,
      `order ${order}`,
    );
    f = g.sum();
  }
});

Deno.test("without createGraph gradients are constants", () => {
  const x = leaf([1, 2]);
  const [g] = grad(x.mul(x).sum(), x);
  assertEquals([g.requiresGrad, g.isLeaf], [false, true]);
  const [h] = grad(x.mul(x).sum(), x, { createGraph: true });
  assertEquals(h.requiresGrad, true);
});

Deno.test("createGraph inside noGrad records", () => {
  const x = leaf([3]);
  const y = x.mul(x).mul(x);
  const h = noGrad(() => grad(y, x, { createGraph: true })[0]);
  assertEquals(values(grad(h, x)[0]), [18]);
});

Deno.test("grad touches nobody's .grad, and takes tensors between too", () => {
  const x = leaf([1, 2]);
  const y = x.mul(3);
  const [gy, gx] = grad(y.mul(y).sum(), [y, x]);
  assertEquals([values(gy), values(gx)], [[6, 12], [18, 36]]);
  assertEquals([x.grad, y.grad], [null, null]);
});

Deno.test("grad of several outputs is that of their sum", () => {
  const x = leaf([1, 2]);
  const [g] = grad([x.mul(2), x.mul(x)], x, { gradOutputs: [tensor([1, 10]), tensor([1, 1])] });
  assertEquals(values(g), [4, 24]);
  const [h] = grad([x.sum(), x.mul(2).sum()], [x], { gradOutputs: [undefined, tensor(2)] });
  assertEquals(values(h), [5, 5]);
});

Deno.test("an input that is an output gets the gradient given for it", () => {
  const x = leaf([1, 2]);
  const y = x.mul(2);
  const [gy, gx] = grad([y, y.sum()], [y, x], { gradOutputs: [tensor([5, 5]), undefined] });
  assertEquals([values(gy), values(gx)], [[6, 6], [12, 12]]);
});

Deno.test("inputs that nothing depends on are an error, or zeros", () => {
  const x = leaf([1, 2]);
  const y = leaf([[3]]);
  const loss = x.sum();
  assertThrows(
    () => grad(loss, [x, y]),
    GradError,
    "input 1 of shape [1, 1]: the outputs do not depend",
  );
  const [gx, gy] = grad(x.sum(), [x, y], { allowUnused: true });
  assertEquals([values(gx), values(gy)], [[1, 1], [[0]]]);
  assertThrows(
    () => grad(x.sum(), tensor([1])),
    GradError,
    "input 0 of shape [1]: it does not require",
  );
  assertThrows(() => grad(tensor(1), x), GradError, "does not require grad");
});

Deno.test("no two gradients share memory", () => {
  const x = leaf([1, 2]);
  const y = leaf([3, 4]);
  x.add(y).sum().backward();
  x.grad!.add_(10);
  assertEquals(values(y.grad), [1, 1]);
  const seed = tensor([1, 1]);
  const [gx, gy] = grad(x.add(y), [x, y], { gradOutputs: [seed] });
  gx.add_(10);
  assertEquals([values(gy), values(seed)], [[1, 1], [1, 1]]);
  const [a, b] = grad(x.sum(), [x, x]);
  a.add_(10);
  assertEquals(values(b), [1, 1]);
});

Deno.test("gradients are dense tensors of their own", () => {
  const x = leaf([[1, 2], [3, 4]]);
  x.sum().backward();
  assert(x.grad!.isContiguous, "not a stretched scalar");
  const y = leaf([[1, 2], [3, 4]]);
  y.T.mul(tensor([[1, 2], [3, 4]])).sum().backward();
  assert(y.grad!.isContiguous);
  assertEquals(values(y.grad), [[1, 3], [2, 4]]);
});

Deno.test("broadcasting is undone, at every place", () => {
  const g = tensor([[1, 2, 3], [4, 5, 6]]);
  const cases: [Tensor, unknown][] = [
    [leaf(2), 21],
    [leaf([2]), [21]],
    [leaf([1, 2, 3]), [5, 7, 9]],
    [leaf([[1], [2]]), [[6], [15]]],
    [leaf([[1]]), [[21]]],
    [leaf([[1, 2, 3]]), [[5, 7, 9]]],
  ];
  for (const [x, want] of cases) {
    const [left] = grad(x.add(zeros([2, 3])), x, { gradOutputs: [g] });
    assertEquals(values(left), want);
    const [right] = grad(ones([2, 3]).mul(x), x, { gradOutputs: [g] });
    assertEquals([right.shape, values(right)], [x.shape, want]);
  }
});

Deno.test("a narrower operand gets its gradient in its own dtype", () => {
  const x = leaf([1, 2]);
  const y = double([3, 4]);
  const z = x.mul(y);
  assertEquals(z.dtype, "float64");
  z.sum().backward();
  assertEquals([x.grad!.dtype, y.grad!.dtype], ["float32", "float64"]);
  assertEquals([values(x.grad), values(y.grad)], [[3, 4], [1, 2]]);
});

Deno.test("no gradient passes through integers, bools and comparisons", () => {
  const x = leaf([1.5, 2.5]);
  for (const y of [x.greaterThan(2), x.cast("int32"), x.argmax(), x.isNan()]) {
    assertEquals([y.requiresGrad, y.isLeaf], [false, true]);
  }
  const index = tensor([1, 0], { dtype: "int32" });
  const y = x.gather(index).mul(x.cast("int32")).sum();
  y.backward();
  assertEquals(values(x.grad), [2, 1]);
});

Deno.test("empty tensors have empty gradients", () => {
  const x = leaf([[], []]);
  assertEquals(x.shape, [2, 0]);
  x.mul(2).sum().backward();
  assertEquals([x.grad!.shape, values(x.grad)], [[2, 0], [[], []]]);
  const y = leaf([1, 2]);
  concat([y, leaf([])]).sum().backward();
  y.at("0:0").sum().backward();
  assertEquals(values(y.grad), [1, 1]);
  const [g] = grad(x.sum(0), x, { gradOutputs: [zeros([0])] });
  assertEquals(g.shape, [2, 0]);
});

Deno.test("a long chain neither overflows the stack nor loses its way", () => {
  const x = leaf(1);
  let y: Tensor = x;
  for (let i = 0; i < 20_000; i++) y = y.add(1);
  y.backward();
  assertEquals(values(x.grad), 1);
});

Deno.test("a diamond of many paths is walked once", () => {
  const x = double(1);
  let y: Tensor = x;
  for (let i = 0; i < 200; i++) y = y.add(y);
  y.backward();
  assertEquals(values(x.grad), 2 ** 200);
});

Deno.test("a leaf made before and one made after its user are both ends", () => {
  const x = leaf([1]);
  const y = x.mul(2);
  const z = leaf([3]);
  y.mul(z).backward();
  assertEquals([values(x.grad), values(z.grad)], [[6], [2]]);
});

const square = customFunction<[Tensor]>({
  name: "square2",
  forward(ctx, x) {
    ctx.saveForBackward(x);
    return x.mul(x);
  },
  backward: (ctx, g) => g.mul(ctx.saved[0]).mul(2),
});

Deno.test("a function of one's own has the gradient that it says, to any order", () => {
  const x = double([3]);
  const [d] = grad(square(x), x, { createGraph: true });
  const [dd] = grad(d, x, { createGraph: true });
  assertEquals([values(d), values(dd)], [[6], [2]]);
  assertEquals((square(tensor([3])) as Tensor).requiresGrad, false);
  assertEquals(noGrad(() => square(x) as Tensor).requiresGrad, false);
});

Deno.test("it may save its output, and differentiate through it", () => {
  const exp = customFunction<[Tensor]>({
    forward(ctx, x) {
      const y = x.exp();
      ctx.saveForBackward(y);
      return y;
    },
    backward: (ctx, g) => g.mul(ctx.saved[0]),
  });
  const x = double([1]);
  const y = exp(x) as Tensor;
  const [d] = grad(y, x, { createGraph: true });
  const [dd] = grad(d, x, { createGraph: true });
  const [ddd] = grad(dd, x);
  assertEquals([values(d), values(dd), values(ddd)], [values(y), values(y), values(y)]);
});

Deno.test("it may have several inputs and outputs, and pass no gradient to some", () => {
  const both = customFunction<[Tensor, Tensor, number]>({
    forward: (ctx, a, b, n) => {
      ctx.store.set("n", n);
      return [a.mul(n), b.add(a)];
    },
    backward: (ctx, ga, gb) => [ga.mul(ctx.store.get("n") as number).add(gb), null, null],
  });
  const a = leaf([1]);
  const b = leaf([2]);
  const [x, y] = both(a, b, 3) as Tensor[];
  grad(x, a);
  add(x, y).backward();
  assertEquals([values(a.grad), values(b.grad)], [[4], null]);
  const [alone] = both(a, b, 3) as Tensor[];
  assertEquals(values(grad(alone, a)[0]), [3], "a gradient that is missing comes as zeros");
});

Deno.test("what it saves is checked for changes and released", () => {
  const x = leaf([3]).mul(1);
  const y = square(x) as Tensor;
  noGrad(() => x.add_(1));
  assertThrows(
    () => y.backward(),
    GradError,
    "through square2: a float32 tensor of shape [1] that it saved",
  );
  const z = square(leaf([3])) as Tensor;
  z.backward();
  assertThrows(() => z.backward(), GradError, "square2 a second time");
});

Deno.test("a wrong number or shape of gradients is refused", () => {
  const x = leaf([1, 2]);
  const few = customFunction<[Tensor, Tensor]>({
    name: "few",
    forward: (_, a, b) => a.add(b),
    backward: (_, g) => g,
  });
  assertThrows(
    () => (few(x, x) as Tensor).sum().backward(),
    GradError,
    "Cannot backward through few: backward must give one gradient (or null) for each of the 2 inputs: got 1",
  );
  const bad = customFunction<[Tensor]>({
    name: "bad",
    forward: (_, a) => a.mul(1),
    backward: () => ones([3]),
  });
  assertThrows(() => (bad(x) as Tensor).sum().backward(), GradError, "bad");
});

Deno.test("a function that gives its input back is still a step of its own", () => {
  const twice = customFunction<[Tensor]>({
    forward: (_, a) => a,
    backward: (_, g) => g.mul(2),
  });
  const x = leaf([1, 2]);
  const y = twice(x) as Tensor;
  y.sum().backward();
  assertEquals([values(x.grad), x.isLeaf, y.isLeaf], [[2, 2], true, false]);
});

Deno.test("disposing of operands and results does not disturb backward", () => {
  const x = leaf([1, 2]);
  const loss = (() => {
    using h = x.mul(2);
    using s = h.mul(h);
    return s.sum();
  })();
  loss.backward();
  assertEquals(values(x.grad), [8, 16]);
});

Deno.test("the tensor that an edge leads to is the leaf itself", () => {
  const x = leaf([1]);
  const view = x.reshape([1, 1]);
  view.mul(3).backward();
  assertEquals([values(x.grad), view.grad], [[3], null]);
  assertStrictEquals(x.isLeaf, true);
});
