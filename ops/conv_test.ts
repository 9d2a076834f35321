import { assertEquals, assertThrows } from "jsr:@std/assert@1";
import fc from "npm:fast-check@4";
import { DTypeError, ShapeError, ValueError } from "../core/errors.ts";
import { nn, zeros } from "../mod.ts";
import { assertGrid, at, type Grid, grid, noise, toTensor } from "../tests/grid.ts";

const { conv2d, unfold } = nn.functional;

interface Options {
  readonly stride: readonly [number, number];
  readonly padding: readonly [readonly [number, number], readonly [number, number]];
  readonly dilation: readonly [number, number];
  readonly groups: number;
}

/** The element of an image, or 0 outside it. */
function pixel(x: Grid, n: number, c: number, y: number, z: number): number {
  const [, , height, width] = x.shape;
  return y < 0 || y >= height || z < 0 || z >= width ? 0 : x.values[
    ((n * x.shape[1] + c) * height + y) * width + z
  ];
}

function naive(x: Grid, w: Grid, { stride, padding, dilation, groups }: Options): Grid {
  const [batch, , height, width] = x.shape;
  const [out, depth, kh, kw] = w.shape;
  const rows = (height + padding[0][0] + padding[0][1] - (kh - 1) * dilation[0] - 1) / stride[0];
  const columns = (width + padding[1][0] + padding[1][1] - (kw - 1) * dilation[1] - 1) / stride[1];
  return grid([batch, out, Math.floor(rows) + 1, Math.floor(columns) + 1], ([n, o, r, q]) => {
    const group = Math.floor(o / (out / groups));
    let sum = 0;
    for (let c = 0; c < depth; c++) {
      for (let i = 0; i < kh; i++) {
        for (let j = 0; j < kw; j++) {
          const y = r * stride[0] + i * dilation[0] - padding[0][0];
          const z = q * stride[1] + j * dilation[1] - padding[1][0];
          sum += at(w, [o, c, i, j]) * pixel(x, n, group * depth + c, y, z);
        }
      }
    }
    return sum;
  });
}

const small = fc.integer({ min: 1, max: 3 });
const pad = fc.integer({ min: 0, max: 2 });

Deno.test("conv2d: any geometry, as the definition says; on both places", () => {
  const geometry = fc.record({
    stride: fc.tuple(small, small),
    padding: fc.tuple(fc.tuple(pad, pad), fc.tuple(pad, pad)),
    dilation: fc.tuple(small, small),
    groups: fc.integer({ min: 1, max: 2 }),
  });
  const sizes = fc.tuple(small, small, small, small, small, small, small);
  fc.assert(
    fc.property(geometry, sizes, (options, [n, c, o, kh, kw, h, w]) => {
      const { dilation, groups, padding } = options;
      const height = Math.max(1, (kh - 1) * dilation[0] + 1 - padding[0][0] - padding[0][1]) + h;
      const width = Math.max(1, (kw - 1) * dilation[1] + 1 - padding[1][0] - padding[1][1]) + w;
      const x = noise([n, c * groups, height, width], 3);
      const k = noise([o * groups, c, kh, kw], 7);
      const expected = naive(x, k, options);
      assertGrid(conv2d(toTensor(x), toTensor(k), undefined, options), expected);
      const [a, b] = [toTensor(x, undefined, "ref"), toTensor(k, undefined, "ref")];
      assertGrid(conv2d(a, b, undefined, options), expected);
    }),
    { numRuns: 40, seed: 1 },
  );
});

Deno.test("conv2d: float16 is summed in float32", async () => {
  const x = toTensor(grid([1, 1, 1, 3000], () => 1)).cast("float16");
  const w = toTensor(grid([1, 1, 1, 3000], () => 1)).cast("float16");
  assertEquals(await conv2d(x, w).toArray(), [[[[3000]]]]);
});

Deno.test("conv2d: what goes wrong is said", () => {
  const x = zeros([1, 3, 8, 8]);
  assertThrows(
    () => conv2d(x, zeros([8, 4, 3, 3])),
    ShapeError,
    "Cannot conv2d [1, 3, 8, 8] with weight [8, 4, 3, 3]: input channels must match: got 3 and 4",
  );
  assertThrows(
    () => conv2d(x, zeros([4, 3, 3, 3]), undefined, { groups: 2 }),
    ShapeError,
    "Cannot conv2d [1, 3, 8, 8] with weight [4, 3, 3, 3] and groups 2: input channels must match: got 3 and 3 times 2",
  );
  assertThrows(
    () => conv2d(zeros([3, 8, 8]), zeros([8, 3, 3, 3])),
    ShapeError,
    "Cannot conv2d on [3, 8, 8]: the input must be [batch, channels, height, width]: got rank 3; " +
      "unsqueeze(0) adds the batch axis",
  );
  assertThrows(
    () => conv2d(zeros([1, 3, 2, 2]), zeros([8, 3, 3, 3])),
    ShapeError,
    "Cannot conv2d on an image of height 2: a window of 3 must fit into it",
  );
  assertThrows(
    () => conv2d(x, zeros([8, 3, 3, 3]), zeros([3])),
    ShapeError,
    "Cannot conv2d with weight [8, 3, 3, 3] and bias [3]: the bias must have one element for each " +
      "output channel: expected [8]",
  );
  assertThrows(
    () => conv2d(x, zeros([8, 3, 3, 3]), undefined, { stride: 0 }),
    ValueError,
    "Cannot conv2d with stride 0: it must be a whole number of at least 1",
  );
  assertThrows(
    () => conv2d(x, zeros([8, 3, 3, 3]), undefined, { padding: "full" as "same" }),
    ValueError,
    `Cannot conv2d with padding "full": it must be "same", "valid", a number`,
  );
  assertThrows(
    () => conv2d(zeros([1, 3, 8, 8], { dtype: "int32" }), zeros([8, 3, 3, 3])),
    DTypeError,
    "Cannot conv2d on int32: the input must be floats",
  );
});

Deno.test("unfold: any geometry, as the definition says", () => {
  fc.assert(
    fc.property(small, small, pad, small, (kh, kw, padding, stride) => {
      const x = noise([2, 2, 4, 5], 3);
      const rows = Math.floor((4 + 2 * padding - kh) / stride) + 1;
      const columns = Math.floor((5 + 2 * padding - kw) / stride) + 1;
      const expected = grid([2, 2 * kh * kw, rows * columns], ([n, tap, window]) => {
        const c = Math.floor(tap / (kh * kw));
        const y = Math.floor(window / columns) * stride + Math.floor(tap / kw) % kh - padding;
        return pixel(x, n, c, y, (window % columns) * stride + tap % kw - padding);
      });
      const options = { strides: stride, paddings: padding };
      assertGrid(unfold(toTensor(x), [kh, kw], options), expected);
    }),
    { numRuns: 40, seed: 1 },
  );
});
