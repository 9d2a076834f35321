// Every op at its special points, as vectors and as scalars, against the interpreter.
import { assert, assertEquals, assertThrows } from "jsr:@std/assert@1";
import { type ComputeType, type DataArray, type DType, DTYPES } from "../../../../core/dtype.ts";
import { InternalError } from "../../../../core/errors.ts";
import * as half from "../../../../core/half.ts";
import * as ex from "../../../../core/ir/expr.ts";
import type { Expr, ExprOp } from "../../../../core/ir/expr.ts";
import { type Kernel, type Launch, makeKernel } from "../../../../core/ir/kernel.ts";
import { interpreted, readable, rendered, TARGET } from "./harness_test.ts";

const I32 = [0, 1, -1, 2, -2, 3, 7, -7, 31, 32, 33, 65536, 46341, 2 ** 31 - 1, -(2 ** 31)];
const I64 = [
  ...[0n, 1n, -1n, 2n, -3n, 7n, 31n, 32n, 63n, 64n, 65n, 0xffffffffn, 1n << 32n],
  ...[0x123456789abcdefn, -0x123456789abcdefn, (1n << 63n) - 1n, -(1n << 63n), 1n << 53n],
  (1n << 53n) + 1n,
];
const FLOATS = [
  ...[0, -0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3.999, 1e-45, -1e-45, 1.2e-38, 3.4e38, -3.4e38],
  ...[2 ** 23 + 0.5, 2 ** 31, -(2 ** 31) - 1, 2 ** 63, -(2 ** 63), 1e20, NaN, Infinity, -Infinity],
];
const POINTS: Record<ComputeType, DataArray> = {
  bool: Uint8Array.of(0, 1, 1, 0),
  int32: Int32Array.from(I32),
  int64: BigInt64Array.from(I64),
  float32: Float32Array.from(FLOATS),
  float64: Float64Array.from([...FLOATS, 5e-324, 0.1, 2 ** 52 + 0.5, 1e308, 2 ** 31 - 0.5]),
};
const COMPUTE = Object.keys(POINTS) as ComputeType[];

const load = (i: number, dtype: ComputeType): Expr => ex.leaf("load", dtype, i);

/** A kernel that maps the elements of dense arrays. */
function mapKernel(inputs: readonly DType[], output: DType, value: Expr): Kernel {
  return makeKernel({
    outerRank: 1,
    innerRank: 0,
    inputs: inputs.map((dtype) => ({ dtype, outer: "unit", inner: "zero" })),
    args: [],
    stages: [{ kind: "map", values: [value] }],
    outputs: [{ dtype: output, outer: "unit", inner: "zero", stage: 0, value: 0 }],
    index32: true,
  });
}

function dense(n: number, buffers: number): Launch {
  const each = Array.from({ length: buffers });
  return { sizes: [n], strides: each.map(() => [1]), offsets: each.map(() => 0), args: [] };
}

/** Ranges too short for vectors. */
function shortRanges(n: number): [number, number][] {
  return Array.from({ length: Math.ceil(n / 3) }, (_, i) => [i * 3, Math.min(n, i * 3 + 3)]);
}

function checkMap(inputs: readonly DataArray[], types: readonly ComputeType[], value: Expr): void {
  const kernel = mapKernel(types, value.dtype, value);
  const n = inputs[0].length;
  const arrays = [...inputs, new DTYPES[value.dtype].array(n)];
  const launch = dense(n, arrays.length);
  const want = readable(kernel, interpreted(kernel, launch, arrays))[0];
  const label = (i: number): string =>
    `${kernel.key} of ${inputs.map((a) => String(a[i])).join(", ")}`;
  for (const ranges of [undefined, shortRanges(n)]) {
    const got = readable(kernel, rendered(kernel, launch, arrays, { ranges }))[0];
    got.forEach((x, i) => assertEquals(x, want[i], label(i)));
  }
}

/** All pairs of the special points, as two arrays. */
function pairs(dtype: ComputeType): DataArray[] {
  const points = Array.from(POINTS[dtype] as ArrayLike<number | bigint>);
  const Type = DTYPES[dtype].array as unknown as { from(x: (number | bigint)[]): DataArray };
  return [
    Type.from(points.flatMap((a) => points.map(() => a))),
    Type.from(points.flatMap(() => points)),
  ];
}

const UNARY: Record<ComputeType, ExprOp[]> = {
  bool: [],
  int32: ["neg", "abs"],
  int64: ["neg", "abs"],
  float32: ["neg", "abs", "sqrt", "floor", "ceil", "trunc", "rint"],
  float64: ["neg", "abs", "sqrt", "floor", "ceil", "trunc", "rint"],
};
const INTEGER: ExprOp[] = [
  ...["add", "sub", "mul", "idiv", "irem", "min", "max"] as const,
  ...["and", "or", "xor", "shl", "shr", "shru", "mulhiu"] as const,
];
const BINARY: Record<ComputeType, ExprOp[]> = {
  bool: ["and", "or", "xor", "min", "max"],
  int32: INTEGER,
  int64: INTEGER,
  float32: ["add", "sub", "mul", "div", "min", "max"],
  float64: ["add", "sub", "mul", "div", "min", "max"],
};

for (const dtype of COMPUTE) {
  Deno.test(`ops of ${dtype} at special points`, () => {
    const both = pairs(dtype);
    for (const op of UNARY[dtype]) {
      checkMap(both.slice(0, 1), [dtype], { op, dtype, args: [load(0, dtype)] });
    }
    for (const op of BINARY[dtype]) {
      checkMap(both, [dtype, dtype], { op, dtype, args: [load(0, dtype), load(1, dtype)] });
    }
    for (const op of ["lt", "le", "eq", "ne"] as const) {
      const args = [load(0, dtype), load(1, dtype)];
      checkMap(both, [dtype, dtype], { op, dtype: "bool", args });
    }
  });

  Deno.test(`ops of ${dtype} with a constant`, () => {
    const points = Array.from(POINTS[dtype] as ArrayLike<number | bigint>);
    for (const op of BINARY[dtype]) {
      for (const c of points) {
        const constant = ex.constant(c, dtype);
        for (const args of [[load(0, dtype), constant], [constant, load(0, dtype)]]) {
          checkMap([POINTS[dtype]], [dtype], { op, dtype, args });
        }
      }
    }
  });

  Deno.test(`casts from ${dtype}`, () => {
    for (const to of COMPUTE) {
      if (to === dtype) continue;
      checkMap([POINTS[dtype]], [dtype], { op: "cast", dtype: to, args: [load(0, dtype)] });
    }
  });

  Deno.test(`where of ${dtype}, by conditions of either width`, () => {
    const [a, b] = pairs(dtype);
    const n = a.length;
    const narrow = Float32Array.from({ length: n }, (_, i) => i % 3 - 1);
    const wide = Float64Array.from(narrow);
    for (const [by, type] of [[narrow, "float32"], [wide, "float64"]] as const) {
      const condition = ex.lt(load(2, type), 0);
      checkMap([a, b, by], [dtype, dtype, type], {
        op: "where",
        dtype,
        args: [condition, load(0, dtype), load(1, dtype)],
      });
    }
  });
}

Deno.test("bitcasts", () => {
  const finite = FLOATS.filter((x) => !Number.isNaN(x));
  checkMap([Float32Array.from(finite)], ["float32"], ex.bitcast(load(0, "float32"), "int32"));
  checkMap([Float64Array.from(finite)], ["float64"], ex.bitcast(load(0, "float64"), "int64"));
  checkMap([Int32Array.from(I32)], ["int32"], ex.bitcast(load(0, "int32"), "float32"));
  checkMap([BigInt64Array.from(I64)], ["int64"], ex.bitcast(load(0, "int64"), "float64"));
});

Deno.test("fma rounds once or twice, the same in vectors and scalars", () => {
  const n = 64;
  const next = (i: number): number => Math.fround(Math.sin(i * 12.9898) * 43758.5453 % 1);
  const arrays = [0, 1, 2].map((k) => Float32Array.from({ length: n }, (_, i) => next(i * 3 + k)));
  const value = ex.fma(load(0, "float32"), load(1, "float32"), load(2, "float32"));
  const kernel = mapKernel(["float32", "float32", "float32"], "float32", value);
  const all = [...arrays, new Float32Array(n)];
  for (const relaxed of [false, TARGET.relaxed]) {
    const target = { ...TARGET, relaxed };
    const run = (
      ranges?: [number, number][],
    ) => [...rendered(kernel, dense(n, 4), all, { target, ranges })[0] as Float32Array];
    const got = run();
    assertEquals(run(shortRanges(n)), got);
    got.forEach((x, i) => {
      const [a, b, c] = arrays.map((v) => v[i]);
      const twice = Math.fround(Math.fround(a * b) + c);
      const once = interpreted(kernel, dense(n, 4), all)[0][i];
      assert(x === twice || (relaxed && x === once), `${a} * ${b} + ${c} = ${x}`);
    });
  }
});

Deno.test("every float16 and bfloat16 is read exactly", () => {
  const bits = Uint16Array.from({ length: 65536 }, (_, i) => i);
  for (const dtype of ["float16", "bfloat16"] as const) {
    const decode = dtype === "float16" ? half.float16BitsToFloat32 : half.bfloat16BitsToFloat32;
    const kernel = mapKernel([dtype], "float32", load(0, "float32"));
    const want = readable(kernel, [Float32Array.from(bits, decode)]);
    for (const ranges of [undefined, shortRanges(65536)]) {
      const arrays = [bits, new Float32Array(65536)];
      const got = rendered(kernel, dense(65536, 2), arrays, { ranges });
      assertEquals(readable(kernel, got)[0].join(), want[0].join(), dtype);
    }
  }
});

Deno.test("float16 and bfloat16 are rounded to nearest even", () => {
  // The values of each format, the middles between them and the floats beside both.
  for (const dtype of ["float16", "bfloat16"] as const) {
    const encode = dtype === "float16" ? half.float32ToFloat16Bits : half.float32ToBfloat16Bits;
    const decode = dtype === "float16" ? half.float16BitsToFloat32 : half.bfloat16BitsToFloat32;
    const words: number[] = [];
    const word = new DataView(new ArrayBuffer(4));
    for (let i = 0; i < 65536; i += dtype === "float16" ? 1 : 7) {
      word.setFloat32(0, decode(i));
      const at = word.getInt32(0);
      const half = dtype === "float16" ? 1 << 12 : 1 << 15;
      words.push(at, at + 1, at - 1, at + half, at + half + 1, at + half - 1);
    }
    for (let e = 90; e < 115; e++) words.push((e << 23) | 1, e << 23, (e << 23) | 0x400000);
    const values = new Float32Array(Int32Array.from(words).buffer);
    const kernel = mapKernel(["float32"], dtype, load(0, "float32"));
    const want = readable(kernel, [Uint16Array.from(values, encode)]);
    const n = values.length;
    for (const ranges of [undefined, shortRanges(n)]) {
      const got = rendered(kernel, dense(n, 2), [values, new Uint16Array(n)], { ranges });
      assertEquals(readable(kernel, got)[0].join(), want[0].join(), dtype);
    }
  }
});

Deno.test("narrow integers wrap when they are stored", () => {
  const values = Int32Array.from({ length: 1100 }, (_, i) => Math.imul(i, 7919) - 4_000_000);
  for (const dtype of ["uint8", "int8", "int16"] as const) {
    const kernel = mapKernel(["int32"], dtype, load(0, "int32"));
    const n = values.length;
    const Type = DTYPES[dtype].array as Int16ArrayConstructor;
    for (const ranges of [undefined, shortRanges(n)]) {
      const got = rendered(kernel, dense(n, 2), [values, new Type(n)], { ranges });
      assertEquals(Array.from(got[0] as Int16Array), Array.from(Type.from(values)), dtype);
    }
  }
});

const EXTRA: readonly [ExprOp, number, number][] = [
  ["exp", -100, 95],
  ["exp2", -140, 130],
  ["expm1", -20, 90],
  ["log", 0, 1000],
  ["log2", 0, 1000],
  ["log10", 0, 1000],
  ["log1p", -1, 1000],
  ["sin", -100, 100],
  ["cos", -1e30, 1e30],
  ["tan", -10, 10],
  ["asin", -1, 1],
  ["acos", -1, 1],
  ["atan", -100, 100],
  ["sinh", -90, 90],
  ["cosh", -90, 90],
  ["tanh", -20, 20],
  ["asinh", -1000, 1000],
  ["acosh", 1, 1000],
  ["atanh", -1, 1],
  ["erf", -5, 5],
  ["erfc", -5, 10],
  ["erfinv", -1, 1],
];

for (const dtype of ["float32", "float64"] as const) {
  Deno.test(`functions of ${dtype}: vectors, scalars and the interpreter agree`, () => {
    const ulp = dtype === "float32" ? 2 ** -22 : 2 ** -50;
    for (const [op, low, high] of EXTRA) {
      const inside = Array.from({ length: 203 }, (_, i) => low + (high - low) * (i / 202));
      const Type = DTYPES[dtype].array as Float64ArrayConstructor;
      const values = Type.from([...inside, ...FLOATS, 3e5, 1e10]);
      const kernel = mapKernel([dtype], dtype, { op, dtype, args: [load(0, dtype)] });
      const n = values.length;
      const arrays = [values, new Type(n)];
      const want = interpreted(kernel, dense(n, 2), arrays)[0] as Float64Array;
      const got = rendered(kernel, dense(n, 2), arrays);
      const scalar = rendered(kernel, dense(n, 2), arrays, { ranges: shortRanges(n) });
      assertEquals(readable(kernel, scalar), readable(kernel, got), op);
      got[0].forEach((x, i) => {
        const y = want[i];
        const near = Object.is(x, y) || Math.abs(Number(x) - y) <= ulp * Math.abs(y);
        // Where the result is below the normal numbers, only the spacing there is left.
        const tiny = Math.abs(Number(x) - y) <= (dtype === "float32" ? 3e-45 : 1e-323);
        assert(near || tiny, `${op}(${values[i]}) = ${x}, not ${y}`);
      });
    }
  });
}

Deno.test("an op without a meaning is refused", () => {
  for (
    const [op, dtype] of [["div", "int32"], ["floor", "int64"], ["add", "bool"], [
      "shl",
      "float32",
    ]] as const
  ) {
    const kernel = mapKernel([dtype], dtype, {
      op,
      dtype,
      args: op === "floor" ? [load(0, dtype)] : [load(0, dtype), load(0, dtype)],
    });
    const arrays = [POINTS[dtype], POINTS[dtype]];
    assertThrows(() => rendered(kernel, dense(4, 2), arrays), InternalError, "no such op");
  }
});
