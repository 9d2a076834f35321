// Windows of an image as columns, and back: PyTorch's and Paddle's `unfold` of nn.functional. The
// `unfold` over one axis is a view (views.ts); convolution does not go through here.
import { expectOptions } from "../core/operands.ts";
import * as k from "../core/ir/expr.ts";
import { type Attrs, elementwise, engine, kernelOp } from "../core/op.ts";
import type { Shape } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import {
  both,
  lowerWindows,
  type Padding2d,
  type Pair,
  pairOf,
  requireImages,
  type Sides,
  sidesOf,
  summed,
  tapOf,
  type Two,
  windowCounts,
  windowOf,
} from "./window.ts";

interface ColumnAttrs {
  readonly kernel: Two;
  readonly stride: Two;
  readonly dilation: Two;
  readonly padding: Sides;
  /** How many windows there are. */
  readonly counts: Two;
  /** Height and width of the image. */
  readonly image: Two;
}

const columnAttrs = (attrs: Attrs): ColumnAttrs => attrs as unknown as ColumnAttrs;

/** Run-time numbers: stride, padding before, dilation and a size, for each axis. */
function numbersOf({ stride, padding, dilation }: ColumnAttrs, size: Two): number[] {
  return ([0, 1] as const).flatMap((i) => [stride[i], padding[i][0], dilation[i], size[i]]);
}

function slide(n: readonly k.Expr[], i: number): {
  stride: k.Expr;
  before: k.Expr;
  dilation: k.Expr;
} {
  return { stride: n[i], before: n[i + 1], dilation: n[i + 2] };
}

const SAMPLE: Attrs = {
  kernel: [2, 3],
  stride: [2, 1],
  dilation: [1, 2],
  padding: [[1, 0], [2, 1]],
  counts: [2, 3],
  image: [4, 4],
};

const IM2COL = elementwise({
  name: "im2col",
  dtype: (_, metas) => ({
    compute: [metas[0].dtype, ...metas.slice(1).map(() => "int32" as const)],
    out: metas[0].dtype,
  }),
  shape: ([x], attrs) => {
    const { kernel, counts } = columnAttrs(attrs);
    return [x.shape[0], x.shape[1], ...kernel, ...counts];
  },
  indexed: [0],
  scalar: (xs, ctx) => {
    const numbers = xs.slice(1);
    const y = tapOf(ctx.coord(4), ctx.coord(2), slide(numbers, 0), numbers[3]);
    const z = tapOf(ctx.coord(5), ctx.coord(3), slide(numbers, 4), numbers[7]);
    const value = ctx.at(0, [ctx.coord(0), ctx.coord(1), y.at, z.at]);
    return k.where(both(y, z), value, k.constant(0, value.dtype));
  },
  vjp: ([g], { attrs }) => [engine.call(COL2IM, [g], attrs), ...new Array<null>(8).fill(null)],
  saves: "none",
  samples: () => [
    { inputs: [{ shape: [2, 2, 4, 4] }, 2, 1, 1, 4, 1, 2, 2, 4], attrs: SAMPLE },
  ],
});

const COL2IM = kernelOp({
  name: "col2im",
  infer: ([g], attrs) => [
    { shape: [g.shape[0], g.shape[1], ...columnAttrs(attrs).image], dtype: g.dtype },
  ],
  lower: (inputs, outs, attrs) => {
    const a = columnAttrs(attrs);
    return lowerWindows({
      inputs,
      outs,
      inner: a.kernel,
      numbers: numbersOf(a, a.counts),
      body: ({ outer: [n, c, row, column], inner: [i, j], numbers, read }) => {
        const y = windowOf(row, i, slide(numbers, 0), numbers[3]);
        const z = windowOf(column, j, slide(numbers, 4), numbers[7]);
        const value = read(0, [n, c, i, j, y.at, z.at]);
        return summed(k.where(both(y, z), value, k.constant(0, value.dtype)));
      },
    });
  },
  vjp: ([h], { attrs }) => [columns(h, attrs)],
  saves: "none",
  samples: () => [{ inputs: [{ shape: [2, 2, 2, 3, 2, 3] }], attrs: SAMPLE }],
});

function columns(x: Tensor, attrs: Attrs): Tensor {
  const a = columnAttrs(attrs);
  return engine.call(IM2COL, [x, ...numbersOf(a, a.image)], attrs);
}

/** Options of `nn.functional.unfold`. */
export interface Im2colOptions {
  /** Steps between windows. Default 1. */
  readonly strides?: Pair;
  /** Zeros around the image. Default 0. */
  readonly paddings?: Padding2d;
  /** Steps between the elements that one window reads. Default 1. */
  readonly dilations?: Pair;
}

/**
 * Every window of an image as one column; `unfold` of `nn.functional`.
 *
 * @param x `[batch, channels, height, width]`, floats.
 * @param kernel Sizes of the window.
 * @param options Strides, padding, dilation.
 * @returns `[batch, channels · kernel height · kernel width, windows]`, windows row by row.
 * @throws {ShapeError} if `x` has another rank, or a window is larger than the padded image.
 * @throws {DTypeError} if `x` is not floats.
 * @throws {ValueError} if an option is not a whole number in its range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const x = tensor([[[[1, 2, 3], [4, 5, 6]]]]);
 * assertEquals(await nn.functional.unfold(x, 2).toArray(), [[[1, 2], [2, 3], [4, 5], [5, 6]]]);
 * ```
 */
export function im2col(x: Tensor, kernel: Pair, options: Im2colOptions = {}): Tensor {
  requireImages("unfold", x);
  expectOptions("unfold", options);
  const taps = pairOf("unfold", "kernel", kernel, 1);
  const stride = pairOf("unfold", "strides", options.strides ?? 1, 1);
  const dilation = pairOf("unfold", "dilations", options.dilations ?? 1, 1);
  const image: Two = [x.shape[2], x.shape[3]];
  const window: Two = [(taps[0] - 1) * dilation[0] + 1, (taps[1] - 1) * dilation[1] + 1];
  const padding = sidesOf("unfold", options.paddings ?? 0, image, window, stride);
  const counts = windowCounts("unfold", image, window, stride, padding);
  const y = columns(x, { kernel: taps, stride, dilation, padding, counts, image });
  const shape: Shape = [x.shape[0], x.shape[1] * taps[0] * taps[1], counts[0] * counts[1]];
  return op.reshape(y, shape);
}
