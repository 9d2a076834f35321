import { assert, assertEquals, assertThrows } from "jsr:@std/assert@1";
import {
  arange,
  diag,
  type DType,
  DTypeError,
  empty,
  emptyLike,
  eye,
  full,
  fullLike,
  GradError,
  linspace,
  logspace,
  meshgrid,
  onesLike,
  PlaceError,
  setDefaultDtype,
  ShapeError,
  type Tensor,
  tensor,
  tril,
  triu,
  ValueError,
  zeros,
  zerosLike,
} from "../mod.ts";

const ALL: readonly DType[] = [
  "bool",
  "uint8",
  "int8",
  "int16",
  "int32",
  "int64",
  "float16",
  "bfloat16",
  "float32",
  "float64",
];

function values(x: Tensor): number[] {
  return Array.from(x.dataSync() as ArrayLike<number | bigint>, Number);
}

Deno.test("tensor: the dtype follows the data", () => {
  assertEquals(tensor(1).dtype, "float32");
  assertEquals(tensor([1, 2]).dtype, "float32");
  assertEquals(tensor([true]).dtype, "bool");
  assertEquals(tensor(1n).dtype, "int64");
  assertEquals(tensor(Float64Array.of(1)).dtype, "float64");
  assertEquals(tensor([1], { dtype: "int32" }).dtype, "int32");
  setDefaultDtype("float64");
  try {
    assertEquals([tensor(0.1).dtype, values(tensor(0.1))], ["float64", [0.1]]);
    assertEquals(tensor(Float32Array.of(1)).dtype, "float32");
  } finally {
    setDefaultDtype("float32");
  }
});

Deno.test("tensor: every dtype takes numbers, rounded once", () => {
  for (const dtype of ALL) {
    const x = tensor([[0, 1], [1, 0]], { dtype });
    assertEquals([x.dtype, x.shape, values(x)], [dtype, [2, 2], [0, 1, 1, 0]]);
  }
  // Through float32 this would be a tie, and go down.
  assertEquals(values(tensor(1 + 2 ** -11 + 2 ** -40, { dtype: "float16" })), [1 + 2 ** -10]);
  assertEquals(values(tensor([1.9, 300], { dtype: "int8" })), [1, 127]);
});

Deno.test("tensor: its memory is its own", () => {
  const data = Float32Array.of(1, 2);
  const x = tensor(data);
  data[0] = 9;
  assertEquals(values(x), [1, 2]);
  const view = new Float32Array(Float32Array.of(7, 8, 9).buffer, 4, 2);
  assertEquals(values(tensor(view)), [8, 9]);
});

Deno.test("tensor: empty and deep ones", () => {
  assertEquals(tensor([]).shape, [0]);
  assertEquals(tensor([[], []]).shape, [2, 0]);
  assertEquals(tensor([[[[5]]]]).shape, [1, 1, 1, 1]);
  assertEquals(tensor([Int8Array.of(1, 2), Int8Array.of(3, 4)]).shape, [2, 2]);
});

Deno.test("requiresGrad makes a leaf, of floats only", () => {
  for (const x of [tensor([1], { requiresGrad: true }), zeros([2], { requiresGrad: true })]) {
    assert(x.requiresGrad && x.isLeaf);
  }
  assert(!zeros([2]).requiresGrad);
  assertThrows(() => tensor([1], { dtype: "int32", requiresGrad: true }), GradError);
});

Deno.test("places are taken by name, and wrong ones refused", () => {
  assertEquals(zeros([2], { place: "ref" }).place.name, "ref");
  assertEquals(tensor([1], { place: "ref" }).place.name, "ref");
  assertEquals(zerosLike(tensor([1], { place: "ref" })).place.name, "ref");
  assertEquals(empty([2], { place: "ref" }).place.name, "ref");
  assertThrows(() => zeros([2], { place: "moon:1" }), PlaceError);
});

Deno.test("filled tensors of every dtype", () => {
  for (const dtype of ALL) {
    assertEquals(values(full([2], 1, { dtype })), [1, 1]);
    assertEquals(values(zeros([1, 2], { dtype })), [0, 0]);
    assertEquals(full([0], 1, { dtype }).dtype, dtype);
    assertEquals(values(onesLike(zeros([2], { dtype }))), [1, 1]);
  }
  assertEquals(values(zeros([2], { dtype: "complex64" })), [0, 0, 0, 0]);
  assertEquals(values(full([1], 2, { dtype: "complex128" })), [2, 0]);
  const big = full([], 2n ** 62n + 1n, { dtype: "int64" }).dataSync();
  assertEquals(big, BigInt64Array.of(2n ** 62n + 1n));
});

Deno.test("full refuses what an integer dtype cannot hold", () => {
  assertThrows(() => full([1], 300, { dtype: "int8" }), ValueError, "-128 to 127");
  assertThrows(() => full([1], -1, { dtype: "uint8" }), ValueError);
  assertThrows(() => full([1], NaN, { dtype: "int32" }), ValueError);
  assertThrows(() => full([1], 2 ** 63, { dtype: "int64" }), ValueError);
  assertEquals(values(full([1], 2.9, { dtype: "int32" })), [2]);
});

Deno.test("like: options win over the other tensor", () => {
  const x = tensor([1, 2], { dtype: "int32" });
  assertEquals(zerosLike(x).dtype, "int32");
  assertEquals(zerosLike(x, { dtype: "float64" }).dtype, "float64");
  assertEquals(zerosLike(x, { dtype: undefined }).dtype, "int32");
  assertEquals(values(fullLike(x, tensor(3))), [3, 3]);
  assertEquals([emptyLike(x).shape, emptyLike(x).dtype], [[2], "int32"]);
});

Deno.test("arange: dtypes, directions, ends", () => {
  assertEquals(arange(3).dtype, "int32");
  assertEquals(arange(3n).dtype, "int64");
  assertEquals(arange(0, 1, { step: 0.5 }).dtype, "float32");
  assertEquals(values(arange(2, 8, { step: 3 })), [2, 5]);
  assertEquals(values(arange(5, 0, { step: -2 })), [5, 3, 1]);
  assertEquals(arange(5, 0).shape, [0]);
  assertEquals(values(arange(0, 1, { step: 0.1 })).length, 10);
  assertEquals(values(arange(-3, 3, { dtype: "int8" })), [-3, -2, -1, 0, 1, 2]);
  assertEquals(values(arange(4, undefined, { dtype: "float64" })), [0, 1, 2, 3]);
  const big = arange(2n ** 60n, 2n ** 60n + 2n).dataSync();
  assertEquals(big, BigInt64Array.of(2n ** 60n, 2n ** 60n + 1n));
  assertThrows(() => arange(0, 1, { step: 0 }), ValueError, "must not be 0");
  assertThrows(() => arange(Infinity), ValueError, "finite");
  assertThrows(() => arange(0, 1, { step: 0.5, dtype: "int32" }), ValueError, "whole");
  assertThrows(() => arange(2, undefined, { dtype: "bool" }), DTypeError);
});

Deno.test("linspace and logspace: both ends are exact", () => {
  for (const n of [2, 3, 10, 101]) {
    const x = values(linspace(0.1, 0.7, n));
    assertEquals([x.length, x[0], x[n - 1]], [n, Math.fround(0.1), Math.fround(0.7)]);
  }
  assertEquals(values(linspace(5, 9, 1)), [5]);
  assertEquals(linspace(0, 1, 0).shape, [0]);
  assertEquals(values(linspace(0, 10, 5, { dtype: "int32" })), [0, 2, 5, 7, 10]);
  assertEquals(values(logspace(0, 3, 4, { base: 2, dtype: "int64" })), [1, 2, 4, 8]);
  assertThrows(() => linspace(0, 1, -1), ShapeError);
  assertThrows(() => linspace(0, 1, 1.5), ShapeError);
});

Deno.test("triangles and diagonals", () => {
  assertEquals(values(eye(2, 3, { dtype: "bool" })), [1, 0, 0, 0, 1, 0]);
  const x = arange(1, 7).reshape([2, 3]);
  assertEquals(values(tril(x)), [1, 0, 0, 4, 5, 0]);
  assertEquals(values(triu(x, 1)), [0, 2, 3, 0, 0, 6]);
  assertEquals(tril(x).dtype, "int32");
  assertEquals(values(tril(tensor([[NaN, NaN], [1, NaN]]), -1)), [0, 0, 1, 0]);
  assertEquals(values(diag(tensor([1, 2]), -1)), [0, 0, 0, 1, 0, 0, 0, 2, 0]);
  assertEquals(values(diag(x, 1)), [2, 6]);
  assertEquals(values(diag(tensor([]), 2)), [0, 0, 0, 0]);
  assertThrows(() => tril(tensor([1])), ShapeError, "two axes");
  assertThrows(() => diag(tensor([[[1]]])), ShapeError, "vector or a matrix");
});

Deno.test("meshgrid in both orders", () => {
  const a = tensor([1, 2]);
  const b = tensor([5, 6, 7]);
  assertEquals(meshgrid([a, b]).map((t) => t.shape), [[2, 3], [2, 3]]);
  const [x, y] = meshgrid([a, b], { indexing: "xy" });
  assertEquals([x.shape, values(x.add(0))], [[3, 2], [1, 2, 1, 2, 1, 2]]);
  assertEquals(values(y.add(0)), [5, 5, 6, 6, 7, 7]);
  assertEquals(meshgrid([tensor(3), a])[0].shape, [1, 2]);
  assertThrows(() => meshgrid([zeros([2, 2])]), ShapeError);
  assertThrows(() => meshgrid([a], { indexing: "yx" as "xy" }), ValueError);
});

Deno.test("wrong dtypes and shapes are refused", () => {
  assertThrows(() => zeros([2], { dtype: "float8" as DType }), DTypeError, "one of");
  assertThrows(() => zeros([-1]), ShapeError);
  assertThrows(() => zeros([1.5]), ShapeError);
  assertThrows(() => eye(2, 2, { dtype: "complex64" }), DTypeError);
});
