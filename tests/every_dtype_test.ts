/**
 * Every public function with every dtype, on operands that lie in memory as made and turned about: the embedded
 * place gives what the reference place gives, or both refuse in the same words. Deliberately not here: whether the
 * values are right, which the goldens say.
 *
 * @module
 */

import { assertEquals } from "jsr:@std/assert@1";
import {
  arange,
  type DType,
  flip,
  full,
  getPlace,
  grad,
  InternalError,
  MissingKernelError,
  PlesioError,
  seed,
  setPlace,
  Tensor,
  tensor,
  where,
} from "../mod.ts";
import { DTYPE_NAMES, isFloat } from "../core/dtype.ts";
import { type Arguments, type Call, type Layout, maker, publicCalls } from "./call_table.ts";

/** Distance allowed, in parts of the value and of a fifth of the largest one. */
const TOLERANCE: Partial<Record<DType, number>> = {
  float16: 2e-3,
  bfloat16: 2e-2,
  float32: 2e-6,
  float64: 1e-14,
  complex64: 0,
};

interface Outcome {
  readonly error?: string;
  readonly outputs: readonly { dtype: DType; shape: readonly number[]; values: number[] }[];
}

async function outcome(
  { run }: Call,
  make: Arguments,
  dtype: DType,
  layout: Layout,
  place: string,
): Promise<Outcome> {
  setPlace(place);
  seed(5);
  try {
    const result = await run(...make(maker(dtype, layout, place)));
    const list = (Array.isArray(result) ? result : [result]).filter((x) => x instanceof Tensor);
    const outputs = list.map((x) => ({
      dtype: x.dtype,
      shape: x.shape,
      values: Array.from(x.dataSync() as ArrayLike<number | bigint>, Number),
    }));
    return { outputs };
  } catch (error) {
    const own = error instanceof PlesioError && !(error instanceof InternalError) &&
      !(error instanceof MissingKernelError);
    if (!own) throw error;
    return { error: `${error.name}: ${error.message.replaceAll(place, "here")}`, outputs: [] };
  }
}

/** What differs, or null. */
function difference(actual: Outcome, expected: Outcome, factor = 1): string | null {
  if (actual.error !== expected.error) return `${actual.error} and ${expected.error}`;
  for (const [i, a] of actual.outputs.entries()) {
    const e = expected.outputs[i];
    if (a.dtype !== e.dtype || String(a.shape) !== String(e.shape)) {
      return `${a.dtype} [${a.shape}] and ${e.dtype} [${e.shape}]`;
    }
    const scale = Math.max(0, ...e.values.filter(Number.isFinite).map(Math.abs));
    const at = a.values.findIndex((x, k) => {
      const y = e.values[k];
      if (Object.is(x, y)) return false;
      const far = Math.abs(x - y) / (Math.abs(y) + 0.2 * scale);
      return (x === 0 && y === 0) || !(far <= factor * (TOLERANCE[a.dtype] ?? 0));
    });
    if (at >= 0) return `${a.values[at]} and ${e.values[at]} at ${at}`;
  }
  return null;
}

/** Functions whose elements are not set. */
const UNSET = new Set(["empty", "emptyLike"]);

for (const dtype of DTYPE_NAMES) {
  Deno.test(`${dtype} in every function: right or refused, the same on both places`, async () => {
    const place = getPlace();
    const faults: string[] = [];
    try {
      for (const call of publicCalls()) {
        if (UNSET.has(call.name)) continue;
        for (const [i, make] of call.cases.entries()) {
          for (const layout of ["dense", "turned"] as const) {
            const what = `${call.name} case ${i}, ${layout}`;
            try {
              const expected = await outcome(call, make, dtype, layout, "ref");
              const actual = await outcome(call, make, dtype, layout, "cpu");
              const found = difference(actual, expected);
              if (found !== null) faults.push(`${what}: ${found}`);
            } catch (error) {
              faults.push(`${what}: ${error}`);
            }
          }
        }
      }
    } finally {
      setPlace(place);
    }
    assertEquals(faults, []);
  });
}

Deno.test("complex elements stay whole through views, reading and copies", () => {
  for (const dtype of ["complex64", "complex128"] as const) {
    const x = maker(dtype).of([2, 3]);
    const [[a, b, c], [d, e, f]] = x.toArraySync() as number[][][];
    assertEquals(x.permute([1, 0]).toArraySync(), [[a, d], [b, e], [c, f]]);
    assertEquals(flip(x, 1).toArraySync(), [[c, b, a], [f, e, d]]);
    assertEquals(x.at(":", 1).expand([2, 2]).toArraySync(), [[b, e], [b, e]]);
    assertEquals(x.permute([1, 0]).reshape([6]).toArraySync(), [a, d, b, e, c, f]);
  }
});

Deno.test("NaN is true, as a number beside a tensor too", () => {
  for (const place of ["cpu", "ref"]) {
    const x = tensor([1, 0], { place });
    const nan = tensor([NaN, NaN], { place });
    for (const y of [NaN, nan]) {
      assertEquals(x.logicalAnd(y).toArraySync(), [true, false]);
      assertEquals(x.logicalOr(y).toArraySync(), [true, true]);
      assertEquals(x.logicalXor(y).toArraySync(), [false, true]);
      assertEquals(where(y, x, 5).toArraySync(), [1, 0]);
    }
    assertEquals(full([1], NaN, { dtype: "bool", place }).toArraySync(), [true]);
    assertEquals(x.logicalOr(-0).toArraySync(), [true, false]);
  }
});

/** Functions that draw, or whose elements are not set. */
const NOT_REPEATABLE = /^(bernoulli|dropout|empty|multinomial|normal|rand|uniform)/;

/** Gradients that are not all one, whose sums would be nothing but rounding. */
function weightsOf(y: Tensor): Tensor {
  const weights = arange(y.numel, undefined, { dtype: "float32", place: y.place }).mod(5).add(1);
  return weights.reshape(y.shape).to(y.dtype);
}

/** A call with leaves for its float tensors, and the gradients of a weighted sum of what it gives. */
async function gradients(
  call: Call,
  make: Arguments,
  dtype: DType,
  place: string,
): Promise<Outcome> {
  setPlace(place);
  const leaves: Tensor[] = [];
  const asLeaf = (x: unknown): unknown => {
    if (Array.isArray(x)) return x.map(asLeaf);
    if (!(x instanceof Tensor)) {
      const plain = typeof x === "object" && x !== null &&
        Object.getPrototypeOf(x) === Object.prototype;
      return plain ? Object.fromEntries(Object.entries(x).map(([k, v]) => [k, asLeaf(v)])) : x;
    }
    if (!isFloat(x.dtype)) return x;
    const leaf = x.detach();
    leaf.requiresGrad = true;
    leaves.push(leaf);
    // In place changes are for results only.
    return leaf.mul(1);
  };
  try {
    const result = await call.run(...make(maker(dtype, "turned", place)).map(asLeaf));
    const outputs = (Array.isArray(result) ? result : [result]).filter((y) =>
      y instanceof Tensor && y.requiresGrad
    );
    if (outputs.length === 0) return { outputs: [] };
    const grads = grad(outputs, leaves, {
      gradOutputs: outputs.map(weightsOf),
      allowUnused: true,
    });
    return {
      outputs: grads.map((g) => ({
        dtype: g.dtype,
        shape: g.shape,
        values: Array.from(g.dataSync() as ArrayLike<number>, Number),
      })),
    };
  } catch (error) {
    if (!(error instanceof PlesioError) || error instanceof InternalError) throw error;
    return { error: error.name, outputs: [] };
  }
}

for (const dtype of ["float16", "bfloat16", "float32"] as const) {
  Deno.test(`gradients in ${dtype} of every function: the same on both places`, async () => {
    const place = getPlace();
    const faults: string[] = [];
    try {
      for (const call of publicCalls()) {
        if (NOT_REPEATABLE.test(call.name)) continue;
        for (const [i, make] of call.cases.entries()) {
          try {
            const expected = await gradients(call, make, dtype, "ref");
            const actual = await gradients(call, make, dtype, "cpu");
            // Gradients of normalized values are differences of larger numbers.
            const found = difference(actual, expected, 10);
            if (found !== null) faults.push(`${call.name} case ${i}: ${found}`);
          } catch (error) {
            faults.push(`${call.name} case ${i}: ${error}`);
          }
        }
      }
    } finally {
      setPlace(place);
    }
    assertEquals(faults, []);
  });
}
