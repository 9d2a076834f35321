import { assertEquals, assertThrows } from "jsr:@std/assert@1";
import fc from "npm:fast-check@4";
import { ShapeError, ValueError } from "../core/errors.ts";
import { nn, tensor, zeros } from "../mod.ts";
import { assertGrid, at, type Grid, grid, noise, toTensor } from "../tests/grid.ts";

const { adaptiveAvgPool2d, adaptiveMaxPool2d, avgPool2d, maxPool2d } = nn.functional;

/** Ends of one window, from the first element to past the last, inside the image. */
type Window = (i: number) => readonly [number, number];

function pooled(
  x: Grid,
  [rows, columns]: readonly [number, number],
  [down, along]: readonly [Window, Window],
  fold: (values: number[], positions: number[]) => number,
): Grid {
  const [n, c, , width] = x.shape;
  return grid([n, c, rows, columns], ([b, d, r, q]) => {
    const values: number[] = [];
    const positions: number[] = [];
    for (let y = down(r)[0]; y < down(r)[1]; y++) {
      for (let z = along(q)[0]; z < along(q)[1]; z++) {
        values.push(at(x, [b, d, y, z]));
        positions.push(y * width + z);
      }
    }
    return fold(values, positions);
  });
}

const most = (values: number[]) => Math.max(...values);
const mean = (values: number[]) => values.reduce((a, b) => a + b, 0) / values.length;
const first = (values: number[], positions: number[]) => positions[values.indexOf(most(values))];

Deno.test("maxPool2d and avgPool2d: any geometry, as the definition says", () => {
  const size = fc.integer({ min: 4, max: 8 });
  const kernel = fc.integer({ min: 1, max: 4 });
  const stride = fc.integer({ min: 1, max: 3 });
  fc.assert(
    fc.property(size, size, kernel, stride, fc.boolean(), fc.boolean(), (h, w, k, s, pad, ceil) => {
      const padding = pad ? Math.floor(k / 2) : 0;
      const x = noise([2, 2, h, w], 3);
      const number = (n: number) => {
        const room = (n + 2 * padding - k) / s;
        const many = (ceil ? Math.ceil(room) : Math.floor(room)) + 1;
        return (many - 1) * s >= n + padding ? many - 1 : many;
      };
      const window = (n: number): Window => (i) => [
        Math.max(i * s - padding, 0),
        Math.min(i * s - padding + k, n),
      ];
      const counts = [number(h), number(w)] as const;
      const windows = [window(h), window(w)] as const;
      const options = { stride: s, padding, ceilMode: ceil };
      const [values, mask] = maxPool2d(toTensor(x), k, { ...options, returnMask: true });
      assertGrid(values, pooled(x, counts, windows, most), 0);
      assertGrid(mask, pooled(x, counts, windows, first), 0);
      assertGrid(avgPool2d(toTensor(x), k, options), pooled(x, counts, windows, mean));
    }),
    { numRuns: 40, seed: 1 },
  );
});

Deno.test("adaptive pools: any sizes, as the definition says", () => {
  const size = fc.integer({ min: 1, max: 9 });
  fc.assert(
    fc.property(size, size, size, size, (h, w, rows, columns) => {
      const x = noise([1, 2, h, w], 3);
      const window = (n: number, m: number): Window => (i) => [
        Math.floor(i * n / m),
        Math.ceil((i + 1) * n / m),
      ];
      const windows = [window(h, rows), window(w, columns)] as const;
      const at = [rows, columns] as const;
      assertGrid(adaptiveAvgPool2d(toTensor(x), at), pooled(x, at, windows, mean));
      assertGrid(adaptiveMaxPool2d(toTensor(x), at), pooled(x, at, windows, most), 0);
    }),
    { numRuns: 40, seed: 1 },
  );
});

Deno.test("maxPool2d: NaN wins, and of equal elements the first", async () => {
  const x = tensor([[[[1, NaN, 0, -0], [NaN, 9, -0, 0]]]]);
  const [values, mask] = maxPool2d(x, 2, { returnMask: true });
  assertEquals(await values.toArray(), [[[[NaN, 0]]]]);
  assertEquals(await mask.toArray(), [[[[1, 2]]]]);
  assertEquals(mask.dtype, "int32");
});

Deno.test("pools: what goes wrong is said", () => {
  assertThrows(
    () => maxPool2d(zeros([3, 8, 8]), 2),
    ShapeError,
    "Cannot maxPool2d on [3, 8, 8]: the input must be [batch, channels, height, width]: got rank 3",
  );
  assertThrows(
    () => maxPool2d(zeros([1, 1, 8, 8]), 2, { padding: 2 }),
    ValueError,
    "Cannot maxPool2d with kernel [2, 2] and padding of 2: it must be at most half the kernel",
  );
  assertThrows(
    () => avgPool2d(zeros([1, 1, 2, 2]), 3),
    ShapeError,
    "Cannot avgPool2d on an image of height 2: a window of 3 must fit into it",
  );
  assertThrows(
    () => adaptiveAvgPool2d(zeros([1, 1, 2, 2]), 0),
    ValueError,
    "Cannot adaptiveAvgPool2d with output size 0: it must be a whole number of at least 1",
  );
});
