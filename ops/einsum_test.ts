import { assertEquals, assertThrows } from "jsr:@std/assert@1";
import fc from "npm:fast-check@4";
import { ShapeError, ValueError } from "../core/errors.ts";
import { einsum, tensor, tensordot, zeros } from "../mod.ts";
import {
  assertGrid,
  at,
  coordsOf,
  count,
  type Grid,
  grid,
  noise,
  toTensor,
} from "../tests/grid.ts";

/** The sum by its definition: over all values of all letters. */
function naive(terms: readonly string[], output: string, xs: readonly Grid[]): Grid {
  const sizes = new Map<string, number>();
  terms.forEach((t, i) => [...t].forEach((c, axis) => sizes.set(c, xs[i].shape[axis])));
  const inner = [...sizes.keys()].filter((c) => !output.includes(c));
  const range = inner.map((c) => sizes.get(c)!);
  return grid([...output].map((c) => sizes.get(c)!), (coords) => {
    let sum = 0;
    for (let i = 0; i < count(range); i++) {
      const value = new Map([...output].map((c, axis) => [c, coords[axis]]));
      coordsOf(range, i).forEach((v, axis) => value.set(inner[axis], v));
      sum += xs.reduce((p, x, j) => p * at(x, [...terms[j]].map((c) => value.get(c)!)), 1);
    }
    return sum;
  });
}

Deno.test("einsum: any terms, as the definition says", () => {
  const sizes: Record<string, number> = { a: 2, b: 3, c: 4, d: 2 };
  const term = fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 3 }).map((t) =>
    t.join("")
  );
  const spec = fc.array(term, { minLength: 1, maxLength: 4 }).chain((terms) => {
    const letters = [...new Set(terms.join(""))];
    return fc.tuple(fc.constant(terms), fc.shuffledSubarray(letters).map((o) => o.join("")));
  });
  fc.assert(
    fc.property(spec, ([terms, output]) => {
      const xs = terms.map((t, i) => noise([...t].map((c) => sizes[c]), i + 1));
      const out = einsum(`${terms.join(",")}->${output}`, ...xs.map((x) => toTensor(x, "float64")));
      assertGrid(out, naive(terms, output, xs), 1e-12);
    }),
    { numRuns: 80, seed: 1 },
  );
});

Deno.test("einsum: nine tensors go from left to right", async () => {
  const x = tensor([[1, 1], [0, 1]]);
  const spec = "ab,bc,cd,de,ef,fg,gh,hi,ij->aj";
  assertEquals(await einsum(spec, ...new Array(9).fill(x)).toArray(), [[1, 9], [0, 1]]);
});

Deno.test("einsum: an axis of size 1 stretches", () => {
  const [a, b] = [noise([1, 3]), noise([3, 4], 2)];
  const wide = grid([2, 3], ([, j]) => at(a, [0, j]));
  const out = einsum("ij,jk->ik", toTensor(a).expand([2, 3]), toTensor(b));
  assertGrid(out, naive(["ij", "jk"], "ik", [wide, b]));
  const ones = noise([2, 1], 4);
  const stretched = grid([2, 3], ([i]) => at(ones, [i, 0]));
  assertGrid(
    einsum("ij,jk->ik", toTensor(ones), toTensor(b)),
    naive(["ij", "jk"], "ik", [stretched, b]),
  );
});

Deno.test("einsum: what goes wrong is said", () => {
  const x = zeros([2, 3]);
  assertThrows(
    () => einsum("ij,jk->ik", x, zeros([4, 5])),
    ShapeError,
    `Cannot einsum "ij,jk->ik" with [2, 3], [4, 5]: sizes of "j" must match: got 3 and 4`,
  );
  assertThrows(
    () => einsum("ij,jk", x),
    ValueError,
    `Cannot einsum "ij,jk" with 1 tensors: the spec has 2 terms`,
  );
  assertThrows(
    () => einsum("ijk->i", x),
    ShapeError,
    "operand 0 of shape [2, 3] must have 3 axes: got 2",
  );
  assertThrows(() => einsum("ij->ik", x), ValueError, `"k" of the output is in no operand`);
  assertThrows(() => einsum("ij->ii", x), ValueError, `the output names "i" twice`);
  assertThrows(() => einsum("i.j->i", x), ValueError, `terms are letters and at most one "..."`);
});

Deno.test("tensordot: what goes wrong is said", () => {
  assertThrows(
    () => tensordot(zeros([2, 3]), zeros([4, 3]), 1),
    ShapeError,
    "Cannot tensordot [2, 3] with [4, 3] over axes [1] and [0]: sizes must match: got 3 and 4",
  );
  assertThrows(
    () => tensordot(zeros([2, 3]), zeros([4, 3]), [[0, 1], [1]]),
    ShapeError,
    "both sides must name as many axes, each once",
  );
  assertThrows(
    () => tensordot(zeros([2]), zeros([2]), 2),
    ShapeError,
    "it must be a whole number from 0 to 1",
  );
});
