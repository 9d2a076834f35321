import { assert, assertEquals, assertNotStrictEquals, assertThrows } from "jsr:@std/assert@1";
import fc from "npm:fast-check@4";
import { convert, toNumbers } from "./convert.ts";
import { type DataArray, type DType, DTYPE_NAMES, DTYPES } from "./dtype.ts";
import { ShapeError } from "./errors.ts";
import { castFn, type Value } from "./ir/interp_scalar.ts";
import { computeType } from "./ir/expr.ts";

function storage(dtype: DType, values: readonly number[]): DataArray {
  return convert(Float64Array.from(values), "float64", dtype);
}

Deno.test("every pair of dtypes keeps small whole numbers", () => {
  for (const from of DTYPE_NAMES) {
    for (const to of DTYPE_NAMES) {
      const values = [0, 1, 1, 0];
      const out = convert(storage(from, values), from, to);
      assertEquals(out.constructor, DTYPES[to].array, `${from} to ${to}`);
      assertEquals(out, storage(to, values), `${from} to ${to}`);
    }
  }
});

Deno.test("the result is always a copy", () => {
  const data = Float32Array.of(1, 2);
  assertNotStrictEquals(convert(data, "float32", "float32"), data);
});

Deno.test("floats lose their fraction and saturate as integers; NaN gives 0", () => {
  const values = [1.9, -1.9, 300, -300, 1e12, -1e12, Infinity, -Infinity, NaN, -0];
  assertEquals(storage("uint8", values), Uint8Array.of(1, 0, 255, 0, 255, 0, 255, 0, 0, 0));
  assertEquals(storage("int8", values), Int8Array.of(1, -1, 127, -128, 127, -128, 127, -128, 0, 0));
  const [low, high] = [-(2 ** 31), 2 ** 31 - 1];
  assertEquals(
    storage("int32", values),
    Int32Array.of(1, -1, 300, -300, high, low, high, low, 0, 0),
  );
  const [least, most] = [-(2n ** 63n), 2n ** 63n - 1n];
  assertEquals(
    storage("int64", [...values.slice(0, 4), 1e30, -1e30, Infinity, -Infinity, NaN]),
    BigInt64Array.of(1n, -1n, 300n, -300n, most, least, most, least, 0n),
  );
});

Deno.test("integers wrap in narrower integers", () => {
  const data = BigInt64Array.of(2n ** 40n + 257n, -1n, 128n);
  assertEquals(convert(data, "int64", "int8"), Int8Array.of(1, -1, -128));
  assertEquals(convert(data, "int64", "uint8"), Uint8Array.of(1, 255, 128));
  assertEquals(convert(data, "int64", "int32"), Int32Array.of(257, -1, 128));
  assertEquals(convert(Int32Array.of(70000, -1), "int32", "int16"), Int16Array.of(4464, -1));
  assertEquals(convert(Int8Array.of(-1), "int8", "int64"), BigInt64Array.of(-1n));
  assertEquals(convert(Uint8Array.of(255), "uint8", "int8"), Int8Array.of(-1));
});

Deno.test("everything but 0 is true, NaN and subnormals too", () => {
  const values = [0, -0, NaN, 1e-300, -2];
  assertEquals(storage("bool", values), Uint8Array.of(0, 0, 1, 1, 1));
  const halves = storage("float16", [0, -0, NaN, 6e-8, -2]);
  assertEquals(convert(halves, "float16", "bool"), Uint8Array.of(0, 0, 1, 1, 1));
  assertEquals(
    convert(Float32Array.of(0, 0, 0, 2, 1, 0), "complex64", "bool"),
    Uint8Array.of(0, 1, 1),
  );
});

Deno.test("16-bit floats are rounded once from float64 and int64", () => {
  const tie = 1 + 2 ** -11 + 2 ** -40;
  assertEquals(convert(Float64Array.of(tie), "float64", "float16"), Uint16Array.of(0x3c01));
  const brain = 1 + 2 ** -8 + 2 ** -40;
  assertEquals(convert(Float64Array.of(brain), "float64", "bfloat16"), Uint16Array.of(0x3f81));
  const big = BigInt64Array.of(2n ** 60n + 2n ** 36n + 1n);
  assertEquals(convert(big, "int64", "float32"), Float32Array.of(2 ** 60 + 2 ** 37));
  const bigger = BigInt64Array.of(2n ** 60n + 2n ** 52n + 1n, -(2n ** 60n + 2n ** 52n));
  assertEquals(convert(bigger, "int64", "bfloat16"), Uint16Array.of(0x5d81, 0xdd80));
});

Deno.test("complex and real", () => {
  const pairs = Float32Array.of(1.5, 2, -3, 0);
  assertEquals(convert(pairs, "complex64", "float64"), Float64Array.of(1.5, -3));
  assertEquals(convert(pairs, "complex64", "int8"), Int8Array.of(1, -3));
  assertEquals(convert(pairs, "complex64", "complex128"), Float64Array.of(1.5, 2, -3, 0));
  assertEquals(convert(Int8Array.of(5), "int8", "complex64"), Float32Array.of(5, 0));
  assertThrows(() => convert(Float32Array.of(1), "complex64", "float32"), ShapeError, "pairs");
});

Deno.test("toNumbers decodes bits and leaves the rest alone", () => {
  assertEquals(toNumbers(Uint16Array.of(0x3c00), "float16"), Float32Array.of(1));
  assertEquals(toNumbers(Uint16Array.of(0x3f80), "bfloat16"), Float32Array.of(1));
  assertEquals(toNumbers(BigInt64Array.of(7n), "int64"), Float64Array.of(7));
  const bytes = Int8Array.of(-1);
  assert(toNumbers(bytes, "int8") === bytes);
});

Deno.test("host conversion between wide dtypes is the conversion of kernels", () => {
  const types: readonly DType[] = ["bool", "int32", "int64", "float32", "float64"];
  fc.assert(fc.property(
    fc.constantFrom(...types),
    fc.constantFrom(...types),
    fc.double(),
    (from, to, x) => {
      const data = storage(from, [x]);
      const [want] = [castFn(computeType(from), computeType(to))(data[0] as Value)];
      const [got] = convert(data, from, to);
      assertEquals(got, want, `${data[0]} from ${from} to ${to}`);
    },
  ));
});
