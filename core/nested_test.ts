import { assertEquals, assertThrows } from "jsr:@std/assert@1";
import { DTypeError, ShapeError, ValueError } from "./errors.ts";
import { flatten, type TensorLike } from "./nested.ts";

Deno.test("plain numbers come in full precision, to be converted once", () => {
  assertEquals(flatten(0.1), {
    data: Float64Array.of(0.1),
    shape: [],
    dtype: "float64",
    plain: true,
  });
  assertEquals(flatten([[1, 2, 3], [4, 5, 6]]).shape, [2, 3]);
  assertEquals(flatten([[], []]).shape, [2, 0]);
  assertEquals(flatten([]).shape, [0]);
  assertEquals(flatten([[[1]], [[2]]]).shape, [2, 1, 1]);
});

Deno.test("booleans are bool, bigints int64; booleans among numbers are 0 and 1", () => {
  assertEquals(flatten([true, false]).dtype, "bool");
  assertEquals(flatten(5n), {
    data: BigInt64Array.of(5n),
    shape: [],
    dtype: "int64",
    plain: false,
  });
  assertEquals(flatten([true, 2]).data, Float64Array.of(1, 2));
});

Deno.test("typed arrays keep what they hold, or widen to what there is", () => {
  const cases: [TensorLike, string][] = [
    [Float32Array.of(1), "float32"],
    [Float64Array.of(1), "float64"],
    [Int8Array.of(1), "int8"],
    [Uint8Array.of(1), "uint8"],
    [Uint8ClampedArray.of(1), "uint8"],
    [Int16Array.of(1), "int16"],
    [Uint16Array.of(1), "int32"],
    [Int32Array.of(1), "int32"],
    [Uint32Array.of(1), "int64"],
    [BigInt64Array.of(1n), "int64"],
    [BigUint64Array.of(1n), "int64"],
    [new Float16Array([1]), "float16"],
  ];
  for (const [data, dtype] of cases) {
    const flat = flatten(data);
    assertEquals([flat.dtype, flat.shape, flat.plain], [dtype, [1], false]);
  }
  assertEquals(flatten(Uint16Array.of(65535)).data, Int32Array.of(65535));
  assertEquals(flatten(Uint32Array.of(4294967295)).data, BigInt64Array.of(4294967295n));
  assertEquals(flatten(new Float16Array([0.5])).data, Uint16Array.of(0x3800));
});

Deno.test("rows may be typed arrays of one kind", () => {
  assertEquals(flatten([Int8Array.of(1, 2), Int8Array.of(3, 4)]), {
    data: Int8Array.of(1, 2, 3, 4),
    shape: [2, 2],
    dtype: "int8",
    plain: false,
  });
  const mixed: TensorLike = [Int8Array.of(1), Int16Array.of(1)];
  assertThrows(() => flatten(mixed), DTypeError, "got int8 and int16");
  assertThrows(() => flatten([Int8Array.of(1), [2]]), DTypeError, "plain arrays");
});

Deno.test("a ragged array is named with its place", () => {
  assertThrows(
    () => flatten([[1, 2], [3]]),
    ShapeError,
    "element [1] has 1 elements, but element [0] is an array of 2 elements",
  );
  assertThrows(
    () => flatten([1, [2]]),
    ShapeError,
    "element [1] has 1 elements, but element [0] is a number",
  );
  assertThrows(() => flatten([[1], 2]), ShapeError, "element [1] is the number 2");
  assertThrows(() => flatten([[[1], [2]], [[3], [4, 5]]]), ShapeError, "element [1][1] has 2");
  assertThrows(() => flatten([[[1]], [Int8Array.of(1)], [[1]]]), DTypeError, "plain arrays");
});

Deno.test("what is no number is refused with its place", () => {
  const bad = (x: unknown) => () => flatten(x as TensorLike);
  assertThrows(bad([1, "2"]), ValueError, 'element [1] is the string "2"');
  assertThrows(bad([[1, null]]), ValueError, "element [0][1] is null");
  assertThrows(bad(new Array(2)), ValueError, "element [0] is undefined");
  assertThrows(bad({}), ValueError, "the value is a value of kind Object");
  assertThrows(bad(new DataView(new ArrayBuffer(8))), DTypeError, "DataView");
});

Deno.test("bigints are not mixed with numbers, and fit int64", () => {
  assertThrows(() => flatten([1n, 2]), DTypeError, "bigints mixed");
  assertThrows(() => flatten([2n ** 63n]), ValueError, "exceeds int64");
  assertThrows(() => flatten(BigUint64Array.of(2n ** 63n)), ValueError, "element 0");
  assertEquals(flatten([-(2n ** 63n)]).data, BigInt64Array.of(-(2n ** 63n)));
});

Deno.test("arrays that contain themselves, or lie very deep, are refused", () => {
  const circle: unknown[] = [];
  circle.push(circle);
  let deep: unknown = 1;
  for (let i = 0; i < 100_000; i++) deep = [deep];
  for (const data of [circle, [[circle]], deep]) {
    assertThrows(
      () => flatten(data as number[]),
      ShapeError,
      "Cannot tensor: arrays are nested more than 256 deep",
    );
  }
});
