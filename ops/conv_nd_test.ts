import { assertEquals, assertThrows } from "jsr:@std/assert@1";
import fc from "npm:fast-check@4";
import { DTypeError, ShapeError, ValueError } from "../core/errors.ts";
import { nn, type Tensor, zeros } from "../mod.ts";
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

const F = nn.functional;

interface Options {
  readonly stride: readonly number[];
  readonly padding: readonly (readonly [number, number])[];
  readonly dilation: readonly number[];
  readonly groups: number;
}

/** Every pair of an input position and an output position of a convolution that meet, with their tap. */
function* meetings(
  [sizes, kernel, windows]: readonly (readonly number[])[],
  { stride, padding, dilation }: Options,
): Iterable<{ input: number[]; output: number[]; tap: number[] }> {
  for (let o = 0; o < count(windows); o++) {
    const output = coordsOf(windows, o);
    for (let t = 0; t < count(kernel); t++) {
      const tap = coordsOf(kernel, t);
      const input = output.map((c, i) => c * stride[i] + tap[i] * dilation[i] - padding[i][0]);
      if (input.every((c, i) => c >= 0 && c < sizes[i])) yield { input, output, tap };
    }
  }
}

/** A convolution of `x`, or its transpose to an output of sizes `size`, summed as the definition says. */
function naive(x: Grid, w: Grid, options: Options, size: readonly number[] | null): Grid {
  const { stride, padding, dilation, groups } = options;
  const kernel = w.shape.slice(2);
  const own = x.shape.slice(2);
  const to = size ?? own.map((n, i) => {
    const room = n + padding[i][0] + padding[i][1] - (kernel[i] - 1) * dilation[i] - 1;
    return Math.floor(room / stride[i]) + 1;
  });
  const out = size === null ? w.shape[0] : w.shape[1] * groups;
  const shape = [x.shape[0], out, ...to];
  const values = new Map<string, number>();
  const pairs = [...meetings(size === null ? [own, kernel, to] : [to, kernel, own], options)];
  const [perIn, perOut] = [x.shape[1] / groups, out / groups];
  for (let n = 0; n < x.shape[0]; n++) {
    for (let o = 0; o < out; o++) {
      const group = Math.floor(o / perOut);
      for (let c = 0; c < perIn; c++) {
        for (const { input, output, tap } of pairs) {
          const [from, into] = size === null ? [input, output] : [output, input];
          const channel = group * perIn + c;
          const weight = size === null ? [o, c, ...tap] : [channel, o - group * perOut, ...tap];
          const key = [n, o, ...into].join();
          const term = at(x, [n, channel, ...from]) * at(w, weight);
          values.set(key, (values.get(key) ?? 0) + term);
        }
      }
    }
  }
  return grid(shape, (coords) => values.get(coords.join()) ?? 0);
}

type Convolution = (x: Tensor, w: Tensor, bias: undefined, options: unknown) => Tensor;

const FORWARD = [null, F.conv1d, F.conv2d, F.conv3d] as unknown as readonly Convolution[];
const TRANSPOSED = [
  null,
  F.conv1dTranspose,
  F.conv2dTranspose,
  F.conv3dTranspose,
] as unknown as readonly Convolution[];

const small = fc.integer({ min: 1, max: 3 });
const pad = fc.integer({ min: 0, max: 2 });
const axis = fc.record({
  stride: small,
  padding: fc.tuple(pad, pad),
  dilation: small,
  kernel: fc.integer({ min: 1, max: 3 }),
  size: small,
  more: fc.integer({ min: 0, max: 2 }),
});
const channels = fc.tuple(small, small, small, fc.integer({ min: 1, max: 2 }));

for (const rank of [1, 3]) {
  Deno.test(`conv${rank}d: any geometry, as the definition says; on both places`, () => {
    const axes = fc.array(axis, { minLength: rank, maxLength: rank });
    fc.assert(
      fc.property(axes, channels, (axes, [n, c, o, groups]) => {
        const stride = axes.map((a) => a.stride);
        const padding = axes.map((a) => a.padding);
        const dilation = axes.map((a) => a.dilation);
        const kernel = axes.map((a) => a.kernel);
        const sizes = axes.map((a) =>
          Math.max(1, (a.kernel - 1) * a.dilation + 1 - a.padding[0] - a.padding[1]) + a.size
        );
        const options = { stride, padding, dilation, groups };
        const x = noise([n, c * groups, ...sizes], 3);
        const k = noise([o * groups, c, ...kernel], 7);
        const expected = naive(x, k, options, null);
        for (const place of ["cpu", "ref"]) {
          const [a, b] = [toTensor(x, undefined, place), toTensor(k, undefined, place)];
          assertGrid(FORWARD[rank](a, b, undefined, options), expected);
        }
      }),
      { numRuns: 25, seed: 1 },
    );
  });
}

for (const rank of [1, 2, 3]) {
  Deno.test(`conv${rank}dTranspose: any geometry, as the definition says; on both places`, () => {
    const axes = fc.array(axis, { minLength: rank, maxLength: rank });
    fc.assert(
      fc.property(axes, channels, (axes, [n, c, o, groups]) => {
        const stride = axes.map((a) => a.stride);
        const dilation = axes.map((a) => a.dilation);
        const outputPadding = axes.map((a) => Math.min(a.more, a.stride - 1));
        const spans = axes.map((a) => (a.size - 1) * a.stride + (a.kernel - 1) * a.dilation + 1);
        // Padding cuts elements off: leave one.
        const padding = axes.map((a, i): [number, number] => {
          const before = Math.min(a.padding[0], spans[i] - 1);
          return [before, Math.min(a.padding[1], spans[i] - 1 - before)];
        });
        const size = spans.map((s, i) => s - padding[i][0] - padding[i][1] + outputPadding[i]);
        const options = { stride, padding, dilation, groups };
        const x = noise([n, c * groups, ...axes.map((a) => a.size)], 3);
        const k = noise([c * groups, o, ...axes.map((a) => a.kernel)], 7);
        const expected = naive(x, k, options, size);
        for (const place of ["cpu", "ref"]) {
          const [a, b] = [toTensor(x, undefined, place), toTensor(k, undefined, place)];
          const call = TRANSPOSED[rank];
          assertGrid(call(a, b, undefined, { ...options, outputPadding }), expected);
          assertGrid(call(a, b, undefined, { ...options, outputSize: size }), expected);
        }
      }),
      { numRuns: 25, seed: 1 },
    );
  });
}

Deno.test("conv1d, conv3d and their transposes: what goes wrong is said", () => {
  const x = zeros([1, 3, 8]);
  assertThrows(
    () => F.conv1d(x, zeros([8, 4, 3])),
    ShapeError,
    "Cannot conv1d [1, 3, 8] with weight [8, 4, 3]: input channels must match: got 3 and 4",
  );
  assertThrows(
    () => F.conv1d(zeros([3, 8]), zeros([8, 3, 3])),
    ShapeError,
    "Cannot conv1d on [3, 8]: the input must be [batch, channels, length]: got rank 2; unsqueeze(0) " +
      "adds the batch axis",
  );
  assertThrows(
    () => F.conv1d(zeros([1, 3, 2]), zeros([8, 3, 3])),
    ShapeError,
    "Cannot conv1d on length 2: a window of 3 must fit into it and its padding of 0 and 0",
  );
  assertThrows(
    () => F.conv1d(x, zeros([8, 3, 3]), zeros([3])),
    ShapeError,
    "Cannot conv1d with weight [8, 3, 3] and bias [3]: the bias must have one element for each output " +
      "channel: expected [8]",
  );
  assertThrows(
    () => F.conv1d(zeros([1, 3, 8], { dtype: "int32" }), zeros([8, 3, 3])),
    DTypeError,
    "Cannot conv1d on int32: the input must be floats",
  );
  const volume = zeros([1, 2, 4, 4, 4]);
  assertThrows(
    () => F.conv3d(volume, zeros([4, 2, 3, 3])),
    ShapeError,
    "the weight must be [out, in / groups, kernel depth, kernel height, kernel width]: got rank 4",
  );
  assertThrows(
    () => F.conv3d(volume, zeros([4, 2, 3, 3, 3]), undefined, { stride: [1, 2] as never }),
    ValueError,
    "Cannot conv3d with stride [1, 2]: give one number, or 3 for depth, height, width",
  );
  assertThrows(
    () => F.conv3d(volume, zeros([4, 2, 3, 3, 3]), undefined, { padding: "full" as "same" }),
    ValueError,
    `Cannot conv3d with padding "full": it must be "same", "valid", a number`,
  );
  assertThrows(
    () => F.conv1dTranspose(x, zeros([4, 3, 3])),
    ShapeError,
    "Cannot conv1dTranspose [1, 3, 8] with weight [4, 3, 3]: input channels must match: got 3 and 4",
  );
  assertThrows(
    () => F.conv1dTranspose(x, zeros([3, 2, 3]), undefined, { stride: 2, outputPadding: 2 }),
    ValueError,
    "with outputPadding 2: it must be less than the stride of that axis: got 2",
  );
  assertThrows(
    () => F.conv1dTranspose(x, zeros([3, 2, 3]), undefined, { stride: 2, outputSize: 19 }),
    ValueError,
    "with outputSize [19]: with stride 2 axis 2 must be from 17 to 18: got 19",
  );
  assertThrows(
    () => F.conv1dTranspose(x, zeros([3, 2, 3]), undefined, { outputSize: 10, outputPadding: 0 }),
    ValueError,
    "with outputSize and outputPadding: give one of them",
  );
  assertThrows(
    () => F.conv1dTranspose(zeros([1, 3, 1]), zeros([3, 2, 2]), undefined, { padding: 1 }),
    ShapeError,
    "nothing would be left of axis 2: its size would be 0; use less padding",
  );
});

Deno.test("conv2dTranspose: 'same' cuts off what a convolution would add", () => {
  const y = F.conv2dTranspose(zeros([1, 1, 4, 4]), zeros([1, 1, 3, 3]), undefined, {
    stride: 2,
    padding: "same",
  });
  assertEquals(y.shape, [1, 1, 8, 8]);
  const wide = F.conv2dTranspose(zeros([1, 1, 4, 4]), zeros([1, 1, 3, 3]), undefined, {
    stride: 2,
    padding: "valid",
  });
  assertEquals(wide.shape, [1, 1, 9, 9]);
});
