// The one way of every call: places, traces, plans and their keys, numbers beside tensors, targets, views, empty
// and scalar operands. Values of single ops are tested from their definitions in ops_test.ts.
import { assert, assertEquals, assertThrows } from "jsr:@std/assert@1";
import {
  type DType,
  DTypeError,
  noGrad,
  PlaceError,
  setDefaultDtype,
  ShapeError,
  Tensor,
  tensor,
  ValueError,
  where,
  zeros,
} from "../mod.ts";
import { DTYPE_NAMES, DTYPES } from "../core/dtype.ts";
import {
  anonymousComposite,
  type Attrs,
  elementwise,
  engine,
  kernelOp,
  type Op,
  type Operand,
  promote,
} from "../core/op.ts";
import * as k from "../core/ir/expr.ts";
import { op } from "../core/slots.ts";
import { callOp, draw, type HostTensor, sampledOps, toTensor, valuesOf } from "./op_samples.ts";

const values = (x: Tensor) => x.toArraySync();
let count = 0;
/** A composite of a body. */
const traced = (body: (...xs: Tensor[]) => Tensor | Tensor[]) =>
  anonymousComposite(`traced${count++}`, (xs) => body(...xs as Tensor[]));
const run = (body: (...xs: Tensor[]) => Tensor | Tensor[], ...xs: Operand[]) =>
  engine.call(traced(body), xs);

// --- places ------------------------------------------------------------------------------------------

Deno.test("tensors of two places are refused, with both names and the way out", () => {
  const a = tensor([1, 2]);
  const b = tensor([1, 2], { place: "ref" });
  const text = (name: string) =>
    `Cannot ${name} tensors on cpu and ref: operands must be on one place; move one with .to("cpu")`;
  assertThrows(() => a.add(b), PlaceError, text("add"));
  assertThrows(() => b.add(a), PlaceError, "Cannot add tensors on ref and cpu");
  assertThrows(() => a.add_(b), PlaceError, text("add"));
  assertThrows(() => where(a.greaterThan(0), a, b), PlaceError, text("where"));
  assertThrows(() => op.concat([a, b]), PlaceError, "cpu and ref");
  assertThrows(() => a.reshape([1, 2]).matmul(b.reshape([2, 1])), PlaceError, text("matmul"));
  assertThrows(() => a.gather(tensor([0], { dtype: "int32", place: "ref" })), PlaceError);
  assertThrows(() => run((x, y) => x.add(y), a, b), PlaceError, "cpu and ref");
  assertThrows(() => a.copy_(b), PlaceError, "cpu and ref");
  assertEquals(values(a.add(b.to("cpu"))), [2, 4]);
  assertEquals([a.add(1).place.name, b.add(1).place.name], ["cpu", "ref"]);
});

Deno.test("gradients pass from place to place", () => {
  const a = tensor([1, 2], { requiresGrad: true });
  const b = a.mul(2).to("ref");
  b.mul(b).sum().backward();
  assertEquals([values(a.grad!), a.grad!.place.name], [[8, 16], "cpu"]);
});

// --- plans -------------------------------------------------------------------------------------------

Deno.test("one cache serves many sizes", () => {
  const normalize = traced((x) => {
    const d = x.sub(x.mean(-1, { keepdim: true }));
    return d.div(d.mul(d).mean(-1, { keepdim: true }).sqrt()).mul(x.shape[0]);
  });
  for (const n of [4, 1, 4, 7, 1, 0]) {
    const x = op.arange(0, n * 3, { dtype: "float64" }).reshape([n, 3]);
    const [y] = [engine.call(normalize, [x])];
    assertEquals(y.shape, [n, 3]);
    const r = n * Math.sqrt(1.5);
    for (const row of values(y) as number[][]) {
      row.forEach((v, i) => assert(Math.abs(v - [-r, 0, r][i]) < 1e-6));
    }
  }
});

Deno.test("strides, dtypes and which operands require grad make plans of their own", () => {
  const f = traced((a, b) => a.mul(b).sum(0));
  const x = tensor([[1, 2], [3, 4]]);
  assertEquals(values(engine.call(f, [x, x])), [10, 20]);
  assertEquals(values(engine.call(f, [x.T, x])), [7, 22]);
  assertEquals(values(engine.call(f, [x, x.at(0)])), [4, 12]);
  assertEquals(engine.call(f, [x.cast("float64"), x]).dtype, "float64");
  const w = tensor([[1, 1], [1, 1]], { requiresGrad: true });
  engine.call(f, [x, w]).sum().backward();
  assertEquals(values(w.grad!), [[1, 2], [3, 4]]);
  w.zeroGrad();
  engine.call(f, [w, x]).sum().backward();
  assertEquals(values(w.grad!), [[1, 2], [3, 4]]);
  assertEquals(noGrad(() => engine.call(f, [w, x])).requiresGrad, false);
});

/** Gives its attribute as it is. */
const ECHO = elementwise({
  name: "echoAttribute",
  dtype: () => ({ compute: "float64", out: "float64" }),
  scalar: ([x], { attrs }) => k.mul(x, k.constant(pick(attrs), "float64")),
  vjp: null,
});
const pick = (attrs: Attrs): number => {
  const { a } = attrs;
  if (typeof a === "number") return a;
  if (typeof a === "string") return 1000 + a.length;
  if (typeof a === "bigint") return 2000 + Number(a);
  if (typeof a === "boolean") return a ? 3001 : 3000;
  if (a === undefined) return 4000;
  if (a === null) return 4001;
  if (Array.isArray(a)) {
    return 5000 + a.length + (Object.is(a[0], -0) ? 100 : 0) + (Array.isArray(a[0]) ? 200 : 0);
  }
  return 6000 + Object.keys(a).length;
};

Deno.test("attributes that differ never share a plan", () => {
  const x = tensor([1], { dtype: "float64" });
  const all: unknown[] = [
    0,
    -0,
    NaN,
    Infinity,
    -Infinity,
    1,
    0.1,
    5e-324,
    1e21,
    "1",
    "1;b=2",
    "",
    '"',
    1n,
    0n,
    true,
    false,
    undefined,
    null,
    [],
    [1],
    [1, 2],
    [[1], 2],
    [-0],
    ["1,2"],
    {},
    { b: 1 },
    { b: 1, c: 2 },
  ];
  for (let round = 0; round < 2; round++) {
    for (const a of all) {
      const got = engine.call(ECHO, [x], { a }).dataSync()[0];
      assert(Object.is(got, pick({ a })), `${Deno.inspect(a)}: ${got}`);
    }
  }
});

Deno.test("numbers keep NaN, infinities and the sign of zero, as operands and in traces", () => {
  const x = tensor([1, -1], { dtype: "float64" });
  for (let round = 0; round < 2; round++) {
    for (const n of [0, -0, 0, NaN, Infinity, -Infinity, 2, -2, 0.5, 1e308, 5e-324]) {
      const want = [n, -n];
      assertEquals(values(x.mul(n)), want, `operand ${n}`);
      assertEquals(values(run((a) => a.mul(n), x)), want, `in a trace ${n}`);
      assertEquals(values(run((a, b) => a.mul(b), x, n)), want, `of a trace ${n}`);
      assertEquals(values(x.to("ref").mul(n)), want, `reference ${n}`);
    }
  }
});

const SCALARS: readonly (number | bigint | boolean)[] = [2, 2.5, -1, 0, 3n, true, false, NaN, 100];
type Binary = (a: Operand, b: Operand) => Tensor;
const BINARY: Record<string, Binary> = {
  add: op.add,
  sub: (a, b) => op.sub(b, a),
  mul: op.mul,
  div: op.div,
  maximum: op.maximum,
  lessThan: op.lessThan,
  equal: op.equal,
  pow: op.pow,
  logicalAnd: op.logicalAnd,
  where: (a, b) => op.where(op.equal(a, a), a, b),
};

/** What a call gives, or how it fails. */
function outcome(f: () => Tensor): unknown {
  try {
    const y = f();
    return [y.dtype, values(y)];
  } catch (e) {
    return (e as Error).name;
  }
}

Deno.test("a number beside a tensor gives the same dtype and values called, traced and as an input of a trace", () => {
  const dtypes = DTYPE_NAMES.filter((d) => DTYPES[d].kind !== "complex");
  for (const dtype of dtypes) {
    const x = tensor([1, 0, 1], { dtype });
    for (const [name, f] of Object.entries(BINARY)) {
      for (const s of SCALARS) {
        // Negative powers of integers are refused where the number is known, which it is not in a plan.
        if (name === "pow" && Number(s) < 0 && DTYPES[dtype].kind !== "float") continue;
        const what = `${name} of ${dtype} and ${typeof s} ${s}`;
        const want = outcome(() => f(x, s));
        assertEquals(outcome(() => run((a) => f(a, s), x)), want, `${what} in a trace`);
        assertEquals(outcome(() => run((a, b) => f(a, b), x, s)), want, `${what} as an input`);
        const there = tensor([1, 0, 1], { dtype, place: "ref" });
        assertEquals(outcome(() => f(there, s)), want, `${what} on the reference place`);
      }
    }
  }
});

Deno.test("a number that an integer dtype cannot hold is refused, not cut", () => {
  const x = tensor([1, 2], { dtype: "int32" });
  assertEquals(values(x.add(2 ** 31 - 3)), [2 ** 31 - 2, 2 ** 31 - 1]);
  for (const place of ["cpu", "ref"]) {
    for (const n of [2 ** 31, -(2 ** 31) - 1, 1e20, 2n ** 40n]) {
      const y = x.to(place);
      const why =
        `Cannot use the number ${n} beside int32: it lies beyond int32; cast the tensor to int64`;
      assertThrows(() => y.add(n), ValueError, why);
      assertThrows(() => y.lessThan(n), ValueError, why);
      assertThrows(() => y.clone().mul_(n), ValueError, why);
      assertThrows(() => run((a) => a.add(n), y), ValueError, why);
    }
  }
  const wide = x.cast("int64");
  assertEquals(values(wide.add(2 ** 40)), [2 ** 40 + 1, 2 ** 40 + 2]);
  assertThrows(() => wide.add(2 ** 63), ValueError, "beyond int64; cast the tensor to float64");
  assertThrows(() => wide.add(2n ** 63n), ValueError, "beyond int64");
  assertEquals(values(wide.add(-(2n ** 63n)).sub(-(2n ** 63n))), [1, 2]);
  assertEquals(values(x.cast("uint8").lessThan(300)), [true, true]);
  assertEquals(values(x.cast("float32").add(2 ** 40)), [2 ** 40, 2 ** 40]);
});

Deno.test("the default dtype is part of what a call means", () => {
  const x = tensor([1, 4], { dtype: "int32" });
  const root = traced((a) => a.sqrt().add(0.5));
  for (const dtype of ["float32", "float64", "float16", "float32"] as DType[]) {
    setDefaultDtype(dtype);
    try {
      assertEquals(x.sqrt().dtype, dtype);
      assertEquals(x.add(0.5).dtype, dtype);
      assertEquals(x.div(2).dtype, dtype);
      assertEquals(x.mean().dtype, dtype);
      assertEquals(engine.call(root, [x]).dtype, dtype);
    } finally {
      setDefaultDtype("float32");
    }
  }
});

// --- in place ----------------------------------------------------------------------------------------

Deno.test("targets may have any strides", () => {
  const views: [string, (x: Tensor) => Tensor][] = [
    ["whole", (x) => x],
    ["transposed", (x) => x.T],
    ["a column", (x) => x.at(":", 1)],
    ["a row", (x) => x.at(2)],
    ["every second", (x) => x.at("::2", "1::2")],
    ["turned", (x) => x.flip([0, 1])],
    ["an element", (x) => x.at(1, 1)],
    ["nothing", (x) => x.at("1:1")],
    ["the diagonal", (x) => x.diagonal()],
    ["reshaped", (x) => x.reshape([2, 2, 4])],
  ];
  const changes: [string, (x: Tensor) => Tensor, (v: number, i: number) => number][] = [
    ["add a number", (x) => x.add_(10), (v) => v + 10],
    ["mul by itself", (x) => x.mul_(x), (v) => v * v],
    ["add a tensor", (x) => x.add_(op.arange(0, x.numel).reshape(x.shape)), (v, i) => v + i],
    ["copy", (x) => x.copy_(op.arange(0, x.numel).reshape(x.shape)), (_, i) => i],
    [
      "copy of float64",
      (x) => x.copy_(op.arange(0, x.numel, { dtype: "float64" }).reshape(x.shape)),
      (_, i) => i,
    ],
    ["zero", (x) => x.zero_(), () => 0],
    ["clip", (x) => x.clip_(3, 8), (v) => Math.min(8, Math.max(3, v))],
    [
      "a planned composite",
      (x) => engine.callInto(DOUBLE_PLUS, [x, 1], {}, [x])[0],
      (v) => 2 * v + 1,
    ],
  ];
  for (const place of ["cpu", "ref"]) {
    for (const [where_, view] of views) {
      for (const [what, change, want] of changes) {
        const x = op.arange(0, 16, { dtype: "float32" }).reshape([4, 4]).to(place);
        const numbers = op.arange(0, 16, { dtype: "float32" }).reshape([4, 4]);
        const at = Array.from(view(numbers).dataSync(), Number);
        const expected = Array.from(
          { length: 16 },
          (_, v) => (at.includes(v) ? want(v, at.indexOf(v)) : v),
        );
        if (place === "ref" && /tensor|copy/.test(what)) continue;
        change(view(x));
        assertEquals(
          Array.from(x.dataSync(), Number),
          expected,
          `${what} in ${where_} on ${place}`,
        );
      }
    }
  }
});

const DOUBLE_PLUS = traced((a, b) => op.add(op.mul(a, 2), b));

Deno.test("an operand that overlaps its target is read before it is written", () => {
  const make = () => op.arange(1, 7, { dtype: "float32" });
  const x = make();
  x.at("1:").add_(x.at(":-1"));
  assertEquals(values(x), [1, 3, 5, 7, 9, 11]);
  const y = make();
  y.at(":-1").copy_(y.at("1:"));
  assertEquals(values(y), [2, 3, 4, 5, 6, 6]);
  const z = make();
  z.copy_(z.flip(0));
  assertEquals(values(z), [6, 5, 4, 3, 2, 1]);
  const m = make().reshape([2, 3]).at(":", ":2").clone();
  m.add_(m.T);
  assertEquals(values(m), [[2, 6], [6, 10]]);
  const s = make();
  s.sub_(s.at("2:3"));
  assertEquals(values(s), [-2, -1, 0, 1, 2, 3]);
  const c = make();
  engine.callInto(traced((a) => op.sub(a, op.mean(a))), [c], {}, [c]);
  assertEquals(values(c), [-2.5, -1.5, -0.5, 0.5, 1.5, 2.5]);
  const p = make().reshape([2, 3]);
  engine.callInto(traced((a) => op.cumsum(op.flip(a, 1), 1)), [p], {}, [p]);
  assertEquals(values(p), [[3, 5, 6], [6, 11, 15]]);
});

Deno.test("several targets of one call", () => {
  const step = traced((a, b) => {
    const next = a.add(b.sum());
    return [next, b.mul(next)];
  });
  const x = tensor([1, 2]);
  const y = tensor([10, 20]);
  engine.callInto(step, [x, y], {}, [x, y]);
  assertEquals([values(x), values(y)], [[31, 32], [310, 640]]);
});

Deno.test("a target of another shape or dtype is refused and stays as it was", () => {
  const x = tensor([1, 2]);
  assertThrows(() => x.add_(tensor([[1], [2]])), ShapeError, "the result has shape [2, 2]");
  assertThrows(
    () => x.add_(tensor([1, 2], { dtype: "float64" })),
    DTypeError,
    "in place on float32",
  );
  const whole = tensor([1, 2], { dtype: "int32" });
  assertThrows(() => whole.mul_(0.5), DTypeError, "in place on int32: the result is float32");
  assertEquals([values(x), values(whole)], [[1, 2], [1, 2]]);
});

// --- shapes of every kind ----------------------------------------------------------------------------

/** Something of each kind of op that takes any shape. */
const KINDS: Record<string, (x: Tensor) => Tensor | readonly Tensor[]> = {
  elementwise: (x) => x.mul(x).add(1),
  "elementwise of one": (x) => x.tanh(),
  broadcast: (x) => x.add(zeros([1], { place: x.place })),
  cast: (x) => x.cast("float64"),
  "reduce all": (x) => x.sum(),
  "reduce none": (x) => x.sum([]),
  product: (x) => x.prod(),
  "reduce with keepdim": (x) => x.mean(undefined, { keepdim: true }),
  any: (x) => x.greaterThan(0).any(),
  norm: (x) => x.norm(),
  view: (x) => x.unsqueeze(0),
  reshape: (x) => x.reshape([x.numel]),
  permute: (x) => x.permute(x.shape.map((_, i) => x.rank - 1 - i)),
  expand: (x) => x.expand([2, ...x.shape]),
  composite: (x) => op.where(x.greaterThan(0), x, x.neg()),
  concat: (x) => op.concat([x.reshape([-1]), x.reshape([-1])]),
  stack: (x) => op.stack([x, x]),
  flatten: (x) => x.flatten(),
  clone: (x) => x.clone(),
  traced: (x) => run((a) => op.sub(op.exp(a), op.sum(a)), x),
};

Deno.test("scalars and empty tensors pass through every kind of call, on both places, with gradients", () => {
  for (const shape of [[], [0], [2, 0], [0, 3], [1], [1, 1]]) {
    for (const [name, f] of Object.entries(KINDS)) {
      const of = (place: string) => {
        const x = op.arange(0, shape.reduce((a, b) => a * b, 1), { dtype: "float32" })
          .reshape(shape).add(0.5).to(place).detach();
        x.requiresGrad = true;
        const y = f(x) as Tensor;
        if (y.requiresGrad) y.sum().backward();
        return { y, g: x.grad };
      };
      const cpu = of("cpu");
      const ref = of("ref");
      const what = `${name} of [${shape}]`;
      assertEquals([cpu.y.shape, cpu.y.dtype], [ref.y.shape, ref.y.dtype], what);
      close(cpu.y, ref.y, what);
      assertEquals(cpu.g === null, ref.g === null, what);
      if (cpu.g !== null) {
        assertEquals(cpu.g.shape, shape, what);
        close(cpu.g, ref.g!, `${what}, gradient`);
      }
    }
  }
});

function close(a: Tensor, b: Tensor, what: string): void {
  const [x, y] = [valuesOf(a), valuesOf(b)];
  assertEquals(a.shape, b.shape, what);
  let scale = 0;
  for (const v of y) if (Number.isFinite(v)) scale = Math.max(scale, Math.abs(v));
  const bound = (DTYPES[a.dtype].kind !== "float" ? 0 : a.dtype === "float64" ? 1e-13 : 4e-6) *
    scale;
  x.forEach((v, i) => {
    assert(
      Object.is(v, y[i]) || v === y[i] || Math.abs(v - y[i]) <= bound,
      `${what}: element ${i} is ${v}, not ${y[i]}`,
    );
  });
}

/** The same elements with other strides. */
const LAYOUTS: Record<string, (x: Tensor) => Tensor> = {
  turned: (x) => op.flip(op.flip(x, all(x)).clone(), all(x)),
  "axes permuted": (x) => x.T.clone().T,
  "every third of a longer last axis": (x) => {
    if (x.rank === 0) return op.stack([x, x, x]).at(1);
    const wide = op.stack([x, x, x], -1).reshape([
      ...x.shape.slice(0, -1),
      3 * x.shape[x.rank - 1],
    ]);
    return wide.at("...", "1::3") as Tensor;
  },
  "inside of a larger one": (x) => {
    const wide = op.pad(x, x.shape.map(() => [1, 2]));
    return x.shape.reduce<Tensor>(
      (y, n, i) => op.slice(y, { axes: [i], starts: [1], ends: [1 + n] }),
      wide,
    );
  },
};
const all = (x: Tensor) => x.shape.map((_, i) => i);

for (const [layout, lay] of Object.entries(LAYOUTS)) {
  Deno.test(`every op takes operands laid out otherwise: ${layout}`, () => {
    for (const { op: each, samples } of sampledOps()) {
      for (const [i, sample] of samples.entries()) {
        const inputs = draw(sample, "float32", i + 1);
        const dense = inputs.map((
          x,
        ) => (typeof x === "object" ? toTensor(x as HostTensor, "cpu") : x));
        const laid = dense.map((x) => (x instanceof Tensor ? lay(x) : x));
        const want = callOp(each, dense, sample);
        const got = callOp(each, laid, sample);
        got.forEach((y, j) => close(y, want[j], `${each.name} sample ${i} output ${j}`));
      }
    }
  });
}

// --- hand-made kernels -------------------------------------------------------------------------------

Deno.test("a routine on the host gets operands as they lie, numbers as they are", () => {
  const seen: unknown[] = [];
  const probe: Op = kernelOp({
    name: "probeHost",
    infer: ([x]) => [{ shape: x.shape, dtype: x.dtype }],
    vjp: null,
    reference: ([x, n], [out]) => {
      const a = x as { shape: readonly number[]; strides: readonly number[]; offset: number };
      seen.push([a.shape, a.strides, a.offset, n]);
      out.data.fill(7 as never, out.offset, out.offset + 4);
    },
  });
  const x = tensor([[1, 2], [3, 4], [5, 6]]);
  assertEquals(values(engine.call(probe, [x.at("1:").T, 2.5])), [[7, 7], [7, 7]]);
  engine.call(probe, [x.at("1:").T, 3.5]);
  engine.call(probe, [x.at("1:").T, 3]);
  assertEquals(seen, [2.5, 3.5, 3].map((n) => [[2, 2], [1, 2], 2, n]));
});

Deno.test("an op of one's own with a rule promotes and broadcasts like any other", () => {
  const average: Op = elementwise({
    name: "averageOfTwo",
    dtype: promote,
    scalar: ([a, b]) => k.mul(k.add(a, b), 0.5),
    vjp: ([g]) => [op.mul(g, 0.5), op.mul(g, 0.5)],
    saves: "none",
  });
  const x = tensor([[1], [3]], { requiresGrad: true });
  const y = engine.call(average, [x, tensor([5, 7])]);
  y.sum().backward();
  assertEquals([values(y), values(x.grad!)], [[[3, 4], [4, 5]], [[1], [1]]]);
});
