import { assertEquals, assertThrows } from "jsr:@std/assert@1";
import fc from "npm:fast-check@4";
import { DTypeError, IndexError, ShapeError, ValueError } from "../core/errors.ts";
import { grad, nn, seed, tensor, zeros } from "../mod.ts";
import { assertGrid, at, grid, noise, toTensor } from "../tests/grid.ts";

const { embedding, scaledDotProductAttention: attend } = nn.functional;

Deno.test("attention: any sizes and masks, as the definition says", () => {
  const size = fc.integer({ min: 1, max: 5 });
  fc.assert(
    fc.property(size, size, size, fc.boolean(), fc.boolean(), (t, s, d, isCausal, masked) => {
      const [q, k, v] = [noise([1, 2, t, d], 1), noise([1, 2, s, d], 2), noise([1, 2, s, 3], 3)];
      const mask = grid([t, s], (_, i) => Number(i % 3 !== 1));
      const allowed = (i: number, j: number) =>
        (!isCausal || j <= i) && (!masked || at(mask, [i, j]) === 1);
      const expected = grid([1, 2, t, 3], ([b, h, i, c]) => {
        let [sum, total] = [0, 0];
        for (let j = 0; j < s; j++) {
          if (!allowed(i, j)) continue;
          let score = 0;
          for (let e = 0; e < d; e++) score += at(q, [b, h, i, e]) * at(k, [b, h, j, e]);
          const weight = Math.exp(score / Math.sqrt(d));
          sum += weight * at(v, [b, h, j, c]);
          total += weight;
        }
        return total === 0 ? 0 : sum / total;
      });
      const attnMask = masked ? toTensor(mask).cast("bool") : undefined;
      const out = attend(toTensor(q), toTensor(k), toTensor(v), { isCausal, attnMask });
      assertGrid(out, expected);
    }),
    { numRuns: 40, seed: 1 },
  );
});

Deno.test("attention: a row that attends to nothing has gradient 0, not NaN", async () => {
  const q = tensor([[[[1, 2], [3, 4]]]], { requiresGrad: true });
  const attnMask = tensor([[false, false], [true, false]]);
  const y = attend(q, q, q, { attnMask });
  const [g] = grad(y.sum(), q);
  assertEquals(await y.toArray(), [[[[0, 0], [1, 2]]]]);
  assertEquals(await g.toArray(), [[[[1, 1], [0, 0]]]]);
});

Deno.test("attention: dropout drops whole weights and scales the others up", async () => {
  seed(3);
  const q = zeros([1, 1, 64, 2]);
  const eye = tensor(Array.from({ length: 4 }, (_, i) => [0, 1, 2, 3].map((j) => Number(i === j))));
  const y = attend(q, zeros([1, 1, 4, 2]), eye.reshape([1, 1, 4, 4]), { dropoutP: 0.5 });
  const weights = new Set((await y.data()) as Float32Array);
  assertEquals([...weights].sort(), [0, 0.5]);
});

Deno.test("attention: what goes wrong is said", () => {
  const q = zeros([1, 2, 3, 4]);
  assertThrows(
    () => attend(q, zeros([1, 2, 3, 5]), q),
    ShapeError,
    "Cannot scaledDotProductAttention with q [1, 2, 3, 4], key [1, 2, 3, 5] and value [1, 2, 3, 4]: " +
      "queries and keys must have one size: got 4 and 5",
  );
  assertThrows(
    () => attend(q, q, zeros([1, 2, 6, 4])),
    ShapeError,
    "there must be as many keys as values: got 3 and 6",
  );
  assertThrows(
    () => attend(q, q, q, { attnMask: zeros([4, 3]) }),
    ShapeError,
    "Cannot scaledDotProductAttention with attnMask [4, 3]: it must broadcast to the scores, [1, 2, 3, 3]",
  );
  assertThrows(
    () => attend(q, q, q, { attnMask: zeros([3, 3], { dtype: "int32" }) }),
    DTypeError,
    "Cannot scaledDotProductAttention with a int32 mask: it must be bool (true attends) or float",
  );
  assertThrows(
    () => attend(q, q, q, { dropoutP: 2 }),
    ValueError,
    "Cannot scaledDotProductAttention with dropoutP 2: it must be from 0 to 1",
  );
});

Deno.test("embedding: what goes wrong is said", () => {
  const table = zeros([3, 2]);
  const ids = (...values: number[]) => tensor(values, { dtype: "int32" });
  assertThrows(
    () => embedding(ids(0, 3), table),
    IndexError,
    "Cannot embedding at index 3: indexes must lie in 0 to 2 for size 3",
  );
  assertThrows(() => embedding(ids(-1), table), IndexError, "Cannot embedding at index -1");
  assertThrows(
    () => embedding(tensor([0.5]), table),
    DTypeError,
    "Cannot embedding with a float32 index: an index must be an integer tensor",
  );
  assertThrows(
    () => embedding(ids(0), table, { paddingIdx: 3 }),
    IndexError,
    "Cannot embedding with paddingIdx 3: it must lie in -3 to 2 for 3 rows",
  );
  assertThrows(
    () => embedding(ids(0), zeros([3])),
    ShapeError,
    "Cannot embedding with weight [3]: the table must be [rows, size]: got rank 1",
  );
});
