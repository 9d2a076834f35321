import { assertEquals, assertThrows } from "jsr:@std/assert@1";
import fc from "npm:fast-check@4";
import { DTypeError, ShapeError, ValueError } from "../core/errors.ts";
import { nn, type Tensor, tensor, zeros } from "../mod.ts";
import { assertGrid, at, type Grid, grid, noise, toTensor } from "../tests/grid.ts";

const F = nn.functional;

/** First element and the one past the last of a window, inside the axis. */
type Window = readonly [number, number];

interface Line {
  readonly size: number;
  readonly kernel: number;
  readonly stride: number;
  readonly padding: number;
}

function windowsOf({ size, kernel, stride, padding }: Line, ceil: boolean): Window[] {
  const room = (size + 2 * padding - kernel) / stride;
  const many = (ceil ? Math.ceil(room) : Math.floor(room)) + 1;
  const count = ceil && (many - 1) * stride >= size + padding ? many - 1 : many;
  return Array.from({ length: count }, (_, i): Window => {
    const start = i * stride - padding;
    return [Math.max(start, 0), Math.min(start + kernel, size)];
  });
}

function* inside(windows: readonly Window[]): Iterable<number[]> {
  if (windows.length === 0) return yield [];
  const [[start, end], ...rest] = windows;
  for (let i = start; i < end; i++) for (const more of inside(rest)) yield [i, ...more];
}

function pooled(
  x: Grid,
  lines: readonly Line[],
  ceil: boolean,
  fold: (values: number[], positions: number[]) => number,
): Grid {
  const windows = lines.map((line) => windowsOf(line, ceil));
  const shape = [...x.shape.slice(0, 2), ...windows.map((w) => w.length)];
  return grid(shape, ([n, c, ...where]) => {
    const values: number[] = [];
    const positions: number[] = [];
    for (const coords of inside(where.map((i, d) => windows[d][i]))) {
      values.push(at(x, [n, c, ...coords]));
      positions.push(coords.reduce((p, i, d) => p * lines[d].size + i, 0));
    }
    return fold(values, positions);
  });
}

const most = (values: number[]) => Math.max(...values);
const mean = (values: number[]) => values.reduce((a, b) => a + b, 0) / values.length;
const first = (values: number[], positions: number[]) => positions[values.indexOf(most(values))];

const line = fc.record({
  size: fc.integer({ min: 4, max: 6 }),
  kernel: fc.integer({ min: 1, max: 4 }),
  stride: fc.integer({ min: 1, max: 3 }),
  padded: fc.boolean(),
}).map(({ size, kernel, stride, padded }): Line => {
  return { size, kernel, stride, padding: padded ? Math.floor(kernel / 2) : 0 };
});

for (const rank of [1, 3]) {
  Deno.test(`maxPool${rank}d and avgPool${rank}d: any geometry, as the definition says`, () => {
    const lines = fc.array(line, { minLength: rank, maxLength: rank });
    fc.assert(
      fc.property(lines, fc.boolean(), (lines, ceil) => {
        // Halves, so that there are ties.
        const raw = noise([2, 2, ...lines.map((l) => l.size)], 5);
        const x: Grid = { shape: raw.shape, values: raw.values.map((v) => Math.round(v * 4) / 2) };
        const options = {
          stride: lines.map((l) => l.stride),
          padding: lines.map((l) => l.padding),
          ceilMode: ceil,
        };
        const kernel = lines.map((l) => l.kernel);
        const max = (rank === 1 ? F.maxPool1d : F.maxPool3d) as typeof F.maxPool3d;
        const avg = (rank === 1 ? F.avgPool1d : F.avgPool3d) as typeof F.avgPool3d;
        const masked = { ...options, returnMask: true } as never;
        const [values, mask] = max(toTensor(x), kernel as never, masked) as never as Tensor[];
        assertGrid(values, pooled(x, lines, ceil, most), 0);
        assertGrid(mask, pooled(x, lines, ceil, first), 0);
        assertEquals(mask.dtype, "int32");
        const y = avg(toTensor(x), kernel as never, options as never);
        assertGrid(y, pooled(x, lines, ceil, mean));
      }),
      { numRuns: 25, seed: 1 },
    );
  });
}

Deno.test("maxPool3d: NaN wins; the gradient goes to the first of equal elements", async () => {
  const x = tensor([[[[[1, 3], [3, 0]], [[3, 2], [1, 1]]]]], { requiresGrad: true });
  F.maxPool3d(x, 2).sum().backward();
  assertEquals(await x.grad?.toArray(), [[[[[0, 1], [0, 0]], [[0, 0], [0, 0]]]]]);
  const [values, mask] = F.maxPool3d(tensor([[[[[1]], [[NaN]], [[2]]]]]), [3, 1, 1], {
    returnMask: true,
  });
  assertEquals([await values.toArray(), await mask.toArray()], [[[[[[NaN]]]]], [[[[[1]]]]]]);
});

Deno.test("pooling of sequences and volumes: what goes wrong is said", () => {
  assertThrows(
    () => F.maxPool1d(zeros([2, 3]), 2),
    ShapeError,
    "Cannot maxPool1d on [2, 3]: the input must be [batch, channels, length]: got rank 2",
  );
  assertThrows(
    () => F.avgPool3d(zeros([1, 1, 2, 2, 2]), [1, 2, 3]),
    ShapeError,
    "Cannot avgPool3d on width 2: a window of 3 must fit into it",
  );
  assertThrows(
    () => F.maxPool1d(zeros([1, 1, 5]), 3, { padding: 2 }),
    ValueError,
    "Cannot maxPool1d with kernel [3] and padding of 2: it must be at most half the kernel",
  );
  assertThrows(
    () => F.avgPool1d(zeros([1, 1, 4], { dtype: "int32" }), 2),
    DTypeError,
    "Cannot avgPool1d on int32",
  );
});
