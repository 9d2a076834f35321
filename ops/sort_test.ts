// Sorting against JavaScript's own sort, for every dtype and for lengths on both sides of each method.
import { assertEquals, assertThrows } from "jsr:@std/assert@1";
import fc from "npm:fast-check@4";
import {
  argsort,
  type DType,
  searchSorted,
  ShapeError,
  sort,
  tensor,
  topk,
  unique,
  ValueError,
  zeros,
} from "../mod.ts";

/** NaN after all numbers, -0 equal to 0. */
function compare(a: number | bigint, b: number | bigint): number {
  if (Number.isNaN(a)) return Number.isNaN(b) ? 0 : 1;
  if (Number.isNaN(b)) return -1;
  return a < b ? -1 : a > b ? 1 : 0;
}

function expectedOrder(values: ArrayLike<number | bigint>, descending: boolean): number[] {
  const order = Array.from(values, (_, i) => i);
  const sign = descending ? -1 : 1;
  return order.sort((i, j) => sign * compare(values[i], values[j]) || i - j);
}

const special = fc.constantFrom(NaN, Infinity, -Infinity, 0, -0, 1, -1, 1e-45, 3e38);

Deno.test("any row sorts as JavaScript sorts it, stably, either way", async () => {
  const dtypes: [DType, fc.Arbitrary<number>][] = [
    ["float32", fc.oneof(special, fc.float())],
    ["float64", fc.oneof(special, fc.double())],
    ["float16", fc.oneof(special, fc.integer({ min: -9, max: 9 }))],
    ["int32", fc.integer()],
    ["int64", fc.maxSafeInteger()],
    ["int8", fc.integer({ min: -128, max: 127 })],
    ["uint8", fc.nat(255)],
    ["bool", fc.nat(1)],
  ];
  for (const [dtype, value] of dtypes) {
    const rows = fc.array(value, { minLength: 1, maxLength: 130 });
    await fc.assert(
      fc.asyncProperty(rows, fc.boolean(), async (row, descending) => {
        const x = tensor(dtype === "bool" ? row.map(Boolean) : row, { dtype });
        const held = await x.data();
        const order = expectedOrder(held, descending);
        const [values, indices] = sort(x, 0, { descending });
        assertEquals([...await indices.data()], order, dtype);
        assertEquals([...await values.data()], order.map((i) => held[i]), dtype);
      }),
      { numRuns: 40, seed: 1 },
    );
  }
});

Deno.test("long rows sort too", async () => {
  for (const n of [47, 48, 2999, 3000, 20_000]) {
    const values = Float32Array.from({ length: n }, (_, i) => Math.sin(i * i) * (i % 7));
    assertEquals([...await argsort(tensor(values)).data()], expectedOrder(values, false));
    const wide = BigInt64Array.from(values, (v) => BigInt(Math.trunc(v * 2 ** 50)));
    assertEquals([...await argsort(tensor(wide)).data()], expectedOrder(wide, false));
  }
});

Deno.test("topk is the beginning of the order, whichever way it is found", async () => {
  const values = Float32Array.from({ length: 300 }, (_, i) => (i * 37) % 50);
  for (const k of [0, 1, 5, 18, 19, 300]) {
    for (const largest of [true, false]) {
      const [best, indices] = topk(tensor(values), k, { largest });
      const order = expectedOrder(values, largest).slice(0, k);
      assertEquals([...await indices.data()], order);
      assertEquals([...await best.data()], order.map((i) => values[i]));
    }
  }
  assertThrows(
    () => topk(zeros([2, 3]), 4),
    ValueError,
    "Cannot topk 4 of [2, 3] along axis 1: k must be a whole number from 0 to 3",
  );
});

Deno.test("a scalar sorts", async () => {
  const [value, index] = sort(tensor(3));
  assertEquals([await value.toArray(), await index.toArray()], [3, 0]);
});

Deno.test("unique keeps one of each, NaN too", async () => {
  const x = tensor([2, NaN, -0, 2, NaN, 0, -Infinity]);
  assertEquals(await (await unique(x)).toArray(), [-Infinity, -0, 2, NaN]);
  const half = await unique(tensor([1.5, 1, 1.5], { dtype: "float16" }));
  assertEquals([half.dtype, await half.toArray()], ["float16", [1, 1.5]]);
});

Deno.test("searchSorted needs matching rows", () => {
  assertThrows(
    () => searchSorted(zeros([2, 3]), zeros([3, 3])),
    ShapeError,
    "Cannot searchSorted [2, 3] for values of shape [3, 3]: the sorted tensor must have rank 1, or the " +
      "values' shape on all axes but the last",
  );
});
