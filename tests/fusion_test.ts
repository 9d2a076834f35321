// Random programs run op by op, and as one composite (traced, fused, gradients derived): both must agree, on the
// embedded and the reference place. Also: how many kernels well-known patterns become.
import { assert, assertEquals } from "jsr:@std/assert@1";
import fc from "npm:fast-check@4";
import { composite, engine, type Operand } from "../core/op.ts";
import { compileComposite } from "../core/engine/composite.ts";
import { backendOf } from "../backends/registry.ts";
import { Place } from "../core/place.ts";
import { grad, noGrad, setRequiresGrad } from "../core/autograd.ts";
import type { Tensor } from "../core/tensor.ts";
import { op } from "../core/slots.ts";
import { numbers } from "./op_samples.ts";
import { full } from "../tools/testing.ts";

/** A program: each step takes earlier values by index (modulo how many there are). */
interface Step {
  readonly kind: number;
  readonly a: number;
  readonly b: number;
  readonly p: number;
}

const steps = fc.array(
  fc.record({ kind: fc.nat(19), a: fc.nat(50), b: fc.nat(50), p: fc.nat(50) }),
  { minLength: 1, maxLength: 12 },
);
const shapes = fc.array(fc.constantFrom(1, 2, 3, 4), { minLength: 1, maxLength: 3 });

/** Interprets a program on the inputs; each step that does not fit is left out. */
function program(list: readonly Step[], inputs: readonly Tensor[]): Tensor[] {
  const values = [...inputs];
  const pick = (i: number) => values[values.length - 1 - (i % values.length)];
  for (const s of list) {
    const x = pick(s.a);
    const y = pick(s.b);
    const axis = x.rank > 0 ? s.p % x.rank : 0;
    const made = apply(s, x, y, axis);
    if (made !== null && made.numel <= 4096) values.push(made);
  }
  return values.slice(inputs.length);
}

function broadcastable(x: Tensor, y: Tensor): boolean {
  for (let i = 1; i <= Math.min(x.rank, y.rank); i++) {
    const a = x.shape[x.rank - i];
    const b = y.shape[y.rank - i];
    if (a !== b && a !== 1 && b !== 1) return false;
  }
  return true;
}

function apply(s: Step, x: Tensor, y: Tensor, axis: number): Tensor | null {
  switch (s.kind) {
    case 0:
    case 1:
      return broadcastable(x, y) ? op.add(x, y) : null;
    case 2:
    case 3:
      return broadcastable(x, y) ? op.mul(x, y) : null;
    case 4:
      return op.tanh(x);
    case 5:
      return op.mul(x, 0.25 + s.p / 10);
    case 6:
      return x.rank > 0 ? op.sum(x, axis, { keepdim: s.b % 2 === 0 }) : null;
    case 7:
      return x.rank > 0 ? op.mean(x, axis, { keepdim: true }) : null;
    case 8:
      return x.rank > 0 ? op.max(x, axis, { keepdim: s.b % 2 === 0 }) : null;
    case 9:
      return x.rank > 1 ? op.transpose(x, 0, x.rank - 1) : null;
    case 10:
      return op.reshape(x, [-1]);
    case 11:
      return op.unsqueeze(x, axis);
    case 12:
      return x.rank < 4 ? op.expand(x, [2, ...x.shape]) : null;
    case 13:
      return x.rank > 0 && x.shape[axis] > 1
        ? op.slice(x, {
          axes: [axis],
          starts: [s.b % 2],
          ends: [x.shape[axis]],
          steps: [1 + s.b % 2],
        })
        : null;
    case 14:
      return x.rank > 0 ? op.cumsum(x, axis) : null;
    case 15:
      return x.rank === 2 ? op.matmul(x, op.transpose(x, 0, 1)) : null;
    case 16:
      return op.sub(x, op.mul(y, 0).sum());
    case 17:
      return broadcastable(x, y) ? op.where(op.lessThan(x, y), x, op.mul(y, 0.5)) : null;
    case 18:
      return x.rank > 0 ? op.flip(x, axis) : null;
    default:
      return op.exp(op.mul(x, 0.1));
  }
}

function inputsOf(shape: readonly number[], place: string, seed: number): Tensor[] {
  const next = numbers(seed);
  const make = (s: readonly number[]) => {
    const n = s.reduce((a, b) => a * b, 1);
    const t = engine.fromData(
      Float64Array.from({ length: n }, () => next() * 2 - 1),
      s,
      "float64",
      Place.of(place),
    );
    setRequiresGrad(t, true);
    return t;
  };
  return [make(shape), make(shape.slice(-1)), make(shape)];
}

function close(a: readonly number[], b: readonly number[], what: string): void {
  assertEquals(a.length, b.length, what);
  const scale = Math.max(1e-300, ...b.map((v) => (Number.isFinite(v) ? Math.abs(v) : 0)));
  a.forEach((v, i) => {
    if (Object.is(v, b[i]) || v === b[i] || Math.abs(v - b[i]) <= 1e-12 * scale) return;
    throw new Error(`${what}: element ${i} is ${v}, op by op ${b[i]}`);
  });
}

const read = (t: Tensor) => Array.from(t.dataSync() as Float64Array);
let count = 0;

/** Runs both ways and compares outputs, gradients and gradients of gradients. */
function compare(list: readonly Step[], shape: readonly number[], place: string): void {
  const eager = inputsOf(shape, place, 7);
  const plain = program(list, eager);
  if (plain.length === 0) return;
  const fusedOp = composite({
    name: `random${count++}`,
    body: (xs: readonly Operand[]) => program(list, xs as Tensor[]),
  });
  const inputs = inputsOf(shape, place, 7);
  const fused = engine.callMany(fusedOp, inputs);
  plain.forEach((t, i) => {
    assertEquals(fused[i].shape, t.shape);
    close(read(fused[i]), read(t), `output ${i}`);
  });
  const loss = (outs: readonly Tensor[]) => outs.map((t) => t.mean()).reduce((a, b) => a.add(b));
  const g1 = grad([loss(plain)], eager, { createGraph: true, allowUnused: true });
  const g2 = grad([loss(fused)], inputs, { createGraph: true, allowUnused: true });
  g1.forEach((g, i) => close(read(g2[i]), read(g), `gradient ${i}`));
  const again = (gs: readonly Tensor[], xs: readonly Tensor[]) => {
    const live = gs.filter((g) => g.requiresGrad);
    if (live.length === 0) return null;
    return grad([live.map((g) => g.mul(g).sum()).reduce((a, b) => a.add(b))], xs, {
      allowUnused: true,
    });
  };
  const h1 = again(g1, eager);
  const h2 = again(g2, inputs);
  if (h1 !== null && h2 !== null) {
    h1.forEach((g, i) => close(read(h2[i]), read(g), `second gradient ${i}`));
  }
}

for (const place of ["ref", "cpu"]) {
  Deno.test(`random programs agree fused and op by op on ${place}`, () => {
    fc.assert(
      fc.property(steps, shapes, (list, shape) => compare(list, shape, place)),
      { numRuns: full ? 1000 : 120, seed: 20 },
    );
  });
}

/** The kernels and calls of a function of tensors of these shapes. */
function planOf(
  body: (xs: readonly Tensor[]) => Tensor | Tensor[],
  ...of: (readonly number[])[]
): string[] {
  const inputs = of.map((s) => noGrad(() => op.zeros(s, {})));
  const made = compileComposite(
    composite({ name: `pattern${count++}`, body: (xs) => body(xs as Tensor[]) }),
    (xs) => body(xs as Tensor[]),
    inputs,
    {},
    backendOf(Place.of("cpu")),
    false,
    [],
  );
  return made.executable.plan.steps.map((s) =>
    s.kind === "kernel"
      ? s.kernel.stages.map((t) => t.kind).join("+")
      : s.op.name + (s.epilogue ? "+epilogue" : "")
  );
}

Deno.test("softmax is one kernel of three stages", () => {
  const softmax = ([x]: readonly Tensor[]) => {
    const e = x.sub(x.max(-1, { keepdim: true })).exp();
    return e.div(e.sum(-1, { keepdim: true }));
  };
  assertEquals(planOf(softmax, [8, 16]), ["reduce+reduce+map"]);
});

Deno.test("layer normalisation with weight and bias is one kernel", () => {
  const layerNorm = ([x, w, b]: readonly Tensor[]) => {
    const d = x.sub(x.mean(-1, { keepdim: true }));
    const v = d.mul(d).mean(-1, { keepdim: true });
    return d.mul(v.add(1e-5).rsqrt()).mul(w).add(b);
  };
  assertEquals(planOf(layerNorm, [8, 16], [16], [16]), ["reduce+reduce+map"]);
});

Deno.test("two reductions of one tensor share a kernel", () => {
  assertEquals(planOf(([x]) => x.sum(0).add(x.mul(x).sum(0)), [8, 16]), ["reduce+reduce+final"]);
});

Deno.test("an elementwise chain of many outputs is one kernel", () => {
  const adam = ([p, g, m, v]: readonly Tensor[]) => {
    const m2 = m.mul(0.9).add(g.mul(0.1));
    const v2 = v.mul(0.999).add(g.mul(g).mul(0.001));
    return [p.sub(m2.div(v2.sqrt().add(1e-8)).mul(1e-3)), m2, v2];
  };
  assertEquals(planOf(adam, [8, 16], [8, 16], [8, 16], [8, 16]), ["map"]);
});

Deno.test("bias and activation are the epilogue of a matrix product", () => {
  const linear = ([x, w, b]: readonly Tensor[]) => x.matmul(w).add(b).relu();
  assertEquals(planOf(linear, [8, 16], [16, 4], [4]), ["matmul+epilogue"]);
});

Deno.test("a value read by two later kernels is computed into memory once or in each, never wrongly", () => {
  const f = ([x]: readonly Tensor[]) => {
    const e = x.exp();
    return e.sum(0).add(e.transpose(0, 1).sum(1).mean());
  };
  assert(planOf(f, [8, 16]).length <= 3);
});
