// Convolution of images, and its two gradients: three kernel ops, each the gradient of the others, so
// that every order of gradient is a convolution again. Reading windows as columns is in im2col.ts.
import { ShapeError } from "../core/errors.ts";
import * as k from "../core/ir/expr.ts";
import { type Attrs, composite, engine, kernelOp } from "../core/op.ts";
import { expectOptional, expectOptions, expectTensors } from "../core/operands.ts";
import { type Shape, showShape } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { contractible } from "./contraction.ts";
import {
  both,
  lowerWindows,
  type Padding2d,
  type Pair,
  pairOf,
  requireImages,
  type Sides,
  sidesOf,
  type Slide,
  summed,
  tapOf,
  type Two,
  windowCounts,
  windowOf,
} from "./window.ts";

/** Attrs of all three ops. */
interface ConvAttrs {
  readonly stride: Two;
  readonly padding: Sides;
  readonly dilation: Two;
  readonly groups: number;
}

const convAttrs = (attrs: Attrs): ConvAttrs => attrs as unknown as ConvAttrs;

/** Run-time numbers of the kernels: six of the slide, then the sizes of the image read or written. */
function slideNumbers({ stride, padding, dilation }: ConvAttrs, image: Two): number[] {
  return [
    stride[0],
    padding[0][0],
    dilation[0],
    stride[1],
    padding[1][0],
    dilation[1],
    ...image,
  ];
}

function slidesOf(n: readonly k.Expr[]): readonly [Slide, Slide] {
  return [
    { stride: n[0], before: n[1], dilation: n[2] },
    { stride: n[3], before: n[4], dilation: n[5] },
  ];
}

/** `[a, b, …]` as `[a, groups, b / groups, …]`. */
function grouped([batch, channels, height, width]: Shape, groups: number): Shape {
  return [batch, groups, channels / groups, height, width];
}

/** A weight `[out, in / groups, kh, kw]` as `[groups, out / groups, in / groups, kh, kw]`. */
function groupedWeight([out, ...rest]: Shape, groups: number): Shape {
  return [groups, out / groups, ...rest];
}

const two = (shape: Shape): Two => [shape[2], shape[3]];

function outputOf(x: Shape, w: Shape, { stride, padding, dilation }: ConvAttrs): Shape {
  const window: Two = [(w[2] - 1) * dilation[0] + 1, (w[3] - 1) * dilation[1] + 1];
  return [x[0], w[0], ...windowCounts("conv2d", two(x), window, stride, padding)];
}

const PLAIN = { stride: [1, 1], padding: [[0, 0], [0, 0]], dilation: [1, 1], groups: 1 };
const SAMPLES = [
  PLAIN,
  { stride: [2, 1], padding: [[1, 0], [2, 1]], dilation: [1, 2], groups: 1 },
  { stride: [1, 2], padding: [[0, 1], [1, 1]], dilation: [2, 1], groups: 2 },
];

/** `[batch, in, h, w]` with `[out, in / groups, kh, kw]`; attrs are those of the slide. */
export const CONV: ReturnType<typeof kernelOp> = kernelOp({
  name: "conv2d",
  amp: "white",
  epilogue: true,
  infer: ([x, w], attrs) => [
    { shape: outputOf(x.shape, w.shape, convAttrs(attrs)), dtype: x.dtype },
  ],
  lower: (inputs, outs, attrs) => {
    const a = convAttrs(attrs);
    const [x, w] = inputs;
    return lowerWindows({
      inputs,
      outs,
      views: [grouped(x.shape, a.groups), groupedWeight(w.shape, a.groups)],
      outer: grouped(outs[0].shape, a.groups),
      inner: w.shape.slice(1),
      numbers: slideNumbers(a, two(x.shape)),
      body: ({ outer: [n, g, c, row, column], inner: [d, i, j], numbers, read }) => {
        const [down, along] = slidesOf(numbers);
        const y = tapOf(row, i, down, numbers[6]);
        const z = tapOf(column, j, along, numbers[7]);
        const term = k.mul(read(0, [n, g, d, y.at, z.at]), read(1, [g, c, d, i, j]));
        return summed(k.where(both(y, z), term, 0));
      },
    });
  },
  vjp: ([g], { inputs: [x, w], attrs, shapes, needs }) => [
    needs[0] ? inputGrad(g, w as Tensor, attrs, two(shapes[0])) : null,
    needs[1] ? weightGrad(g, x as Tensor, attrs, two(shapes[1])) : null,
  ],
  reads: [[1], [0]],
  samples: () => [
    ...SAMPLES.map((attrs) => ({
      inputs: [{ shape: [2, 4, 5, 6] }, { shape: [2, 4 / attrs.groups, 3, 2] }],
      attrs,
    })),
    { inputs: [{ shape: [1, 2, 3, 3] }, { shape: [3, 2, 1, 1] }], attrs: PLAIN },
    { inputs: [{ shape: [0, 2, 3, 3] }, { shape: [3, 2, 2, 2] }], attrs: PLAIN },
    {
      inputs: [
        { values: [NaN, 1, Infinity, 0, 2, -1, 0, 0, 3], shape: [1, 1, 3, 3] },
        { shape: [1, 1, 2, 2] },
      ],
      attrs: PLAIN,
      noGrad: true,
    },
  ],
});

/** Its opposite: `[batch, out, rows, columns]` with the weight gives an image of `inputSize`. */
export const INPUT_GRAD: ReturnType<typeof kernelOp> = kernelOp({
  name: "conv2dInputGrad",
  amp: "white",
  infer: ([g, w], attrs) => [{
    shape: [g.shape[0], w.shape[1] * convAttrs(attrs).groups, ...(attrs.inputSize as Two)],
    dtype: g.dtype,
  }],
  lower: (inputs, outs, attrs) => {
    const a = convAttrs(attrs);
    const [g, w] = inputs;
    const [out, , kh, kw] = w.shape;
    return lowerWindows({
      inputs,
      outs,
      views: [grouped(g.shape, a.groups), groupedWeight(w.shape, a.groups)],
      outer: grouped(outs[0].shape, a.groups),
      inner: [out / a.groups, kh, kw],
      numbers: slideNumbers(a, two(g.shape)),
      body: ({ outer: [n, group, d, row, column], inner: [c, i, j], numbers, read }) => {
        const [down, along] = slidesOf(numbers);
        const y = windowOf(row, i, down, numbers[6]);
        const z = windowOf(column, j, along, numbers[7]);
        const term = k.mul(read(0, [n, group, c, y.at, z.at]), read(1, [group, c, d, i, j]));
        return summed(k.where(both(y, z), term, 0));
      },
    });
  },
  vjp: ([h], { inputs: [g, w], attrs, shapes, needs }) => [
    needs[0] ? engine.call(CONV, [h, w], slideAttrs(attrs)) : null,
    needs[1] ? weightGrad(g as Tensor, h, attrs, two(shapes[1])) : null,
  ],
  reads: [[1], [0]],
  samples: () =>
    SAMPLES.map((attrs) => ({
      inputs: [
        { shape: [2, 2, ...outputSizes(attrs)] },
        { shape: [2, 4 / attrs.groups, 3, 2] },
      ],
      attrs: { ...attrs, inputSize: [5, 6] },
    })),
});

const WEIGHT_GRAD = kernelOp({
  name: "conv2dWeightGrad",
  amp: "white",
  infer: ([g, x], attrs) => [{
    shape: [
      g.shape[1],
      x.shape[1] / convAttrs(attrs).groups,
      ...(attrs.kernelSize as Two),
    ],
    dtype: g.dtype,
  }],
  lower: (inputs, outs, attrs) => {
    const a = convAttrs(attrs);
    const [g, x] = inputs;
    const [batch, , rows, columns] = g.shape;
    return lowerWindows({
      inputs,
      outs,
      views: [grouped(g.shape, a.groups), grouped(x.shape, a.groups)],
      outer: groupedWeight(outs[0].shape, a.groups),
      inner: [batch, rows, columns],
      numbers: slideNumbers(a, two(x.shape)),
      body: ({ outer: [group, c, d, i, j], inner: [n, row, column], numbers, read }) => {
        const [down, along] = slidesOf(numbers);
        const y = tapOf(row, i, down, numbers[6]);
        const z = tapOf(column, j, along, numbers[7]);
        const term = k.mul(read(0, [n, group, c, row, column]), read(1, [n, group, d, y.at, z.at]));
        return summed(k.where(both(y, z), term, 0));
      },
    });
  },
  vjp: ([v], { inputs: [g, x], attrs, shapes, needs }) => [
    needs[0] ? engine.call(CONV, [x, v], slideAttrs(attrs)) : null,
    needs[1] ? inputGrad(g as Tensor, v, attrs, two(shapes[1])) : null,
  ],
  reads: [[1], [0]],
  samples: () =>
    SAMPLES.map((attrs) => ({
      inputs: [{ shape: [2, 2, ...outputSizes(attrs)] }, { shape: [2, 4, 5, 6] }],
      attrs: { ...attrs, kernelSize: [3, 2] },
    })),
});

/** Output sizes of the samples: images of 5 by 6, kernels of 3 by 2. */
function outputSizes(attrs: Attrs): Shape {
  return outputOf([2, 4, 5, 6], [2, 0, 3, 2], convAttrs(attrs)).slice(2);
}

/** The attrs of the convolution itself. */
function slideAttrs(attrs: Attrs): Attrs {
  const { stride, padding, dilation, groups } = attrs;
  return { stride, padding, dilation, groups };
}

/** What reaches an image of sizes `size` when `g` comes back through a convolution by `w`. */
function inputGrad(g: Tensor, w: Tensor, attrs: Attrs, size: Two): Tensor {
  return engine.call(INPUT_GRAD, [g, w], { ...slideAttrs(attrs), inputSize: size });
}

/** What reaches a kernel of sizes `size` when `g` comes back through a convolution of `x`. */
function weightGrad(g: Tensor, x: Tensor, attrs: Attrs, size: Two): Tensor {
  return engine.call(WEIGHT_GRAD, [g, x], { ...slideAttrs(attrs), kernelSize: size });
}

const CONV_BIAS = composite({
  name: "conv2dBias",
  amp: "white",
  body: ([x, w, bias], attrs) =>
    op.add(
      engine.call(CONV, [x, w], attrs),
      op.reshape(bias as Tensor, [(bias as Tensor).shape[0], 1, 1]),
    ),
  samples: () => [
    {
      inputs: [{ shape: [2, 2, 4, 4] }, { shape: [3, 2, 3, 3] }, { shape: [3] }],
      attrs: { ...PLAIN, padding: [[1, 1], [1, 1]] },
    },
  ],
});

/** Options of `conv2d`. */
export interface Conv2dOptions {
  /** Steps between windows. Default 1. */
  readonly stride?: Pair;
  /** Zeros around the image. Default 0. */
  readonly padding?: Padding2d;
  /** Steps between the elements that one window reads. Default 1. */
  readonly dilation?: Pair;
  /** Groups of channels that do not see each other. Default 1. */
  readonly groups?: number;
}

function checkChannels(x: Tensor, w: Tensor, groups: number): void {
  const call = `Cannot conv2d ${showShape(x.shape)} with weight ${showShape(w.shape)}`;
  if (w.rank !== 4) {
    throw new ShapeError(
      `${call}: the weight must be [out, in / groups, kernel height, kernel width]: got rank ${w.rank}`,
    );
  }
  const suffix = groups === 1 ? "" : ` and groups ${groups}`;
  if (x.shape[1] !== w.shape[1] * groups) {
    throw new ShapeError(
      `${call}${suffix}: input channels must match: got ${x.shape[1]} and ` +
        (groups === 1 ? `${w.shape[1]}` : `${w.shape[1]} times ${groups}`),
    );
  }
  if (w.shape[0] % groups !== 0) {
    throw new ShapeError(
      `${call}${suffix}: output channels must divide by groups: got ${w.shape[0]}`,
    );
  }
  if (w.shape[2] === 0 || w.shape[3] === 0) {
    throw new ShapeError(`${call}: a kernel must have at least one row and one column`);
  }
}

/**
 * Cross-correlation of a batch of images with a bank of kernels (what networks call convolution).
 *
 * @param x `[batch, in, height, width]`, floats.
 * @param weight `[out, in / groups, kernel height, kernel width]`.
 * @param bias `[out]`, or left out.
 * @param options Strides, padding, dilation, groups.
 * @returns `[batch, out, rows, columns]` in the promoted dtype, with
 * `rows = floor((height + top + bottom - dilation * (kernel height - 1) - 1) / stride) + 1`.
 * @throws {ShapeError} if ranks, channels or the bias do not fit, or a window is larger than the padded image.
 * @throws {DTypeError} if the operands are not floats.
 * @throws {ValueError} if an option is not a whole number in its range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, ones } from "../mod.ts";
 *
 * const y = nn.functional.conv2d(ones([1, 1, 3, 3]), ones([1, 1, 2, 2]), ones([1]));
 * assertEquals(await y.toArray(), [[[[5, 5], [5, 5]]]]);
 * const same = nn.functional.conv2d(ones([1, 1, 2, 2]), ones([1, 1, 3, 3]), undefined, {
 *   padding: "same",
 * });
 * assertEquals(await same.toArray(), [[[[4, 4], [4, 4]]]]);
 * ```
 */
export function conv2d(
  x: Tensor,
  weight: Tensor,
  bias?: Tensor,
  options: Conv2dOptions = {},
): Tensor {
  expectTensors("conv2d", x, weight);
  expectOptional("conv2d", bias);
  expectOptions("conv2d", options);
  requireImages("conv2d", x);
  const stride = pairOf("conv2d", "stride", options.stride ?? 1, 1);
  const dilation = pairOf("conv2d", "dilation", options.dilation ?? 1, 1);
  const [groups] = pairOf("conv2d", "groups", options.groups ?? 1, 1);
  checkChannels(x, weight, groups);
  const kernel = two(weight.shape);
  const window: Two = [(kernel[0] - 1) * dilation[0] + 1, (kernel[1] - 1) * dilation[1] + 1];
  const padding = sidesOf("conv2d", options.padding ?? 0, two(x.shape), window, stride);
  const attrs = { stride, padding, dilation, groups };
  if (bias === undefined) return engine.call(CONV, contractible("conv2d", x, weight), attrs);
  if (bias.rank !== 1 || bias.shape[0] !== weight.shape[0]) {
    throw new ShapeError(
      `Cannot conv2d with weight ${showShape(weight.shape)} and bias ${
        showShape(bias.shape)
      }: the ` +
        `bias must have one element for each output channel: expected [${weight.shape[0]}]`,
    );
  }
  return engine.call(CONV_BIAS, contractible("conv2d", x, weight, bias), attrs);
}
