// In-place changes and gradients: whatever is changed, through whichever tensor, the gradient is right or refused,
// never wrong.
import { assert, assertEquals, assertThrows } from "jsr:@std/assert@1";
import fc from "npm:fast-check@4";
import {
  add,
  grad,
  GradError,
  nn,
  noGrad,
  ones,
  type Tensor,
  tensor,
  ValueError,
  zeros,
} from "../mod.ts";
import { composite, engine } from "../core/op.ts";
import { op } from "../core/slots.ts";

const leaf = (data: Parameters<typeof tensor>[0]) => tensor(data, { requiresGrad: true });
const values = (x: Tensor | null) => x?.toArraySync() ?? null;
const CHANGED = "changed in place afterwards";

Deno.test("a saved tensor that was changed is refused at backward", () => {
  const ways: [string, (y: Tensor) => void][] = [
    ["directly", (y) => y.add_(1)],
    ["through a view", (y) => y.at(0).add_(1)],
    ["through a transposed view", (y) => y.T.mul_(2)],
    ["through its detached self", (y) => y.detach().zero_()],
    ["by setAt", (y) => y.setAt([0, 0], 5)],
    ["by a mask", (y) => y.setAt([y.greaterThan(100)], 5)],
    ["to the same values", (y) => y.mul_(1)],
  ];
  for (const [how, change] of ways) {
    const x = leaf([[1, 2], [3, 4]]);
    const y = x.mul(1);
    const loss = y.mul(y).sum();
    noGrad(() => change(y));
    assertThrows(() => loss.backward(), GradError, CHANGED, how);
  }
});

Deno.test("changing the base changes a saved view, changing a view a saved base", () => {
  const x = leaf([[1, 2], [3, 4]]);
  const base = x.mul(1);
  const row = base.at(0);
  const loss = row.mul(row).sum();
  noGrad(() => base.add_(1));
  assertThrows(() => loss.backward(), GradError, CHANGED);
  const other = x.mul(1);
  const row2 = other.at(0);
  const loss2 = other.exp().mul(other).sum();
  noGrad(() => row2.add_(1));
  assertThrows(() => loss2.backward(), GradError, CHANGED);
});

Deno.test("a saved output that was changed is refused too", () => {
  const x = leaf([1, 2]);
  const y = x.exp();
  const loss = y.sum();
  noGrad(() => y.zero_());
  assertThrows(() => loss.backward(), GradError, CHANGED);
});

Deno.test("a leaf changed between forward and backward is refused, the usual step is not", () => {
  const w = leaf([1, 2]);
  const loss = w.mul(w).sum();
  noGrad(() => w.sub_(0.1));
  assertThrows(() => loss.backward(), GradError, CHANGED);
  for (let step = 0; step < 3; step++) {
    w.zeroGrad();
    w.mul(w).sum().backward();
    noGrad(() => w.sub_(w.grad!.mul(0.25)));
  }
  assertEquals(Math.round(1e4 * (values(w) as number[])[0]), 1125);
});

Deno.test("what no gradient reads may change", () => {
  const x = leaf([1, 2]);
  const y = x.mul(3);
  const loss = y.add(1).sum();
  noGrad(() => y.zero_());
  loss.backward();
  assertEquals(values(x.grad), [3, 3]);
  const k = tensor([1, 2]);
  const loss2 = x.mul(k).sum();
  const other = k.clone();
  other.zero_();
  loss2.backward();
  assertEquals(values(x.grad), [4, 5]);
});

Deno.test("leaves that require grad change only under noGrad, and their views too", () => {
  const x = leaf([1, 2]);
  const what = "of a leaf of shape [2] that requires grad: its gradient would be lost";
  assertThrows(() => x.add_(1), GradError, "on a leaf of shape [2]");
  assertThrows(() => x.at("0:1").zero_(), GradError, `on a view ${what}`);
  assertThrows(() => x.reshape([2, 1]).T.zero_(), GradError, `on a view ${what}`);
  assertThrows(() => x.setAt([0], 1), GradError, "a leaf of shape [2]");
  noGrad(() => x.add_(1).at("0:1").zero_());
  assertEquals([values(x), x.requiresGrad, x.isLeaf], [[0, 3], true, true]);
  x.sum().backward();
  assertEquals(values(x.grad), [1, 1]);
});

Deno.test("a tensor without gradient takes on the history of what is added to it", () => {
  const w = leaf([1, 2]);
  const total = zeros([2]);
  for (const k of [1, 2, 3]) total.add_(w.mul(k));
  assertEquals([total.requiresGrad, total.isLeaf], [true, false]);
  total.mul(total).sum().backward();
  assertEquals(values(w.grad), [72, 144]);
  const whole = zeros([2], { dtype: "int32" });
  assertThrows(() => whole.copy_(w), GradError, "Cannot copy in place on a int32 tensor");
});

Deno.test("gradients of in-place arithmetic are those of the plain form", () => {
  type Change = (x: Tensor, y: Tensor) => Tensor;
  const forms: [string, Change, Change][] = [
    ["add", (x, y) => x.add_(y), (x, y) => x.add(y)],
    ["sub", (x, y) => x.sub_(y), (x, y) => x.sub(y)],
    ["mul", (x, y) => x.mul_(y), (x, y) => x.mul(y)],
    ["div", (x, y) => x.div_(y), (x, y) => x.div(y)],
    ["mul by itself", (x) => x.mul_(x), (x) => x.mul(x)],
    ["div by itself turned", (x) => x.div_(x.flip(0)), (x) => x.div(x.flip(0))],
    ["mul by its own row", (x) => x.mul_(x.at(0)), (x) => x.mul(x.at(0))],
    ["clip", (x) => x.clip_(1.2, 3.2), (x) => x.clip(1.2, 3.2)],
    ["copy", (x, y) => x.copy_(y), (x, y) => x.mul(0).add(y)],
    ["fill", (x) => x.fill_(2), (x) => x.mul(0)],
    ["number", (x) => x.mul_(3), (x) => x.mul(3)],
    ["a chain", (x, y) => x.mul_(y).add_(x).mul_(y), (x, y) => x.mul(y).mul(2).mul(y)],
  ];
  for (const [name, change, plain] of forms) {
    const run = (f: Change) => {
      const x = leaf([[1, 2], [3, 4]]);
      const y = leaf([5, 0.5]);
      const z = f(x.mul(1), y);
      return grad(z.mul(z).sum(), [x, y], { allowUnused: true }).map(values);
    };
    if (name === "fill") {
      assertEquals(run(change)[0], [[0, 0], [0, 0]]);
    } else assertEquals(run(change), run(plain), name);
  }
});

Deno.test("setAt passes gradients to what was kept and to what was put", () => {
  const x = leaf([1, 2, 3]);
  const v = leaf(10);
  const y = x.mul(2);
  y.setAt([1], v.mul(3));
  y.mul(tensor([1, 10, 100])).sum().backward();
  assertEquals([values(x.grad), values(v.grad)], [[2, 0, 200], 30]);
});

Deno.test("a view that shows an older state is refused, a new one is right", () => {
  const x = leaf([[1, 2], [3, 4]]);
  const w = leaf([10, 20]);
  const y = x.mul(1);
  const old = y.at(0);
  y.mul_(w);
  assertThrows(() => old.sum(), GradError, "take views of it again");
  y.at(0).sum().backward();
  assertEquals([values(x.grad), values(w.grad)], [[[10, 20], [0, 0]], [1, 2]]);
});

Deno.test("stale tensors are refused where nothing required grad before", () => {
  const w = leaf([10, 20]);
  const plain = ones([2, 2]);
  const row = plain.at(0);
  plain.mul_(w);
  assertThrows(() => row.mul(2), GradError, "take views of it again");
  assertThrows(() => row.at(0), GradError, "take views of it again");
  const base = ones([2, 2]);
  base.at(0).mul_(w);
  assertThrows(() => base.sum(), GradError, "in place through another view");
  assertEquals(noGrad(() => values(base.sum())), 32, "its values are true all the same");
  assertEquals(values(base), [[10, 20], [1, 1]]);
});

Deno.test("a detached tensor has no history to be out of date", () => {
  const w = leaf([10, 20]);
  const y = ones([2]);
  const d = y.detach();
  const half = d.at("0:1");
  y.mul_(w);
  assertEquals([values(d.mul(2)), values(half.mul(2))], [[20, 40], [20]]);
});

Deno.test("a tensor may be filled through views that are then forgotten", () => {
  const w = leaf([1, 2]);
  const rows = zeros([3, 2]);
  for (let i = 0; i < 3; i++) rows.setAt([i], w.mul(i + 1));
  rows.mul(rows).sum().backward();
  assertEquals(values(w.grad), [28, 56]);
});

Deno.test("several elements in one place cannot be changed", () => {
  const x = zeros([1, 3]);
  assertThrows(() => x.expand([2, 3]).add_(1), ValueError, "several elements share one place");
  x.expand([1, 3]).add_(1);
  x.expand([0, 3]).add_(1);
  assertEquals(values(x), [[1, 1, 1]]);
  const windows = zeros([5]).unfold(0, { size: 3, step: 1 });
  assertThrows(() => windows.add_(1), ValueError, "share one place");
  zeros([6]).unfold(0, { size: 3, step: 3 }).add_(1);
});

Deno.test("results of operations on stretched tensors can be changed", () => {
  const one = leaf([1]);
  for (
    const y of [
      one.expand([3]).clone(),
      one.expand([3]).mul(2),
      one.expand([2, 3]).sum(0),
      nn.functional.softmax(one.expand([3]), 0),
      one.detach().expand([3]).cast("float64"),
      tensor(1).expand([3]).maximum(0),
    ]
  ) {
    const before = values(y) as number[];
    noGrad(() => y.add_(tensor([1, 2, 3], { dtype: y.dtype })));
    const exact = y.dtype === "float64" ? (v: number) => v : Math.fround;
    assertEquals(values(y), before.map((v, i) => exact(v + i + 1)));
  }
});

Deno.test("a composite that changes an operand that overlaps its target keeps gradients", () => {
  const mix = composite({
    name: "mixInto",
    body: ([a, b]) => op.add(op.mul(a, b), op.sum(b as Tensor)),
  });
  const run = (into: boolean) => {
    const x = leaf([1, 2, 3]);
    const y = x.mul(1);
    const z = into
      ? engine.callInto(mix, [y, y.flip(0)], {}, [y])[0]
      : engine.call(mix, [y, y.flip(0)]);
    return [values(z), ...grad(z.mul(z).sum(), x).map(values)];
  };
  assertEquals(run(true), run(false));
});

Deno.test("the target as two operands of one call", () => {
  const turned = composite({
    name: "addTurned",
    body: ([a, b]) => op.add(a, op.transpose(b as Tensor, 0, 1)),
  });
  const x = tensor([[1, 2], [3, 4]]);
  engine.callInto(turned, [x, x], {}, [x]);
  assertEquals(values(x), [[2, 5], [5, 8]]);
});

/** Programs of plain and in-place steps over a few tensors and their views, with gradients. */
Deno.test("random in-place programs: right, or refused", () => {
  const step = fc.record({ kind: fc.nat(9), a: fc.nat(9), b: fc.nat(9), p: fc.nat(5) });
  const outcomes = { right: 0, refused: 0 };
  const program = (steps: readonly { kind: number; a: number; b: number; p: number }[]) => {
    // With functions: the same steps on plain arrays, differentiated numerically.
    const evaluate = (input: readonly number[]): number => {
      const cells: number[][] = [[...input]];
      // A tensor is a list of [array, position].
      let tensors: { cell: number; at: number[] }[] = [{ cell: 0, at: input.map((_, i) => i) }];
      const read = (k: number) => tensors[k % tensors.length];
      const make = (v: number[]) => {
        cells.push(v);
        tensors = [...tensors, { cell: cells.length - 1, at: v.map((_, i) => i) }];
      };
      const get = (t: { cell: number; at: number[] }) => t.at.map((i) => cells[t.cell][i]);
      make(get(read(0)));
      for (const s of steps) {
        const x = read(1 + s.a % (tensors.length - 1));
        const y = read(s.b);
        const [u, v] = [get(x), get(y)];
        if (s.kind < 3) make(s.kind === 0 ? u.map((q, i) => q + v[i]) : u.map((q, i) => q * v[i]));
        else if (s.kind === 3) tensors = [...tensors, { cell: x.cell, at: [...x.at].reverse() }];
        else if (s.kind === 4) make(u.map((q) => Math.exp(q * 0.1)));
        else {
          const w = s.kind < 7 ? u.map((q, i) => q + v[i]) : u.map((q, i) => q * v[i] * 0.5);
          x.at.forEach((i, n) => cells[x.cell][i] = w[n]);
        }
      }
      return tensors.flatMap(get).reduce((n, q, i) => n + q * Math.cos(i), 0);
    };
    const run = (input: readonly number[]) => {
      const x0 = tensor([...input], { dtype: "float64", requiresGrad: true });
      const tensors: Tensor[] = [x0, x0.clone()];
      for (const s of steps) {
        const x = tensors[1 + s.a % (tensors.length - 1)];
        const y = tensors[s.b % tensors.length];
        if (s.kind < 3) tensors.push(s.kind === 0 ? x.add(y) : x.mul(y));
        else if (s.kind === 3) tensors.push(x.flip(0));
        else if (s.kind === 4) tensors.push(x.mul(0.1).exp());
        else if (s.kind < 7) x.add_(y);
        else x.mul_(y.mul(0.5));
      }
      let loss = tensor(0, { dtype: "float64" });
      tensors.forEach((t, k) => {
        const w = t.shape.map((n) => Array.from({ length: n }, (_, i) => Math.cos(k * n + i)))[0];
        loss = add(loss, t.mul(tensor(w, { dtype: "float64" })).sum());
      });
      return { loss, x0 };
    };
    const input = [0.3, -0.7, 1.1];
    let got: number[];
    try {
      const { loss, x0 } = run(input);
      assert(
        Math.abs(Number(loss.itemSync()) - evaluate(input)) <=
          1e-9 * (1 + Math.abs(evaluate(input))),
      );
      got = values(grad(loss, x0)[0]) as number[];
    } catch (e) {
      if (!(e instanceof GradError)) throw e;
      outcomes.refused++;
      return;
    }
    outcomes.right++;
    got.forEach((g, i) => {
      const h = 1e-5;
      const moved = (by: number) => evaluate(input.map((v, k) => (k === i ? v + by : v)));
      const numeric = (moved(h) - moved(-h)) / (2 * h);
      const bound = 1e-6 * (1 + Math.abs(numeric) + Math.abs(evaluate(input)));
      assert(Math.abs(g - numeric) <= bound, `gradient ${i} is ${g}, numerically ${numeric}`);
    });
  };
  fc.assert(fc.property(fc.array(step, { minLength: 1, maxLength: 7 }), program), {
    numRuns: 1500,
    seed: 7,
  });
  assert(outcomes.right > 200 && outcomes.refused > 200, JSON.stringify(outcomes));
});
