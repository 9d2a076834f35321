// GB/s of rendered kernels and the cost of a launch, medians over repeated runs on one core.
// Run: deno run bench/kernels.ts [name …]

import { wasmFeatures } from "../backends/cpu/wasm/asm/mod.ts";
import {
  launchLayout,
  LaunchView,
  renderKernel,
  type RunKernel,
  writeLaunch,
} from "../backends/cpu/wasm/render/mod.ts";
import type { DType } from "../core/dtype.ts";
import { DTYPES } from "../core/dtype.ts";
import * as ex from "../core/ir/expr.ts";
import type { Expr } from "../core/ir/expr.ts";
import { type KernelSpec, makeKernel, type Stage, type StrideClass } from "../core/ir/kernel.ts";
import { times } from "./harness.ts";

const memory = new WebAssembly.Memory({ initial: 2048 });
const HEAP = 65536;
const floats = new Float32Array(memory.buffer, HEAP);
for (let i = 0; i < floats.length; i++) floats[i] = (i % 1021) / 1021 - 0.5;

type Axis = readonly [outer: StrideClass, inner: StrideClass];

interface Bench {
  readonly name: string;
  readonly outerRank: number;
  readonly sizes: readonly number[];
  readonly inputs: readonly { dtype: DType; at: Axis; strides: readonly number[] }[];
  readonly outputs: readonly {
    dtype: DType;
    at: Axis;
    strides: readonly number[];
    stage?: number;
  }[];
  readonly stages: readonly Stage[];
}

const x = (i = 0, dtype: "float32" | "float64" | "int32" = "float32"): Expr =>
  ex.leaf("load", dtype, i);
const left = ex.leaf("left", "float32", 0);
const right = ex.leaf("right", "float32", 0);
const fold = (start: number, lift: Expr, op: (a: Expr, b: Expr) => Expr): Stage => ({
  kind: "reduce",
  init: [ex.constant(start, "float32")],
  lift: [lift],
  combine: [op(left, right)],
});
const result = (stage: number, dtype: "float32" | "int32" = "float32", index = 0): Expr =>
  ex.leaf("result", dtype, index, stage);

const N = 4 * 2 ** 20;
const FLAT = { at: ["unit", "unit"] as Axis, strides: [1] };
const flat = (name: string, value: Expr, inputs: number, dtype: DType = "float32"): Bench => ({
  name,
  outerRank: 1,
  sizes: [N],
  inputs: Array.from({ length: inputs }, () => ({ dtype, ...FLAT })),
  outputs: [{ dtype, ...FLAT }],
  stages: [{ kind: "map", values: [value] }],
});
const ROWS = 4096;
const COLUMNS = 1024;
const MATRIX = { dtype: "float32" as const, at: ["any", "unit"] as Axis, strides: [COLUMNS, 1] };
const exps = ex.exp(ex.sub(x(), result(0)));
const order = {
  init: [ex.constant(-Infinity, "float32"), ex.constant(2 ** 31 - 1, "int32")],
  lift: [x(), ex.leaf("coord", "int32", 1)],
  combine: ((): Expr[] => {
    const [li, ri] = [ex.leaf("left", "int32", 1), ex.leaf("right", "int32", 1)];
    const first = ex.or(ex.lt(right, left), ex.and(ex.eq(left, right), ex.lt(li, ri)));
    return [ex.where(first, left, right), ex.where(first, li, ri)];
  })(),
};

const BENCHES: readonly Bench[] = [
  flat("add", ex.add(x(0), x(1)), 2),
  flat("exp", ex.exp(x()), 1),
  flat("tanh", ex.tanh(x()), 1),
  flat("log", ex.log(ex.abs(x())), 1),
  flat("sin", ex.sin(x()), 1),
  flat("gelu", ex.mul(x(), ex.add(0.5, ex.mul(0.5, ex.erf(ex.mul(x(), Math.SQRT1_2))))), 1),
  flat("relu", ex.max(x(), 0), 1),
  flat("add float16", ex.add(x(0), x(1)), 2, "float16"),
  flat("add bfloat16", ex.add(x(0), x(1)), 2, "bfloat16"),
  flat("add uint8", ex.add(x(0, "int32"), x(1, "int32")), 2, "uint8"),
  {
    name: "sum",
    outerRank: 0,
    sizes: [N],
    inputs: [{ dtype: "float32", ...FLAT }],
    outputs: [{ dtype: "float32", at: ["zero", "zero"], strides: [0] }],
    stages: [fold(0, x(), ex.add)],
  },
  {
    name: "sum (64 KB)",
    outerRank: 0,
    sizes: [16384],
    inputs: [{ dtype: "float32", ...FLAT }],
    outputs: [{ dtype: "float32", at: ["zero", "zero"], strides: [0] }],
    stages: [fold(0, x(), ex.add)],
  },
  {
    name: "row sum",
    outerRank: 1,
    sizes: [ROWS, COLUMNS],
    inputs: [MATRIX],
    outputs: [{ dtype: "float32", at: ["unit", "zero"], strides: [1, 0] }],
    stages: [fold(0, x(), ex.add)],
  },
  {
    name: "column sum",
    outerRank: 1,
    sizes: [COLUMNS, ROWS],
    inputs: [{ dtype: "float32", at: ["unit", "any"], strides: [1, COLUMNS] }],
    outputs: [{ dtype: "float32", at: ["unit", "zero"], strides: [1, 0] }],
    stages: [fold(0, x(), ex.add)],
  },
  {
    name: "row argmax",
    outerRank: 1,
    sizes: [ROWS, COLUMNS],
    inputs: [MATRIX],
    outputs: [{ dtype: "int32", at: ["unit", "zero"], strides: [1, 0], stage: 1 }],
    stages: [{ kind: "reduce", ...order }, { kind: "final", values: [result(0, "int32", 1)] }],
  },
  {
    name: "softmax",
    outerRank: 1,
    sizes: [ROWS, COLUMNS],
    inputs: [MATRIX],
    outputs: [{ ...MATRIX, stage: 2 }],
    stages: [
      fold(-Infinity, x(), ex.max),
      fold(0, exps, ex.add),
      { kind: "map", values: [ex.mul(exps, ex.div(ex.constant(1, "float32"), result(1)))] },
    ],
  },
  {
    name: "softmax of 10",
    outerRank: 1,
    sizes: [65536, 10],
    inputs: [{ ...MATRIX, strides: [10, 1] }],
    outputs: [{ ...MATRIX, strides: [10, 1], stage: 2 }],
    stages: [
      fold(-Infinity, x(), ex.max),
      fold(0, exps, ex.add),
      { kind: "map", values: [ex.div(exps, result(1))] },
    ],
  },
  {
    name: "transpose",
    outerRank: 2,
    sizes: [2048, 2048],
    inputs: [{ dtype: "float32", at: ["any", "zero"], strides: [1, 2048] }],
    outputs: [{ dtype: "float32", at: ["unit", "zero"], strides: [2048, 1] }],
    stages: [{ kind: "map", values: [x()] }],
  },
  {
    name: "cumsum rows",
    outerRank: 1,
    sizes: [ROWS, COLUMNS],
    inputs: [MATRIX],
    outputs: [MATRIX],
    stages: [{
      kind: "scan",
      init: [ex.constant(0, "float32")],
      lift: [x()],
      combine: [ex.add(left, right)],
      values: [left],
    }],
  },
];

function prepare(b: Bench) {
  const spec: KernelSpec = {
    outerRank: b.outerRank,
    innerRank: b.sizes.length - b.outerRank,
    inputs: b.inputs.map(({ dtype, at: [outer, inner] }) => ({ dtype, outer, inner })),
    args: [],
    stages: b.stages,
    outputs: b.outputs.map(({ dtype, at: [outer, inner], stage }) => ({
      dtype,
      outer,
      inner,
      stage: stage ?? 0,
      value: 0,
    })),
    index32: true,
  };
  const kernel = makeKernel(spec);
  const layout = launchLayout(kernel, "i32");
  const start = performance.now();
  const bytes = renderKernel(kernel, { ptr: "i32", relaxed: wasmFeatures().relaxedSimd });
  const rendered = performance.now();
  const module = new WebAssembly.Module(bytes);
  const instance = new WebAssembly.Instance(module, { env: { memory } });
  const compiled = performance.now();
  const view = new LaunchView(memory.buffer, 1024, layout.bytes);
  const buffers = [...b.inputs, ...b.outputs];
  const elements = b.sizes.reduce((p, s) => p * s, 1);
  const bases = buffers.map((_, i) => HEAP + i * N * 4 + i * 128);
  const launch = {
    sizes: b.sizes,
    strides: buffers.map((x) => x.strides),
    offsets: buffers.map(() => 0),
    args: [],
  };
  const moved = buffers.reduce((sum, x) =>
    sum + DTYPES[x.dtype].bytes *
      x.strides.reduce((p, s, i) => s === 0 ? p : p * b.sizes[i], 1), 0);
  const run = instance.exports.run as RunKernel;
  const call = (): void => {
    writeLaunch(view, layout, launch, bases);
    run(1024, 0, b.outerRank === 0 ? 1 : b.sizes[0]);
  };
  return {
    call,
    moved,
    elements,
    size: bytes.length,
    rendered: rendered - start,
    compiled: compiled - rendered,
  };
}

async function measure(b: Bench): Promise<void> {
  const p = prepare(b);
  const repeats = Math.max(1, Math.round(2e5 / p.elements));
  const [first] = await times(p.call, { repeats, samples: 1, warmUp: 0 });
  const sorted = await times(p.call, { repeats, samples: 15 });
  const ms = sorted[7];
  console.log(
    b.name.padEnd(14),
    `${(p.moved / ms / 1e6).toFixed(2).padStart(6)} GB/s`,
    `${(p.elements / ms / 1e6).toFixed(2).padStart(6)} G/s`,
    `median ${ms.toFixed(3)} best ${sorted[0].toFixed(3)} first ${first.toFixed(2)} ms`,
    ` ${p.size} bytes, render ${p.rendered.toFixed(2)} compile ${p.compiled.toFixed(2)} ms`,
  );
}

async function measureLaunch(): Promise<void> {
  const p = prepare({ ...flat("", ex.add(x(0), x(1)), 2), sizes: [4] });
  const sorted = await times(p.call, { repeats: 20_000, samples: 15, warmUp: 10 });
  const ns = (ms: number): string => (ms * 1e6).toFixed(1);
  console.log(
    `launch of add, 4 elements: median ${ns(sorted[7])} best ${ns(sorted[0])} ns`,
  );
}

const wanted = Deno.args;
for (const b of BENCHES) {
  if (wanted.length === 0 || wanted.some((w) => b.name.startsWith(w))) await measure(b);
}
if (wanted.length === 0 || wanted.includes("launch")) await measureLaunch();
