// Kernels that are not small and random: accuracy of sums, aliasing, far addresses, strips, many nodes.
import { assert, assertEquals } from "jsr:@std/assert@1";
import { type DataArray, type DType, DTYPES } from "../../../../core/dtype.ts";
import * as ex from "../../../../core/ir/expr.ts";
import type { Expr } from "../../../../core/ir/expr.ts";
import {
  type Kernel,
  type KernelSpec,
  type Launch,
  makeKernel,
  type Stage,
  type StrideClass,
} from "../../../../core/ir/kernel.ts";
import { wasmFeatures } from "../asm/mod.ts";
import { interpreted, readable, Rendered, rendered, TARGET } from "./harness_test.ts";
import { launchLayout, LaunchView, renderKernel, type RunKernel, writeLaunch } from "./mod.ts";

type Float = "float32" | "float64";

const x = (i = 0, dtype: Float = "float32"): Expr => ex.leaf("load", dtype, i);
const leftOf = (i: number, dtype: Float | "int32"): Expr => ex.leaf("left", dtype, i);
const rightOf = (i: number, dtype: Float | "int32"): Expr => ex.leaf("right", dtype, i);
const result = (stage: number, dtype: Float = "float32"): Expr =>
  ex.leaf("result", dtype, 0, stage);

function fold(
  start: number,
  lift: Expr,
  op: (a: Expr, b: Expr) => Expr,
  dtype: Float = "float32",
): Stage {
  return {
    kind: "reduce",
    init: [ex.constant(start, dtype)],
    lift: [lift],
    combine: [op(leftOf(0, dtype), rightOf(0, dtype))],
  };
}

/** A reduction of one buffer; `outer` and `inner` say how it moves. */
function sumKernel(dtype: DType, outer: StrideClass, inner: StrideClass): Kernel {
  const compute = dtype === "float64" ? dtype : "float32";
  return makeKernel({
    outerRank: 1,
    innerRank: 1,
    inputs: [{ dtype, outer, inner }],
    args: [],
    stages: [fold(0, x(0, compute), ex.add, compute)],
    outputs: [{ dtype: compute, outer: "unit", inner: "zero", stage: 0, value: 0 }],
    index32: true,
  });
}

function launch(sizes: number[], strides: number[][]): Launch {
  return { sizes, strides, offsets: strides.map(() => 0), args: [] };
}

function check(kernel: Kernel, how: Launch, arrays: DataArray[]): void {
  const want = readable(kernel, interpreted(kernel, how, arrays));
  assertEquals(readable(kernel, rendered(kernel, how, arrays)), want, kernel.key);
}

Deno.test("a float32 sum of 10^8 ones is 10^8", () => {
  const one = Float32Array.of(1, 1, 1, 1);
  const along = rendered(
    sumKernel("float32", "zero", "any"),
    launch([1, 1e8], [[0, 0], [1, 0]]),
    [one, new Float32Array(1)],
  );
  assertEquals(along[0][0], 1e8);
  // Four columns side by side and one alone.
  const rows = 2 ** 24 + 1000;
  const across = rendered(
    sumKernel("float32", "unit", "any"),
    launch([5, rows], [[1, 0], [1, 0]]),
    [new Float32Array(5).fill(1), new Float32Array(5)],
  );
  assertEquals([...across[0] as Float32Array], Array(5).fill(rows));
});

Deno.test("sums of floats lose next to nothing", () => {
  const n = 100_003;
  let seed = 1;
  const random = (): number => {
    seed = (Math.imul(seed, 1664525) + 1013904223) | 0;
    return (seed >>> 0) / 2 ** 32;
  };
  for (const dtype of ["float32", "float64"] as const) {
    const Type = DTYPES[dtype].array as Float64ArrayConstructor;
    const values = Type.from({ length: n }, random);
    for (const [outer, inner, stride] of [["any", "unit", 1], ["unit", "any", 1]] as const) {
      const kernel = sumKernel(dtype, outer, inner);
      const how = launch([1, n], [[outer === "unit" ? 1 : n, stride], [1, 0]]);
      const arrays = [values, new Type(1)];
      const want = Number(interpreted(kernel, how, arrays)[0][0]);
      const got = Number(rendered(kernel, how, arrays)[0][0]);
      const unit = dtype === "float32" ? 2 ** -23 : 2 ** -52;
      assert(Math.abs(got - want) <= want * unit, `${kernel.key}: ${got}, not ${want}`);
    }
  }
});

Deno.test("a float64 sum keeps what cancels in between", () => {
  // Blocks of 1e16, then of what it would swallow, then of -1e16.
  for (const small of [0.5, -0.5]) {
    const values = new Float64Array(3 * 4096).fill(1e16, 0, 4096).fill(small, 4096, 8192)
      .fill(-1e16, 8192);
    for (const [outer, inner] of [["any", "unit"], ["unit", "any"]] as const) {
      const how = launch([1, values.length], [[1, 1], [1, 0]]);
      const got = rendered(sumKernel("float64", outer, inner), how, [values, new Float64Array(1)]);
      assertEquals(got[0][0], 4096 * small);
    }
  }
});

Deno.test("sums past the largest float are infinite, and NaN stays", () => {
  for (const [outer, inner] of [["any", "unit"], ["unit", "any"]] as const) {
    const kernel = sumKernel("float64", outer, inner);
    const sum = (fill: (a: Float64Array) => void): unknown => {
      const values = new Float64Array(1000);
      fill(values);
      const how = launch([1, 1000], [[1, 1], [1, 0]]);
      return rendered(kernel, how, [values, new Float64Array(1)])[0][0];
    };
    assertEquals(sum((a) => a.fill(1e308)), Infinity);
    assertEquals(sum((a) => a[500] = -Infinity), -Infinity);
    assertEquals(sum((a) => a[999] = NaN), NaN);
    assertEquals(sum((a) => a.set([Infinity, -Infinity], 10)), NaN);
  }
});

Deno.test("the largest and the smallest, with zeros of both signs and NaN anywhere", () => {
  const n = 39;
  for (const dtype of ["float32", "float64"] as const) {
    const Type = DTYPES[dtype].array as Float64ArrayConstructor;
    for (const [op, start] of [[ex.max, -Infinity], [ex.min, Infinity]] as const) {
      for (const [outer, inner] of [["any", "unit"], ["unit", "any"]] as const) {
        const kernel = makeKernel({
          ...sumKernel(dtype, outer, inner),
          stages: [fold(start, x(0, dtype), op, dtype)],
        });
        const compiled = new Rendered(kernel);
        const columns = 5;
        const of = (value: number, fill: number): void => {
          for (let at = 0; at < n; at++) {
            const values = new Type(n * columns).fill(fill);
            if (outer === "any") values[at] = value;
            else values.fill(value, at * columns, at * columns + columns);
            const arrays = [values, new Type(columns)];
            const strides = outer === "unit" ? [1, columns] : [0, 1];
            compiled.run(launch([columns, n], [strides, [1, 0]]), arrays);
            const want = op === ex.max ? Math.max(value, fill) : Math.min(value, fill);
            const [got] = readable(kernel, [arrays[1]]);
            assertEquals(got, Array(columns).fill(Object.is(want, -0) ? "-0" : String(want)));
          }
        };
        of(NaN, 1);
        of(0, -0);
        of(-0, 0);
        of(5, 4);
        of(3, 4);
      }
    }
  }
});

Deno.test("argmax gives the first of equals, along and across", () => {
  const left = leftOf(0, "float32");
  const right = rightOf(0, "float32");
  const [li, ri] = [leftOf(1, "int32"), rightOf(1, "int32")];
  const keep = ex.or(ex.gt(left, right), ex.and(ex.eq(left, right), ex.lt(li, ri)));
  const stage: Stage = {
    kind: "reduce",
    init: [ex.constant(-Infinity, "float32"), ex.constant(2 ** 31 - 1, "int32")],
    lift: [x(), ex.leaf("coord", "int32", 1)],
    combine: [ex.where(keep, left, right), ex.where(keep, li, ri)],
  };
  const n = 50;
  const values = Float32Array.from({ length: 9 * n }, (_, i) => (i * 37) % 11);
  for (
    const [outer, inner, strides] of [["any", "unit", [n, 1]], ["unit", "any", [1, 9]]] as const
  ) {
    const kernel = makeKernel({
      outerRank: 1,
      innerRank: 1,
      inputs: [{ dtype: "float32", outer, inner }],
      args: [],
      stages: [stage],
      outputs: [{ dtype: "int32", outer: "unit", inner: "zero", stage: 0, value: 1 }],
      index32: true,
    });
    const got = rendered(kernel, launch([9, n], [[...strides], [1, 0]]), [
      values,
      new Int32Array(9),
    ]);
    const want = Array.from({ length: 9 }, (_, row) => {
      const at = (i: number): number => values[row * strides[0] + i * strides[1]];
      return Array.from({ length: n }, (_, i) => i).reduce((a, b) => at(b) > at(a) ? b : a);
    });
    assertEquals(Array.from(got[0] as Int32Array), want);
  }
});

Deno.test("mean and variance by a combine of count, mean and squares", () => {
  // Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm", 1979.
  const l = [0, 1, 2].map((i) => leftOf(i, "float64"));
  const r = [0, 1, 2].map((i) => rightOf(i, "float64"));
  const count = ex.add(l[0], r[0]);
  const share = ex.where(ex.eq(count, 0), 0, ex.div(r[0], count));
  const delta = ex.sub(r[1], l[1]);
  const stage: Stage = {
    kind: "reduce",
    init: [0, 0, 0].map((v) => ex.constant(v, "float64")),
    lift: [ex.constant(1, "float64"), ex.cast(x(), "float64"), ex.constant(0, "float64")],
    combine: [
      count,
      ex.add(l[1], ex.mul(delta, share)),
      ex.add(ex.add(l[2], r[2]), ex.mul(ex.mul(ex.mul(delta, delta), l[0]), share)),
    ],
  };
  const n = 1003;
  const values = Float32Array.from({ length: n }, (_, i) => 1e6 + Math.sin(i));
  const kernel = makeKernel({
    outerRank: 0,
    innerRank: 1,
    inputs: [{ dtype: "float32", outer: "zero", inner: "unit" }],
    args: [],
    stages: [stage],
    outputs: [0, 1, 2].map((value) => ({
      dtype: "float64" as const,
      outer: "zero" as const,
      inner: "zero" as const,
      stage: 0,
      value,
    })),
    index32: true,
  });
  const out = [1, 2, 3].map(() => new Float64Array(1));
  const got = rendered(kernel, launch([n], [[1], [0], [0], [0]]), [values, ...out]);
  const mean = values.reduce((s, v) => s + v, 0) / n;
  const squares = values.reduce((s, v) => s + (v - mean) ** 2, 0);
  assertEquals(got[0][0], n);
  assert(Math.abs(Number(got[1][0]) - mean) < 1e-7);
  assert(Math.abs(Number(got[2][0]) - squares) < 1e-6 * squares);
});

const SOFTMAX: Stage[] = [
  fold(-Infinity, x(), ex.max),
  fold(0, ex.exp(ex.sub(x(), result(0))), ex.add),
  { kind: "map", values: [ex.div(ex.exp(ex.sub(x(), result(0))), result(1))] },
];

Deno.test("softmax, over rows and over columns, in place and not", () => {
  const [rows, columns] = [7, 45];
  const values = Float32Array.from({ length: rows * columns }, (_, i) => Math.sin(i) * 30);
  for (const byRow of [true, false]) {
    const io = byRow
      ? { dtype: "float32" as const, outer: "any" as const, inner: "unit" as const }
      : { dtype: "float32" as const, outer: "unit" as const, inner: "any" as const };
    const kernel = makeKernel({
      outerRank: 1,
      innerRank: 1,
      inputs: [io],
      args: [],
      stages: SOFTMAX,
      outputs: [{ ...io, stage: 2, value: 0 }],
      index32: true,
    });
    const strides = byRow ? [columns, 1] : [1, columns];
    const how = launch(byRow ? [rows, columns] : [columns, rows], [strides, strides]);
    const apart = rendered(kernel, how, [values, new Float32Array(values.length)])[0];
    const copy = values.slice();
    assertEquals(rendered(kernel, how, [copy, copy])[0], apart);
    const want = interpreted(kernel, how, [values, values])[0];
    apart.forEach((v, i) =>
      assert(Math.abs(Number(v) - Number(want[i])) <= 1e-6 * Number(want[i]), `${v} ${want[i]}`)
    );
  }
});

Deno.test("inexact sums are the same to the last bit however rows are shared out", () => {
  const [points, length] = [23, 301];
  for (const dtype of ["float32", "float64"] as const) {
    const Type = DTYPES[dtype].array as Float64ArrayConstructor;
    const values = Type.from({ length: points * length }, (_, i) => Math.sin(i * i) / 3);
    for (
      const [outer, inner, strides] of [
        ["unit", "any", [1, points]],
        ["any", "unit", [length, 1]],
      ] as const
    ) {
      const sum = sumKernel(dtype, outer, inner);
      const scan = makeKernel({
        ...sum,
        stages: [{
          ...fold(0, x(0, dtype), ex.add, dtype) as Extract<Stage, { kind: "reduce" }>,
          kind: "scan",
          values: [leftOf(0, dtype)],
        }],
        outputs: [{ dtype, outer, inner, stage: 0, value: 0 }],
      });
      for (const kernel of [sum, scan]) {
        const out = kernel === sum ? [1, 0] : [...strides];
        const how = launch([points, length], [[...strides], out]);
        const arrays = [values, new Type(values.length)];
        const whole = rendered(kernel, how, arrays);
        for (const ranges of [[[0, 9], [9, 11], [11, 23]], [[20, 23], [0, 17], [17, 20]]]) {
          const parts = rendered(kernel, how, arrays, { ranges: ranges as [number, number][] });
          assertEquals(parts, whole, kernel.key);
        }
      }
    }
  }
});

Deno.test("outputs may take the places of inputs, crossed over too", () => {
  const unit = { dtype: "float32" as const, outer: "unit" as const, inner: "zero" as const };
  const kernel = makeKernel({
    outerRank: 1,
    innerRank: 0,
    inputs: [unit, unit],
    args: [],
    stages: [{ kind: "map", values: [x(1), x(0)] }],
    outputs: [{ ...unit, stage: 0, value: 0 }, { ...unit, stage: 0, value: 1 }],
    index32: true,
  });
  const a = Float32Array.from({ length: 39 }, (_, i) => i);
  const b = a.map((v) => -v);
  const got = rendered(kernel, launch([39], [[1], [1], [1], [1]]), [a, b, a, b]);
  assertEquals(got, [b, a]);
});

Deno.test("crosswise copies in strips reach every point", () => {
  for (const sizes of [[5, 40, 33], [1, 17, 64], [3, 16, 31]]) {
    const [a, b, c] = sizes;
    const kernel = makeKernel({
      outerRank: 3,
      innerRank: 0,
      inputs: [{ dtype: "float32", outer: "any", inner: "zero" }],
      args: [],
      stages: [{ kind: "map", values: [ex.neg(x())] }],
      outputs: [{ dtype: "float32", outer: "unit", inner: "zero", stage: 0, value: 0 }],
      index32: true,
    });
    const values = Float32Array.from({ length: a * b * c }, (_, i) => i);
    const how = launch(sizes, [[b * c, 1, b], [b * c, c, 1]]);
    check(kernel, how, [values, new Float32Array(values.length)]);
  }
});

const ADD: KernelSpec = {
  outerRank: 1,
  innerRank: 0,
  inputs: [
    { dtype: "float32", outer: "unit", inner: "zero" },
    { dtype: "float32", outer: "unit", inner: "zero" },
  ],
  args: [],
  stages: [{ kind: "map", values: [ex.add(x(0), x(1))] }],
  outputs: [{ dtype: "float32", outer: "unit", inner: "zero", stage: 0, value: 0 }],
  index32: true,
};

/** Runs ADD on three buffers at an address, one of them read backwards. */
function addAt(memory: WebAssembly.Memory, ptr: "i32" | "i64", address: number): void {
  const kernel = makeKernel({
    ...ADD,
    inputs: [ADD.inputs[0], { ...ADD.inputs[1], outer: "any" }],
  });
  const n = 21;
  const bases = [address, address + 4096, address + 8192];
  const views = bases.map((b) => new Float32Array(memory.buffer, b, n));
  views[0].set(Float32Array.from({ length: n }, (_, i) => i));
  views[1].set(Float32Array.from({ length: n }, (_, i) => 100 * i));
  const module = new WebAssembly.Module(renderKernel(kernel, { ...TARGET, ptr }));
  const run = new WebAssembly.Instance(module, { env: { memory } }).exports.run as RunKernel;
  const layout = launchLayout(kernel, ptr);
  const view = new LaunchView(memory.buffer, address - 1024, layout.bytes);
  const how = { sizes: [n], strides: [[1], [-1], [1]], offsets: [0, n - 1, 0], args: [] };
  writeLaunch(view, layout, how, bases);
  run(view.address, 0, n);
  assertEquals([...views[2]], Array.from({ length: n }, (_, i) => i + 100 * (n - 1 - i)));
}

Deno.test("addresses past 2^31 are unsigned", () => {
  addAt(new WebAssembly.Memory({ initial: 32768 + 16 }), "i32", 2 ** 31 + 65536);
});

Deno.test({
  name: "addresses past 2^32",
  ignore: !wasmFeatures().memory64,
  fn() {
    const pages = { address: "i64", initial: 65536n + 16n };
    const memory = new WebAssembly.Memory(pages as unknown as WebAssembly.MemoryDescriptor);
    addAt(memory, "i64", 2 ** 32 + 65536);
  },
});

Deno.test({
  name: "a shared memory",
  ignore: !wasmFeatures().threads,
  fn() {
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 4, shared: true });
    const target = { ...TARGET, shared: true, maxPages: 4 };
    const module = new WebAssembly.Module(renderKernel(makeKernel(ADD), target));
    const run = new WebAssembly.Instance(module, { env: { memory } }).exports.run as RunKernel;
    const layout = launchLayout(makeKernel(ADD), "i32");
    const view = new LaunchView(memory.buffer, 0, layout.bytes);
    const data = new Float32Array(memory.buffer, 1024, 12).fill(2);
    writeLaunch(view, layout, launch([4], [[1], [1], [1]]), [1024, 1040, 1056]);
    run(0, 0, 4);
    assertEquals([...data.subarray(8)], [4, 4, 4, 4]);
  },
});

Deno.test("empty ranges and sizes", () => {
  const kernel = new Rendered(makeKernel(ADD));
  const arrays = [1, 2, 3].map((v) => new Float32Array(8).fill(v));
  const strides = [[1], [1], [1]];
  kernel.run(launch([8], strides), arrays, [[3, 3], [5, 4]]);
  kernel.run(launch([0], strides), arrays);
  assertEquals([...arrays[2]], Array(8).fill(3));
  // A reduction over nothing is its start.
  const got = rendered(
    sumKernel("float32", "any", "unit"),
    launch([3, 0], [[0, 1], [1, 0]]),
    [new Float32Array(1), new Float32Array(3).fill(9)],
  );
  assertEquals([...got[0] as Float32Array], [0, 0, 0]);
});

Deno.test("a kernel of a thousand nodes", () => {
  let value = x();
  for (let i = 0; i < 500; i++) value = ex.add(ex.mul(value, 0.5), i % 7);
  const unit = { dtype: "float32" as const, outer: "unit" as const, inner: "zero" as const };
  const kernel = makeKernel({
    outerRank: 1,
    innerRank: 0,
    inputs: [unit],
    args: [],
    stages: [{ kind: "map", values: [value] }],
    outputs: [{ ...unit, stage: 0, value: 0 }],
    index32: true,
  });
  const values = Float32Array.from({ length: 30 }, (_, i) => i * 1e20);
  check(kernel, launch([30], [[1], [1]]), [values, new Float32Array(30)]);
});
