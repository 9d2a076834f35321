import { assertEquals, assertThrows } from "jsr:@std/assert@1";
import { type ComputeType, type DataArray, type DType, DTYPES } from "../dtype.ts";
import { InternalError } from "../errors.ts";
import * as ex from "./expr.ts";
import type { Expr, Operand } from "./expr.ts";
import { runKernel, scalarProgram } from "./interp.ts";
import { type KernelSpec, type Launch, makeKernel, type Stage } from "./kernel.ts";

const I32 = [0, 1, -1, 2, -7, 7, 31, 33, 2 ** 31 - 1, -(2 ** 31), 123456789];
const I64 = [...I32.map(BigInt), 63n, 65n, (1n << 63n) - 1n, -(1n << 63n), 0x123456789abcdefn];
const F32 = [0, -0, 1, -1.5, 2.5, 3.5, -0.5, 1e-45, 3e38, NaN, Infinity, -Infinity].map(
  Math.fround,
);
const F64 = [...F32, 0.1, 5e-324, 1e308, 2 ** 52 + 0.5, 4503599627370495.5];

type V = number | bigint;
const arg = (i: number, d: ComputeType): Expr => ex.leaf("arg", d, i);

function check2<T extends V>(
  dtype: ComputeType,
  make: (a: Operand, b: Operand) => Expr,
  values: readonly T[],
  want: (a: T, b: T) => V,
) {
  const run = scalarProgram([make(arg(0, dtype), arg(1, dtype))]);
  for (const a of values) {
    for (const b of values) assertEquals(run([a, b])[0], want(a, b), `${a}, ${b}`);
  }
}

Deno.test("int32 ops wrap, and division by zero is 0", () => {
  const big = (f: (a: bigint, b: bigint) => bigint) => (a: number, b: number) =>
    Number(BigInt.asIntN(32, f(BigInt(a), BigInt(b))));
  check2("int32", ex.add, I32, big((a, b) => a + b));
  check2("int32", ex.sub, I32, big((a, b) => a - b));
  check2("int32", ex.mul, I32, big((a, b) => a * b));
  check2("int32", ex.idiv, I32, big((a, b) => b === 0n ? 0n : a / b));
  check2("int32", ex.irem, I32, big((a, b) => b === 0n ? 0n : a % b));
  check2("int32", ex.shl, I32, big((a, b) => a << (b & 31n)));
  check2("int32", ex.shr, I32, big((a, b) => a >> (b & 31n)));
  check2("int32", ex.shru, I32, big((a, b) => BigInt.asUintN(32, a) >> (b & 31n)));
  check2(
    "int32",
    ex.mulhiu,
    I32,
    big((a, b) => BigInt.asUintN(32, a) * BigInt.asUintN(32, b) >> 32n),
  );
  check2("int32", ex.xor, I32, big((a, b) => a ^ b));
  check2("int32", (a) => ex.neg(a as Expr), I32, big((a) => -a));
  check2("int32", (a) => ex.abs(a as Expr), I32, big((a) => a < 0n ? -a : a));
});

Deno.test("int64 ops wrap, and division by zero is 0", () => {
  const wrap = (f: (a: bigint, b: bigint) => bigint) => (a: bigint, b: bigint) =>
    BigInt.asIntN(64, f(a, b));
  const u = (x: bigint) => BigInt.asUintN(64, x);
  check2("int64", ex.add, I64, wrap((a, b) => a + b));
  check2("int64", ex.mul, I64, wrap((a, b) => a * b));
  check2("int64", ex.idiv, I64, wrap((a, b) => b === 0n ? 0n : a / b));
  check2("int64", ex.irem, I64, wrap((a, b) => b === 0n ? 0n : a % b));
  check2("int64", ex.shl, I64, wrap((a, b) => a << (b & 63n)));
  check2("int64", ex.shru, I64, wrap((a, b) => u(a) >> (b & 63n)));
  check2("int64", ex.mulhiu, I64, wrap((a, b) => u(a) * u(b) >> 64n));
  check2("int64", ex.min, I64, (a, b) => a < b ? a : b);
  check2("int64", ex.lt, I64, (a, b) => a < b ? 1 : 0);
  check2("int64", (a) => ex.abs(a as Expr), I64, wrap((a) => a < 0n ? -a : a));
});

Deno.test("float32 arithmetic rounds after each op", () => {
  check2("float32", ex.add, F32, (a, b) => Math.fround(a + b));
  check2("float32", ex.div, F32, (a, b) => Math.fround(a / b));
  check2("float32", ex.max, F32, Math.max);
  check2("float32", ex.le, F32, (a, b) => a <= b ? 1 : 0);
  check2("float32", ex.ne, F32, (a, b) => a !== b ? 1 : 0);
  check2("float64", ex.mul, F64, (a, b) => a * b);
  const x = arg(0, "float32");
  assertEquals(scalarProgram([ex.sub(ex.add(x, 2 ** 24), 2 ** 24)])([1]), [0]);
});

Deno.test("rint goes to even and keeps the sign of zero", () => {
  const run = scalarProgram([ex.rint(arg(0, "float64"))]);
  const pairs = [[0.5, 0], [-0.5, -0], [1.5, 2], [2.5, 2], [-2.5, -2], [-0, -0], [
    0.49999999999999994,
    0,
  ]];
  for (
    const [x, want] of [...pairs, [4503599627370495.5, 4503599627370496], [-Infinity, -Infinity]]
  ) {
    assertEquals(Object.is(run([x])[0], want), true, `${x}`);
  }
});

Deno.test("casts truncate and saturate, and round once", () => {
  const c = (x: V, from: ComputeType, to: ComputeType) =>
    scalarProgram([ex.cast(arg(0, from), to)])([x])[0];
  assertEquals([NaN, 1e10, -1e10, -1.9, Infinity].map((x) => c(x, "float32", "int32")), [
    0,
    2147483647,
    -2147483648,
    -1,
    2147483647,
  ]);
  assertEquals([NaN, 1e30, -Infinity, -1.9, 2 ** 53].map((x) => c(x, "float64", "int64")), [
    0n,
    (1n << 63n) - 1n,
    -(1n << 63n),
    -1n,
    1n << 53n,
  ]);
  assertEquals([NaN, -0, 0.1, 0].map((x) => c(x, "float32", "bool")), [1, 0, 1, 0]);
  assertEquals(c((1n << 32n) + 5n, "int64", "int32"), 5);
  // Just above the middle of two float32 numbers; through float64 it would become the middle.
  assertEquals(c((1n << 60n) + (1n << 36n) + 1n, "int64", "float32"), 2 ** 60 + 2 ** 37);
  assertEquals(c(-(1n << 60n) - (1n << 36n), "int64", "float32"), -(2 ** 60));
  assertEquals(c(0.1, "float64", "float32"), Math.fround(0.1));
});

Deno.test("bitcast keeps bits; where takes one side", () => {
  const f = arg(0, "float32");
  assertEquals(scalarProgram([ex.bitcast(f, "int32")])([-1.5]), [0xbfc00000 | 0]);
  const d = arg(0, "float64");
  const there = ex.bitcast(d, "int64");
  assertEquals(scalarProgram([there, ex.bitcast(there, "float64")])([-2]), [-(1n << 62n), -2]);
  assertEquals(scalarProgram([ex.where(ex.lt(f, 0), ex.neg(f), 7)])([-3]), [3]);
});

Deno.test("fma rounds once", () => {
  const fma = (d: ComputeType) => {
    const run = scalarProgram([ex.fma(arg(0, d), arg(1, d), arg(2, d))]);
    return (a: number, b: number, c: number) => run([a, b, c])[0];
  };
  const e = 2 ** -52;
  assertEquals(fma("float64")(1 + e, 1 + e, -1 - 2 * e), e * e);
  assertEquals(fma("float64")(1e300, 1e300, -Infinity), -Infinity);
  assertEquals(fma("float64")(3, 5, -15), 0);
  assertEquals(fma("float64")(5e-324, 0.5, 5e-324), 1e-323);
  assertEquals(fma("float64")(0.1, NaN, 1), NaN);
  // 1 + 2^-24 is a tie for float32; the tiny term decides, though float64 loses it.
  assertEquals(fma("float32")(2 ** -40, 2 ** -40, 1 + 2 ** -23), 1 + 2 ** -23);
  assertEquals(fma("float32")(2 ** -12 + 2 ** -35, 2 ** -12, 1), 1 + 2 ** -23);
});

Deno.test("an op that a dtype lacks is refused", () => {
  for (
    const e of [
      ex.div(arg(0, "int32"), 2),
      ex.idiv(arg(0, "float32"), 2),
      ex.floor(arg(0, "int64")),
    ]
  ) {
    assertThrows(() => scalarProgram([e]), InternalError, "no such op");
  }
});

const UNIT = { outer: "unit", inner: "unit" } as const;

function kernel(
  axes: [number, number],
  inputs: DType[],
  stages: Stage[],
  outputs: [DType, number, number][],
  args: ComputeType[] = [],
) {
  const spec: KernelSpec = {
    outerRank: axes[0],
    innerRank: axes[1],
    inputs: inputs.map((dtype) => ({ dtype, ...UNIT })),
    args,
    stages,
    outputs: outputs.map(([dtype, stage, value]) => ({ dtype, ...UNIT, stage, value })),
    index32: true,
  };
  return makeKernel(spec);
}

function launch(sizes: number[], strides: number[][], more: Partial<Launch> = {}): Launch {
  return { sizes, strides, offsets: strides.map(() => 0), args: [], ...more };
}

const load = (i: number, d: ComputeType) => ex.leaf("load", d, i);
const left = (i: number, d: ComputeType) => ex.leaf("left", d, i);
const right = (i: number, d: ComputeType) => ex.leaf("right", d, i);

Deno.test("a map follows strides and offsets and reads the launch", () => {
  const e = ex.add(
    ex.mul(load(0, "float32"), ex.leaf("arg", "float32", 0)),
    ex.cast(
      ex.add(
        ex.mul(ex.leaf("coord", "int32", 0), 100),
        ex.mul(ex.leaf("size", "int32", 1), ex.leaf("coord", "int32", 1)),
      ),
      "float32",
    ),
  );
  const k = kernel([2, 0], ["float32"], [{ kind: "map", values: [e] }], [["float32", 0, 0]], [
    "float32",
  ]);
  const x = Float32Array.of(-1, 1, 2, 3, 4, 5, 6);
  const out = new Float32Array(8);
  // A transposed, reversed read into every place but the first.
  runKernel(k, launch([2, 3], [[-1, 2], [3, 1]], { offsets: [2, 1], args: [10] }), [x, out]);
  assertEquals([...out], [0, 20, 43, 66, 110, 133, 156, 0]);
});

Deno.test("every dtype is widened on load and rounded on store", () => {
  const f = (from: DType, to: DType, data: DataArray) => {
    const a = DTYPES[from].compute!;
    const out = new DTYPES[to].array(data.length);
    const k = kernel([1, 0], [from], [{
      kind: "map",
      values: [ex.cast(load(0, a), DTYPES[to].compute!)],
    }], [
      [to, 0, 0],
    ]);
    runKernel(k, launch([data.length], [[1], [1]]), [data, out]);
    return [...out];
  };
  assertEquals(f("float32", "float16", Float32Array.of(1, 65520, -0)), [0x3c00, 0x7c00, 0x8000]);
  assertEquals(f("float16", "float64", Uint16Array.of(0x3555, 0xfc00)), [
    0.333251953125,
    -Infinity,
  ]);
  assertEquals(f("bfloat16", "float32", Uint16Array.of(0xc049)), [-3.140625]);
  assertEquals(f("float32", "bfloat16", Float32Array.of(-3.140625)), [0xc049]);
  assertEquals(f("int32", "int8", Int32Array.of(300, -129)), [44, 127]);
  assertEquals(f("uint8", "int64", Uint8Array.of(255)), [255n]);
  assertEquals(f("int64", "bool", BigInt64Array.of(0n, 1n << 40n)), [0, 1]);
  assertEquals(f("bool", "float32", Uint8Array.of(0, 1)), [0, 1]);
});

const sum = (d: ComputeType, lift: Expr): Stage => ({
  kind: "reduce",
  init: [ex.constant(0, d)],
  lift: [lift],
  combine: [ex.add(left(0, d), right(0, d))],
});

Deno.test("a float sum is right to the last place", () => {
  const d = Float64Array.of(1, 1e100, 1, -1e100);
  const out = new Float64Array(1);
  const k = kernel([0, 1], ["float64"], [sum("float64", load(0, "float64"))], [["float64", 0, 0]]);
  runKernel(k, launch([4], [[1], [0]]), [d, out]);
  assertEquals(out[0], 2); // 0 without compensation
  const f = new Float32Array(100001).fill(Math.fround(0.1));
  const of = new Float32Array(1);
  const kf = kernel([0, 1], ["float32"], [sum("float32", load(0, "float32"))], [["float32", 0, 0]]);
  runKernel(kf, launch([f.length], [[1], [0]]), [f, of]);
  assertEquals(of[0], Math.fround(Math.fround(0.1) * 100001));
  runKernel(kf, launch([2], [[1], [0]]), [Float32Array.of(Infinity, -1), of]);
  assertEquals(of[0], Infinity);
  runKernel(kf, launch([0], [[1], [0]]), [f, of]);
  assertEquals(of[0], 0);
});

Deno.test("softmax: reduce, reduce, map, in place", () => {
  const x = load(0, "float32");
  const e = ex.exp(ex.sub(x, ex.leaf("result", "float32", 0, 0)));
  const k = kernel([1, 1], ["float32"], [
    {
      kind: "reduce",
      init: [ex.constant(-Infinity, "float32")],
      lift: [x],
      combine: [ex.max(left(0, "float32"), right(0, "float32"))],
    },
    sum("float32", e),
    { kind: "map", values: [ex.div(e, ex.leaf("result", "float32", 0, 1))] },
  ], [["float32", 2, 0]]);
  const data = Float32Array.of(0, Math.log(3), 100, 100);
  runKernel(k, launch([2, 2], [[2, 1], [2, 1]]), [data, data]);
  assertEquals([...data].map((v) => Math.round(v * 1e6) / 1e6), [0.25, 0.75, 0.5, 0.5]);
});

Deno.test("a fold with two states: argmax takes the first of equals", () => {
  const [v, i] = ["float32", "int32"] as const;
  const take = ex.lt(left(0, v), right(0, v));
  const k = kernel([1, 2], ["float32"], [{
    kind: "reduce",
    init: [ex.constant(-Infinity, v), ex.constant(0, i)],
    lift: [load(0, v), ex.add(ex.mul(ex.leaf("coord", i, 1), 2), ex.leaf("coord", i, 2))],
    combine: [ex.where(take, right(0, v), left(0, v)), ex.where(take, right(1, i), left(1, i))],
  }, {
    kind: "final",
    values: [ex.mul(ex.leaf("result", i, 1, 0), 10)],
  }], [["int32", 0, 1], ["int32", 1, 0]]);
  const out = new Int32Array(2);
  const tens = new Int32Array(2);
  runKernel(k, launch([2, 2, 2], [[4, 2, 1], [1, 0, 0], [1, 0, 0]]), [
    Float32Array.of(1, 3, 3, 2, 9, 1, 1, 1),
    out,
    tens,
  ]);
  assertEquals([...out, ...tens], [1, 0, 10, 0]);
});

Deno.test("a scan gives the state that includes each point, and its last as result", () => {
  const d = "int64";
  const k = kernel([1, 1], ["int64"], [{
    kind: "scan",
    init: [ex.constant(0n, d)],
    lift: [load(0, d)],
    combine: [ex.add(left(0, d), right(0, d))],
    values: [ex.mul(left(0, d), 2n)],
  }, { kind: "final", values: [ex.leaf("result", d, 0, 0)] }], [["int64", 0, 0], ["int64", 1, 0]]);
  const out = new BigInt64Array(6);
  const last = new BigInt64Array(2);
  runKernel(k, launch([2, 3], [[3, 1], [3, 1], [1, 0]]), [
    BigInt64Array.of(1n, 2n, 3n, 4n, 5n, 6n),
    out,
    last,
  ]);
  assertEquals([...out, ...last], [2n, 6n, 12n, 8n, 18n, 30n, 6n, 15n]);
  const f: Stage = {
    kind: "scan",
    init: [ex.constant(0, "float32")],
    lift: [load(0, "float32")],
    combine: [ex.add(left(0, "float32"), right(0, "float32"))],
    values: [left(0, "float32")],
  };
  const kf = kernel([0, 1], ["float32"], [f], [["float32", 0, 0]]);
  const of = new Float32Array(3);
  runKernel(kf, launch([3], [[1], [1]]), [Float32Array.of(2 ** 24, 1, 1), of]);
  assertEquals([...of], [2 ** 24, 2 ** 24, 2 ** 24 + 2]);
});

Deno.test("gather reads at computed coordinates, and never outside", () => {
  const at = load(1, "int64");
  const k = makeKernel({
    ...kernel([1, 0], [], [{
      kind: "map",
      values: [ex.gather(0, "float32", [at, ex.sub(ex.constant(1n, "int64"), at)])],
    }], [["float32", 0, 0]]),
    inputs: [{ dtype: "float32", outer: "any", inner: "any", gatherRank: 2 }, {
      dtype: "int64",
      ...UNIT,
    }],
  });
  const table = Float32Array.of(1, 2, 3, 4);
  const out = new Float32Array(2);
  const where = launch([2], [[2, 1], [1], [1]]);
  runKernel(k, where, [table, BigInt64Array.of(1n, 0n), out]);
  assertEquals([...out], [3, 2]);
  assertThrows(
    () => runKernel(k, where, [table, BigInt64Array.of(1n, 3n), out]),
    InternalError,
    "input 0",
  );
});
