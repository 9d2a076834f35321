// Generated from the op definitions: every sample of every op on the embedded place against the reference
// place, and every gradient against numerical differentiation in float64, to second order.
import { assert, assertEquals } from "jsr:@std/assert@1";
import { grad } from "../core/autograd.ts";
import { type DType, isFloat } from "../core/dtype.ts";
import type { Op, Operand, Sample } from "../core/op.ts";
import type { Tensor } from "../core/tensor.ts";
import {
  callOp,
  draw,
  type HostInput,
  type HostTensor,
  numbers,
  sampledOps,
  toOperands,
  toTensor,
  valuesOf,
} from "./op_samples.ts";

/** Distance allowed between two places, in units of the output's scale. */
const TOLERANCE: Partial<Record<DType, number>> = { float32: 2e-6, float64: 1e-14 };

function assertClose(
  actual: readonly number[],
  expected: readonly number[],
  tolerance: number,
  what: string,
): void {
  assertEquals(actual.length, expected.length, `${what}: number of elements`);
  let scale = 0;
  for (const x of expected) if (Number.isFinite(x)) scale = Math.max(scale, Math.abs(x));
  for (let i = 0; i < actual.length; i++) {
    const a = actual[i];
    const e = expected[i];
    if (Number.isNaN(e) ? Number.isNaN(a) : a === e) continue;
    // Elementwise relative, with a floor at a thousandth of the scale for results of cancellation.
    const bound = tolerance * Math.max(Math.abs(e), scale * 1e-3, Number.MIN_VALUE);
    const far = Number.isFinite(a) && Number.isFinite(e) ? Math.abs(a - e) : Infinity;
    if (far <= bound || far <= tolerance * scale) continue;
    throw new Error(`${what}: element ${i} is ${a}, expected ${e} (allowed ${bound})`);
  }
}

function describe(op: Op, sample: Sample, i: number): string {
  return `${op.name} sample ${i} ${JSON.stringify(sample.inputs)} ${
    JSON.stringify(sample.attrs ?? {})
  }`;
}

for (const { op, samples } of sampledOps()) {
  Deno.test(`op ${op.name}: the embedded place agrees with the reference`, () => {
    for (const [i, sample] of samples.entries()) {
      for (const float of ["float32", "float64"] as const) {
        const inputs = draw(sample, float, i + 1);
        const expected = callOp(op, toOperands(inputs, "ref"), sample);
        const actual = callOp(op, toOperands(inputs, "cpu"), sample);
        const what = `${describe(op, sample, i)} ${float}`;
        assertEquals(actual.length, expected.length, what);
        actual.forEach((a, j) => {
          assertEquals([a.dtype, a.shape], [expected[j].dtype, expected[j].shape], what);
          assertClose(
            valuesOf(a),
            valuesOf(expected[j]),
            TOLERANCE[a.dtype] ?? 0,
            `${what} output ${j}`,
          );
        });
      }
    }
  });

  const differentiable = op.vjp !== null || (op.kind === "composite" && op.autoVjp);
  if (!differentiable) continue;
  Deno.test(`op ${op.name}: gradients agree with numerical differentiation`, () => {
    for (const [i, sample] of samples.entries()) {
      if (sample.noGrad) continue;
      checkGradients(op, sample, describe(op, sample, i), i + 1);
    }
  });
}

/** f(inputs) = Σ weights · outputs, and its gradients at the float inputs. */
function weighted(outputs: readonly Tensor[], weights: readonly (Tensor | null)[]): Tensor {
  let total: Tensor | null = null;
  outputs.forEach((y, j) => {
    const w = weights[j];
    if (w === null) return;
    const part = y.mul(w).sum();
    total = total === null ? part : (total as Tensor).add(part);
  });
  assert(total !== null, "an output with a gradient");
  return total;
}

function checkGradients(op: Op, sample: Sample, what: string, seed: number): void {
  const inputs = draw(sample, "float64", seed);
  const floats = inputs.flatMap((x, k) => (typeof x !== "number" && isFloat(x.dtype) ? [k] : []));
  if (floats.length === 0) return;
  const next = numbers(seed + 77);
  const random = (shape: readonly number[], n: number): HostTensor => ({
    shape,
    values: Array.from({ length: n }, () => next() * 2 - 1),
    dtype: "float64",
  });
  const probe = callOp(op, toOperands(inputs, "cpu", true), sample);
  if (!probe.some((y) => y.requiresGrad)) {
    throw new Error(`${what}: no output requires grad though the op has a rule`);
  }
  const weights = probe.map((
    y,
  ) => (y.requiresGrad ? toTensor(random(y.shape, y.numel), "cpu") : null));
  const gradients = (
    at: readonly HostInput[],
    createGraph: boolean,
  ): { xs: Operand[]; gs: Tensor[] } => {
    const xs = toOperands(at, "cpu", true);
    const loss = weighted(callOp(op, xs, sample), weights);
    const gs = grad([loss], floats.map((k) => xs[k] as Tensor), { createGraph, allowUnused: true });
    return { xs, gs };
  };
  const value = (at: readonly HostInput[]): number =>
    Number(weighted(callOp(op, toOperands(at, "cpu"), sample), weights).itemSync());
  // Along random directions: <gradient, d> against central differences.
  const direction = () =>
    floats.map((k) => {
      const x = inputs[k] as HostTensor;
      return random(x.shape, x.values.length);
    });
  const moved = (d: readonly HostTensor[], by: number): HostInput[] =>
    inputs.map((x, k) => {
      const at = floats.indexOf(k);
      if (at < 0) return x;
      const t = x as HostTensor;
      return { ...t, values: t.values.map((v, e) => v + by * d[at].values[e]) };
    });
  const dot = (gs: readonly (readonly number[])[], d: readonly HostTensor[]): number =>
    gs.reduce((n, g, j) => n + g.reduce((m, v, e) => m + v * d[j].values[e], 0), 0);
  const { gs } = gradients(inputs, false);
  gs.forEach((g, j) =>
    assertEquals(
      g.shape,
      (inputs[floats[j]] as HostTensor).shape,
      `${what}: shape of gradient ${j}`,
    )
  );
  const h = 1e-5;
  for (let trial = 0; trial < 4; trial++) {
    const d = direction();
    const analytic = dot(gs.map(valuesOf), d);
    const numeric = (value(moved(d, h)) - value(moved(d, -h))) / (2 * h);
    near(analytic, numeric, 1e-6, `${what}: gradient`);
  }
  // Second order: the gradient of <gradient, u>.
  const first = gradients(inputs, true);
  const u = direction();
  const live = first.gs.flatMap((g, j) => (g.requiresGrad ? [{ g, j }] : []));
  if (live.length === 0) return;
  let inner: Tensor | null = null;
  for (const { g, j } of live) {
    const part = g.mul(toTensor(u[j], "cpu")).sum();
    inner = inner === null ? part : (inner as Tensor).add(part);
  }
  const second = grad([inner!], floats.map((k) => first.xs[k] as Tensor), { allowUnused: true });
  const innerValue = (at: readonly HostInput[]): number => {
    const { gs } = gradients(at, false);
    return live.reduce(
      (n, { j }) => n + valuesOf(gs[j]).reduce((m, v, e) => m + v * u[j].values[e], 0),
      0,
    );
  };
  const d = direction();
  const numeric = (innerValue(moved(d, h)) - innerValue(moved(d, -h))) / (2 * h);
  near(dot(second.map(valuesOf), d), numeric, 1e-5, `${what}: second-order gradient`);
}

function near(actual: number, expected: number, tolerance: number, what: string): void {
  const bound = tolerance * Math.max(1, Math.abs(expected));
  if (!(Math.abs(actual - expected) <= bound)) {
    throw new Error(`${what} is ${actual}, numerically ${expected} (allowed ${bound})`);
  }
}
