import { assert, assertEquals, assertThrows } from "jsr:@std/assert@1";
import fc from "npm:fast-check@4";
import { ShapeError } from "./errors.ts";
import {
  broadcastShapes,
  broadcastStrides,
  checkShape,
  contiguousStrides,
  inferReshape,
  isContiguous,
  normalizeAxes,
  normalizeAxis,
  reducedShape,
  reshapeStrides,
  sameShape,
  type Shape,
  sharesElements,
  showShape,
  sizeOf,
  tryBroadcast,
} from "./shape.ts";

const shapes = fc.array(fc.constantFrom(0, 1, 1, 2, 3, 4), { maxLength: 5 });

/** All index tuples in row-major order. */
function indexes(shape: Shape): number[][] {
  let out: number[][] = [[]];
  for (const n of shape) {
    out = out.flatMap((head) => Array.from({ length: n }, (_, i) => [...head, i]));
  }
  return out;
}

const position = (index: readonly number[], strides: Shape) =>
  index.reduce((n, x, i) => n + x * strides[i], 0);

Deno.test("row-major strides count the elements in order", () => {
  fc.assert(fc.property(shapes, (shape) => {
    const strides = contiguousStrides(shape);
    assertEquals(
      indexes(shape).map((i) => position(i, strides)),
      Array.from({ length: sizeOf(shape) }, (_, i) => i),
    );
    assert(isContiguous(shape, strides));
  }));
  assertEquals(contiguousStrides([2, 3, 4]), [12, 4, 1]);
  assertEquals([sizeOf([]), sizeOf([3, 0])], [1, 0]);
});

Deno.test("strides are row-major if and only if they count the elements in order", () => {
  const geometry = fc.integer({ min: 0, max: 4 }).chain((rank) =>
    fc.record({
      shape: fc.array(fc.constantFrom(0, 1, 2, 3), { minLength: rank, maxLength: rank }),
      strides: fc.array(fc.constantFrom(0, 1, 2, 3, 6, -1), { minLength: rank, maxLength: rank }),
    })
  );
  fc.assert(
    fc.property(geometry, ({ shape, strides }) => {
      const inOrder = indexes(shape).every((index, i) => position(index, strides) === i);
      assertEquals(isContiguous(shape, strides), inOrder);
    }),
    { numRuns: 500, seed: 1 },
  );
});

Deno.test("shapes broadcast from the last axis, sizes equal or 1", () => {
  assertEquals(tryBroadcast([2, 3], [3]), [2, 3]);
  assertEquals(tryBroadcast([2, 1], [1, 3]), [2, 3]);
  assertEquals(tryBroadcast([], [2, 0]), [2, 0]);
  assertEquals(tryBroadcast([1], [0]), [0]);
  assertEquals(tryBroadcast([2], [3]), null);
  assertEquals(tryBroadcast([0], [2]), null);
  assertEquals(broadcastShapes("add"), []);
  assertEquals(broadcastShapes("where", [2, 1, 1], [3, 1], [4]), [2, 3, 4]);
  assertThrows(
    () => broadcastShapes("add", [2, 3], [4]),
    ShapeError,
    "Cannot add [2, 3] with [4]: sizes must be equal or 1, counted from the last axis",
  );
});

Deno.test("broadcasting is symmetric, and its strides read what broadcasting means", () => {
  fc.assert(fc.property(shapes, shapes, (a, b) => {
    const to = tryBroadcast(a, b);
    assertEquals(to, tryBroadcast(b, a));
    if (to === null) return;
    const strides = broadcastStrides(a, contiguousStrides(a), to);
    const lead = to.length - a.length;
    for (const index of indexes(to)) {
      const own = index.slice(lead).map((x, i) => (a[i] === 1 ? 0 : x));
      assertEquals(position(index, strides), position(own, contiguousStrides(a)));
    }
  }));
});

Deno.test("axes may count from the end", () => {
  assertEquals([normalizeAxis("sum", -1, 3), normalizeAxis("sum", 0, 3)], [2, 0]);
  assertEquals(normalizeAxis("sum", -1, 0, true), 0);
  for (const axis of [3, -4, 0.5, NaN]) {
    assertThrows(
      () => normalizeAxis("sum", axis, 3),
      ShapeError,
      `Cannot sum over axis ${axis}: a tensor of rank 3 has axes -3 to 2`,
    );
  }
  assertThrows(() => normalizeAxis("sum", 0, 0), ShapeError, "has no axes");
});

Deno.test("axes of reductions are sorted and named once", () => {
  assertEquals(normalizeAxes("sum", undefined, 3), [0, 1, 2]);
  assertEquals(normalizeAxes("sum", [-1, 0], 3), [0, 2]);
  assertEquals(normalizeAxes("sum", [], 3), []);
  assertEquals(normalizeAxes("sum", -1, 0), []);
  assertEquals(normalizeAxes("sum", [0], 0), []);
  assertThrows(() => normalizeAxes("sum", [0, -3], 3), ShapeError, "axis 0 is named twice");
  assertEquals(reducedShape([2, 3, 4], [0, 2], false), [3]);
  assertEquals(reducedShape([2, 3, 4], [0, 2], true), [1, 3, 1]);
  assertEquals(reducedShape([2], [], false), [2]);
});

Deno.test("sizes are whole, not negative, and countable", () => {
  checkShape("zeros", [0, 3]);
  for (const shape of [[-1], [1.5], [NaN], [Infinity], ["3" as unknown as number]]) {
    assertThrows(() => checkShape("zeros", shape), ShapeError, "whole numbers of at least 0");
  }
  assertThrows(() => checkShape("zeros", [2 ** 30, 2 ** 30]), ShapeError, "more than 2^53");
  assertThrows(() => checkShape("zeros", [2 ** 40, 2 ** 40, 0]), ShapeError, "more than 2^53");
});

Deno.test("one size of a reshape may be left open", () => {
  assertEquals(inferReshape("reshape", [2, 6], [3, -1]), [3, 4]);
  assertEquals(inferReshape("reshape", [], [-1]), [1]);
  assertEquals(inferReshape("reshape", [0, 3], [-1, 3]), [0, 3]);
  assertEquals(inferReshape("reshape", [2, 0], [0]), [0]);
  const bad: [Shape, Shape, string][] = [
    [[6], [-1, -1], "only one size may be -1"],
    [[6], [4, -1], "6 elements do not divide by 4"],
    [[0], [0, -1], "0 elements do not divide by 0"],
    [[6], [2, 2], "element counts must match: got 6 and 4"],
    [[6], [-2, -3], "sizes must be whole numbers"],
    [[6], [-1, -2], "sizes must be whole numbers"],
    [[6], [0.5, -1], "sizes must be whole numbers"],
    [[6], [NaN, -1], "sizes must be whole numbers"],
  ];
  for (const [from, to, why] of bad) {
    assertThrows(() => inferReshape("reshape", from, to), ShapeError, why);
    assertThrows(
      () => inferReshape("reshape", from, to),
      ShapeError,
      `${showShape(from)} to ${showShape(to)}`,
    );
  }
});

/** Splits a product into factors, with ones thrown in. */
function factored(n: number, cuts: readonly number[]): number[] {
  const out: number[] = [];
  let rest = n;
  for (const c of cuts) {
    const f = [1, 2, 3, 4].filter((d) => rest % d === 0)[c % 4] ?? 1;
    out.push(f);
    rest /= f;
  }
  return [...out, rest];
}

Deno.test("a reshape is a view exactly when strides can say it, and then reads the same elements", () => {
  const size = fc.constantFrom(1, 2, 4, 6, 12, 24);
  const cuts = fc.array(fc.nat(3), { maxLength: 4 });
  const permutation = fc.array(fc.nat(100), { minLength: 5, maxLength: 5 });
  fc.assert(
    fc.property(size, cuts, cuts, permutation, fc.nat(2), (n, a, b, order, kind) => {
      const base = factored(n, a);
      let shape = base;
      let strides = contiguousStrides(base);
      if (kind === 1) {
        const perm = base.map((_, i) => i).sort((x, y) => order[x % 5] - order[y % 5]);
        strides = perm.map((i) => strides[i]);
        shape = perm.map((i) => base[i]);
      } else if (kind === 2) strides = strides.map((s) => 2 * s);
      const to = factored(n, b);
      const got = reshapeStrides(shape, strides, to);
      const read = indexes(shape).map((i) => position(i, strides));
      if (got !== null) assertEquals(indexes(to).map((i) => position(i, got)), read);
      else {
        // No strides at all read this order: each axis' stride would follow from the element one step along it.
        const steps = contiguousStrides(to);
        const only = to.map((m, i) => (m === 1 ? 0 : read[steps[i]] - read[0]));
        const reads = indexes(to).map((i) => read[0] + position(i, only));
        assert(!sameShape(reads, read), `${shape} / ${strides} to ${to} can be ${only}`);
      }
    }),
    { numRuns: 2000, seed: 1 },
  );
});

Deno.test("stretched and empty tensors reshape too", () => {
  assertEquals(reshapeStrides([2, 3], [0, 0], [6]), [0]);
  assertEquals(reshapeStrides([2, 3], [0, 1], [6]), null);
  assertEquals(reshapeStrides([0, 3], [7, 9], [3, 0]), [1, 1]);
  assertEquals(reshapeStrides([], [], [1, 1]), [1, 1]);
  assertEquals(reshapeStrides([1, 1], [5, 5], []), []);
});

Deno.test("strides that lead two elements to one place are found", () => {
  const geometry = fc.array(
    fc.record({ size: fc.constantFrom(0, 1, 2, 3, 4), stride: fc.integer({ min: -13, max: 13 }) }),
    { maxLength: 4 },
  );
  fc.assert(
    fc.property(geometry, (axes) => {
      const shape = axes.map((a) => a.size);
      const strides = axes.map((a) => a.stride);
      const places = indexes(shape).map((i) => position(i, strides));
      assertEquals(sharesElements(shape, strides), new Set(places).size < places.length);
    }),
    { numRuns: 3000, seed: 1 },
  );
});
