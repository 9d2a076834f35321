// Convolution of sequences and volumes, by that of images: a sequence is an image of height 1, and a volume
// a batch of images, one for each output depth, that have the planes under the kernel as channels. Their
// opposites are in conv_transpose.ts.
import { expectOptions } from "../core/operands.ts";
import * as k from "../core/ir/expr.ts";
import { type Attrs, composite, elementwise, engine, kernelOp, type Operand } from "../core/op.ts";
import type { Shape } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { refuseComplex } from "./common.ts";
import { contractible } from "./contraction.ts";
import { CONV } from "./conv.ts";
import {
  type AnyPadding,
  type Ends,
  endsOf,
  type Numbers,
  numbersOf,
  type Padding1d,
  type Padding3d,
  requireBatch,
  requireRoom,
  requireWeight,
  type Single,
  type Slides,
  type Triple,
  windowsOf,
} from "./sliding.ts";
import { held, lowerWindows, summed, windowOf } from "./window.ts";

/** Attrs of the composites. */
export interface ConvAttrs extends Slides {
  readonly groups: number;
}

/** Attrs of images, from those of sequences (which get a height) or volumes (which lose their depth). */
export function imageAttrs(attrs: Attrs): ConvAttrs {
  const { stride, padding, dilation, groups } = attrs as unknown as ConvAttrs;
  if (stride.length === 3) {
    return {
      stride: stride.slice(1),
      padding: padding.slice(1),
      dilation: dilation.slice(1),
      groups,
    };
  }
  return {
    stride: [1, ...stride],
    padding: [[0, 0], ...padding],
    dilation: [1, ...dilation],
    groups,
  };
}

/** A sequence (or its weight) as an image of height 1. */
export function flatImage(x: Operand): Tensor {
  const [batch, channels, length] = (x as Tensor).shape;
  return op.reshape(x as Tensor, [batch, channels, 1, length]);
}

/** A weight `[a, b, depth, height, width]` with its planes as channels: `[a, b · depth, height, width]`. */
export function flatWeight(w: Operand): Tensor {
  const [a, b, depth, ...rest] = (w as Tensor).shape;
  return op.reshape(w as Tensor, [a, b * depth, ...rest]);
}

/** Adds one number to each channel of images; nothing without a bias. */
export function biased(y: Tensor, bias: Operand | undefined): Tensor {
  if (bias === undefined) return y;
  return op.add(y, op.reshape(bias as Tensor, [(bias as Tensor).shape[0], 1, 1]));
}

// --- planes under a kernel ----------------------------------------------------------------------------

interface PlaneAttrs {
  readonly depth: number;
  readonly kernel: number;
  readonly stride: number;
  readonly padding: Ends;
  readonly dilation: number;
}

const planeAttrs = (attrs: Attrs): PlaneAttrs => attrs as unknown as PlaneAttrs;

const windowsIn = ({ depth, kernel, stride, padding, dilation }: PlaneAttrs): number =>
  Math.floor((depth + padding[0] + padding[1] - (kernel - 1) * dilation - 1) / stride) + 1;

const PLANE_SAMPLES: readonly PlaneAttrs[] = [
  { depth: 4, kernel: 2, stride: 1, padding: [0, 0], dilation: 1 },
  { depth: 5, kernel: 3, stride: 2, padding: [2, 1], dilation: 1 },
  { depth: 5, kernel: 2, stride: 3, padding: [0, 1], dilation: 2 },
];

const PLANES = elementwise({
  name: "planesUnderKernel",
  dtype: (name, [x]) => {
    refuseComplex(name, x.dtype);
    return { compute: [x.dtype, "int32", "int32", "int32", "int32"], out: x.dtype };
  },
  indexed: [0],
  shape: ([{ shape: [batch, channels, , points] }], attrs) => {
    const a = planeAttrs(attrs);
    return [batch, windowsIn(a), channels, a.kernel, points];
  },
  scalar: ([, stride, before, dilation, depth], ctx) => {
    const [n, window, channel, tap, point] = [0, 1, 2, 3, 4].map((d) => ctx.coord(d));
    const start = k.sub(k.mul(window, stride), before);
    const plane = held(k.add(start, k.mul(tap, dilation)), depth);
    const value = ctx.at(0, [n, channel, plane.at, point]);
    return k.where(plane.inside, value, k.constant(0, value.dtype));
  },
  vjp: ([g], { attrs }) => [gatherPlanes(g, planeAttrs(attrs)), null, null, null, null],
  saves: "none",
  samples: () =>
    PLANE_SAMPLES.map((a) => ({
      inputs: [{ shape: [2, 2, a.depth, 3] }, a.stride, a.padding[0], a.dilation, a.depth],
      attrs: { ...a },
    })),
});

const PLANES_GRAD = kernelOp({
  name: "planesUnderKernelGrad",
  infer: ([{ shape: [batch, , channels, , points], dtype }], attrs) => [
    { shape: [batch, channels, planeAttrs(attrs).depth, points], dtype },
  ],
  lower: (inputs, outs, attrs) => {
    const { kernel, stride, padding, dilation } = planeAttrs(attrs);
    return lowerWindows({
      inputs,
      outs,
      inner: [kernel],
      numbers: [stride, padding[0], dilation, inputs[0].shape[1]],
      body: ({ outer: [n, channel, plane, point], inner: [tap], numbers, read }) => {
        const [stride, before, dilation, count] = numbers;
        const window = windowOf(plane, tap, { stride, before, dilation }, count);
        const value = read(0, [n, window.at, channel, tap, point]);
        return summed(k.where(window.inside, value, k.constant(0, value.dtype)));
      },
    });
  },
  vjp: ([g], { attrs }) => [spreadPlanes(g, planeAttrs(attrs))],
  saves: "none",
  samples: () =>
    PLANE_SAMPLES.map((a) => ({
      inputs: [{ shape: [2, windowsIn(a), 2, a.kernel, 3] }],
      attrs: { ...a },
    })),
});

/** `[batch, channels, depth, points]` as `[batch, windows, channels, kernel, points]`. */
export function spreadPlanes(x: Tensor, a: PlaneAttrs): Tensor {
  return engine.call(PLANES, [x, a.stride, a.padding[0], a.dilation, a.depth], { ...a });
}

/** The opposite: what each plane contributed to is added up. */
export function gatherPlanes(g: Tensor, a: PlaneAttrs): Tensor {
  return engine.call(PLANES_GRAD, [g], { ...a });
}

/** The attrs of the first of three axes, for a volume of that depth. */
export function depthAttrs(attrs: Attrs, depth: number, kernel: number): PlaneAttrs {
  const { stride, padding, dilation } = attrs as unknown as ConvAttrs;
  return { depth, kernel, stride: stride[0], padding: padding[0], dilation: dilation[0] };
}

// --- the convolutions ---------------------------------------------------------------------------------

const PLAIN1 = { stride: [1], padding: [[0, 0]], dilation: [1], groups: 1 };
const PLAIN3 = {
  stride: [1, 1, 1],
  padding: [[0, 0], [0, 0], [0, 0]],
  dilation: [1, 1, 1],
  groups: 1,
};

const CONV1 = composite({
  name: "conv1d",
  amp: "white",
  body: ([x, w, bias], attrs) => {
    const y = biased(
      engine.call(CONV, [flatImage(x), flatImage(w)], { ...imageAttrs(attrs) }),
      bias,
    );
    const [batch, channels, , length] = y.shape;
    return op.reshape(y, [batch, channels, length]);
  },
  samples: () => [
    { inputs: [{ shape: [2, 3, 6] }, { shape: [2, 3, 3] }, { shape: [2] }], attrs: PLAIN1 },
    {
      inputs: [{ shape: [2, 4, 7] }, { shape: [4, 2, 3] }],
      attrs: { stride: [2], padding: [[2, 1]], dilation: [2], groups: 2 },
    },
    { inputs: [{ shape: [0, 2, 4] }, { shape: [3, 2, 2] }, { shape: [3] }], attrs: PLAIN1 },
  ],
});

const CONV3 = composite({
  name: "conv3d",
  amp: "white",
  body: ([operand, weight, bias], attrs) => {
    const [x, w] = [operand as Tensor, weight as Tensor];
    const [batch, channels, depth, height, width] = x.shape;
    const planes = depthAttrs(attrs, depth, w.shape[2]);
    const flat = op.reshape(x, [batch, channels, depth, height * width]);
    const windows = windowsIn(planes);
    const images = op.reshape(spreadPlanes(flat, planes), [
      batch * windows,
      channels * planes.kernel,
      height,
      width,
    ]);
    const y = biased(
      engine.call(CONV, [images, flatWeight(w)], { ...imageAttrs(attrs) }),
      bias,
    );
    const [, out, rows, columns] = y.shape;
    return op.permute(op.reshape(y, [batch, windows, out, rows, columns]), [0, 2, 1, 3, 4]);
  },
  samples: () => [
    {
      inputs: [{ shape: [2, 2, 3, 4, 3] }, { shape: [3, 2, 2, 3, 2] }, { shape: [3] }],
      attrs: PLAIN3,
    },
    {
      inputs: [{ shape: [1, 4, 4, 3, 5] }, { shape: [2, 2, 3, 2, 2] }],
      attrs: {
        stride: [2, 1, 2],
        padding: [[1, 2], [0, 1], [2, 0]],
        dilation: [1, 2, 1],
        groups: 2,
      },
    },
    { inputs: [{ shape: [0, 1, 2, 2, 2] }, { shape: [1, 1, 1, 2, 2] }], attrs: PLAIN3 },
  ],
});

/** Options as they come. */
export interface AnyConvOptions {
  readonly stride?: Numbers;
  readonly padding?: AnyPadding;
  readonly dilation?: Numbers;
  readonly groups?: number;
}

function convolve(
  call: "conv1d" | "conv3d",
  x: Tensor,
  weight: Tensor,
  bias: Tensor | undefined,
  options: AnyConvOptions,
): Tensor {
  expectOptions(call, options);
  const rank = call === "conv1d" ? 1 : 3;
  requireBatch(call, x, rank);
  const stride = numbersOf(call, "stride", options.stride ?? 1, rank, 1);
  const dilation = numbersOf(call, "dilation", options.dilation ?? 1, rank, 1);
  const [groups] = numbersOf(call, "groups", options.groups ?? 1, 1, 1);
  requireWeight(call, x, weight, bias, groups, false);
  const sizes: Shape = x.shape.slice(2);
  const windows = windowsOf(weight.shape.slice(2), dilation);
  const padding = endsOf(call, options.padding ?? 0, sizes, windows, stride);
  requireRoom(call, sizes, windows, padding);
  const operands = bias === undefined ? [x, weight] : [x, weight, bias];
  return engine.call(rank === 1 ? CONV1 : CONV3, contractible(call, ...operands), {
    stride,
    padding,
    dilation,
    groups,
  });
}

/** Options of `conv1d`. */
export interface Conv1dOptions {
  /** Steps between windows. Default 1. */
  readonly stride?: Single;
  /** Zeros at the ends of the sequence. Default 0. */
  readonly padding?: Padding1d;
  /** Steps between the elements that one window reads. Default 1. */
  readonly dilation?: Single;
  /** Groups of channels that do not see each other. Default 1. */
  readonly groups?: number;
}

/**
 * Cross-correlation of a batch of sequences with a bank of kernels.
 *
 * @param x `[batch, in, length]`, floats.
 * @param weight `[out, in / groups, kernel length]`.
 * @param bias `[out]`, or left out.
 * @param options Stride, padding, dilation, groups.
 * @returns `[batch, out, windows]` in the promoted dtype, with
 * `windows = floor((length + before + after - dilation * (kernel length - 1) - 1) / stride) + 1`.
 * @throws {ShapeError} if ranks, channels or the bias do not fit, or a window is longer than the padded sequence.
 * @throws {DTypeError} if the operands are not floats.
 * @throws {ValueError} if an option is not a whole number in its range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const x = tensor([[[1, 2, 3, 4]]]);
 * const difference = tensor([[[-1, 1]]]);
 * const { conv1d } = nn.functional;
 * assertEquals(await conv1d(x, difference).toArray(), [[[1, 1, 1]]]);
 * const same = conv1d(x, difference, tensor([10]), { padding: "same" });
 * assertEquals(await same.toArray(), [[[11, 11, 11, 6]]]);
 * ```
 */
export function conv1d(
  x: Tensor,
  weight: Tensor,
  bias?: Tensor,
  options: Conv1dOptions = {},
): Tensor {
  return convolve("conv1d", x, weight, bias, options);
}

/** Options of `conv3d`. */
export interface Conv3dOptions {
  /** Steps between windows. Default 1. */
  readonly stride?: Triple;
  /** Zeros around the volume. Default 0. */
  readonly padding?: Padding3d;
  /** Steps between the elements that one window reads. Default 1. */
  readonly dilation?: Triple;
  /** Groups of channels that do not see each other. Default 1. */
  readonly groups?: number;
}

/**
 * Cross-correlation of a batch of volumes with a bank of kernels.
 *
 * @param x `[batch, in, depth, height, width]`, floats.
 * @param weight `[out, in / groups, kernel depth, kernel height, kernel width]`.
 * @param bias `[out]`, or left out.
 * @param options Strides, padding, dilation, groups.
 * @returns `[batch, out, planes, rows, columns]` in the promoted dtype; each size follows from its axis as
 * in `conv1d`.
 * @throws {ShapeError} if ranks, channels or the bias do not fit, or a window is larger than the padded volume.
 * @throws {DTypeError} if the operands are not floats.
 * @throws {ValueError} if an option is not a whole number in its range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, ones } from "../mod.ts";
 *
 * const y = nn.functional.conv3d(ones([1, 1, 2, 2, 3]), ones([1, 1, 2, 2, 2]), ones([1]));
 * assertEquals(await y.toArray(), [[[[[9, 9]]]]]);
 * const padded = nn.functional.conv3d(ones([1, 2, 4, 4, 4]), ones([6, 1, 3, 3, 3]), undefined, {
 *   padding: 1,
 *   stride: [1, 2, 2],
 *   groups: 2,
 * });
 * assertEquals(padded.shape, [1, 6, 4, 2, 2]);
 * ```
 */
export function conv3d(
  x: Tensor,
  weight: Tensor,
  bias?: Tensor,
  options: Conv3dOptions = {},
): Tensor {
  return convolve("conv3d", x, weight, bias, options);
}
