// Transposed convolution of sequences, images and volumes: what carries gradients back through a convolution,
// used forward. Its weight is [in, out / groups, …], as in Paddle and PyTorch.
import { expectOptions } from "../core/operands.ts";
import { ShapeError, ValueError } from "../core/errors.ts";
import { type Attrs, composite, engine, type Operand } from "../core/op.ts";
import { type Shape, showShape } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { contractible } from "./contraction.ts";
import { INPUT_GRAD } from "./conv.ts";
import {
  biased,
  type ConvAttrs,
  depthAttrs,
  flatImage,
  flatWeight,
  gatherPlanes,
  imageAttrs,
} from "./conv_nd.ts";
import {
  type AnyPadding,
  type Ends,
  endsOf,
  type Numbers,
  numbersOf,
  type Padding1d,
  type Padding3d,
  requireBatch,
  requireWeight,
  type Single,
  type Triple,
  windowsOf,
} from "./sliding.ts";
import type { Padding2d, Pair } from "./window.ts";

interface TransposeAttrs extends ConvAttrs {
  /** Sizes of the output along the axes. */
  readonly outputSize: Shape;
}

const transposeAttrs = (attrs: Attrs): TransposeAttrs => attrs as unknown as TransposeAttrs;

/** What INPUT_GRAD is called with, given the attrs of images. */
function gradAttrs(image: ConvAttrs, inputSize: Shape): Attrs {
  return { ...image, inputSize };
}

const TRANSPOSE1 = composite({
  name: "conv1dTranspose",
  amp: "white",
  body: ([x, w, bias], attrs) => {
    const [length] = transposeAttrs(attrs).outputSize;
    const how = gradAttrs(imageAttrs(attrs), [1, length]);
    const y = biased(engine.call(INPUT_GRAD, [flatImage(x), flatImage(w)], how), bias);
    return op.reshape(y, [y.shape[0], y.shape[1], length]);
  },
  samples: () => [
    {
      inputs: [{ shape: [2, 3, 4] }, { shape: [3, 2, 3] }, { shape: [2] }],
      attrs: { stride: [1], padding: [[0, 0]], dilation: [1], groups: 1, outputSize: [6] },
    },
    {
      inputs: [{ shape: [1, 4, 3] }, { shape: [4, 1, 2] }],
      attrs: { stride: [3], padding: [[1, 0]], dilation: [2], groups: 2, outputSize: [10] },
    },
  ],
});

const TRANSPOSE2 = composite({
  name: "conv2dTranspose",
  amp: "white",
  body: ([x, w, bias], attrs) => {
    const { outputSize, stride, padding, dilation, groups } = transposeAttrs(attrs);
    const how = gradAttrs({ stride, padding, dilation, groups }, outputSize);
    return biased(engine.call(INPUT_GRAD, [x, w], how), bias);
  },
  samples: () => [
    {
      inputs: [{ shape: [2, 3, 2, 3] }, { shape: [3, 2, 3, 2] }, { shape: [2] }],
      attrs: {
        stride: [2, 1],
        padding: [[1, 0], [0, 1]],
        dilation: [1, 2],
        groups: 1,
        outputSize: [5, 4],
      },
    },
  ],
});

const TRANSPOSE3 = composite({
  name: "conv3dTranspose",
  amp: "white",
  body: ([operand, weight, bias], attrs) => {
    const [x, w] = [operand as Tensor, weight as Tensor];
    const [batch, channels, planes, ...image] = x.shape;
    const [depth, height, width] = transposeAttrs(attrs).outputSize;
    const images = op.reshape(op.permute(x, [0, 2, 1, 3, 4]), [batch * planes, channels, ...image]);
    const how = gradAttrs(imageAttrs(attrs), [height, width]);
    const y = engine.call(INPUT_GRAD, [images, flatWeight(w)], how);
    const kernel = w.shape[2];
    const out = y.shape[1] / kernel;
    const spread = op.reshape(y, [batch, planes, out, kernel, height * width]);
    const volume = gatherPlanes(spread, depthAttrs(attrs, depth, kernel));
    const shape = [batch, out, depth, height, width];
    if (bias === undefined) return op.reshape(volume, shape);
    return op.reshape(op.add(volume, op.reshape(bias as Tensor, [out, 1, 1])), shape);
  },
  samples: () => [
    {
      inputs: [{ shape: [2, 2, 2, 3, 2] }, { shape: [2, 3, 2, 2, 3] }, { shape: [3] }],
      attrs: {
        stride: [1, 1, 1],
        padding: [[0, 0], [0, 0], [0, 0]],
        dilation: [1, 1, 1],
        groups: 1,
        outputSize: [3, 4, 4],
      },
    },
    {
      inputs: [{ shape: [1, 4, 3, 2, 2] }, { shape: [4, 1, 2, 2, 1] }],
      attrs: {
        stride: [3, 2, 2],
        padding: [[1, 1], [0, 1], [0, 0]],
        dilation: [2, 1, 1],
        groups: 2,
        outputSize: [8, 4, 3],
      },
    },
  ],
});

const BY_RANK = [TRANSPOSE1, TRANSPOSE1, TRANSPOSE2, TRANSPOSE3];

/** Options as they come. */
interface AnyTransposeOptions {
  readonly stride?: Numbers;
  readonly padding?: AnyPadding;
  readonly outputPadding?: Numbers;
  readonly dilation?: Numbers;
  readonly groups?: number;
  readonly outputSize?: Numbers;
}

/** The sizes of the output: those asked for, or the smallest ones and the output padding. */
function outputSizes(
  call: string,
  x: Tensor,
  windows: Shape,
  stride: readonly number[],
  padding: readonly Ends[],
  options: AnyTransposeOptions,
): number[] {
  const rank = windows.length;
  const least = windows.map((window, i) =>
    (x.shape[2 + i] - 1) * stride[i] + window - padding[i][0] - padding[i][1]
  );
  const said = `Cannot ${call} ${showShape(x.shape)}`;
  if (options.outputSize !== undefined) {
    if (options.outputPadding !== undefined) {
      throw new ValueError(`${said} with outputSize and outputPadding: give one of them`);
    }
    const asked = numbersOf(call, "outputSize", options.outputSize, rank, 1);
    asked.forEach((n, i) => {
      if (n >= least[i] && n < least[i] + stride[i]) return;
      throw new ValueError(
        `${said} with outputSize [${asked.join(", ")}]: with stride ${stride[i]} axis ${
          2 + i
        } must be ` +
          `from ${least[i]} to ${least[i] + stride[i] - 1}: got ${n}`,
      );
    });
    return asked;
  }
  const more = numbersOf(call, "outputPadding", options.outputPadding ?? 0, rank, 0);
  return least.map((n, i) => {
    if (more[i] >= stride[i]) {
      throw new ValueError(
        `${said} with outputPadding ${
          more[i]
        }: it must be less than the stride of that axis: got ` +
          `${stride[i]}`,
      );
    }
    if (n + more[i] < 1) {
      throw new ShapeError(
        `${said}: nothing would be left of axis ${2 + i}: its size would be ${
          n + more[i]
        }; use less ` +
          "padding",
      );
    }
    return n + more[i];
  });
}

function transpose(
  call: string,
  rank: number,
  operands: readonly [Tensor, Tensor, Tensor | undefined],
  options: AnyTransposeOptions,
): Tensor {
  const [x, weight, bias] = operands;
  expectOptions(call, options);
  requireBatch(call, x, rank);
  const stride = numbersOf(call, "stride", options.stride ?? 1, rank, 1);
  const dilation = numbersOf(call, "dilation", options.dilation ?? 1, rank, 1);
  const [groups] = numbersOf(call, "groups", options.groups ?? 1, 1, 1);
  requireWeight(call, x, weight, bias, groups, true);
  const windows = windowsOf(weight.shape.slice(2), dilation);
  const padding = endsOf(call, options.padding ?? 0, x.shape.slice(2), windows, stride);
  const outputSize = outputSizes(call, x, windows, stride, padding, options);
  const given = bias === undefined ? [x, weight] : [x, weight, bias];
  const attrs = { stride, padding, dilation, groups, outputSize };
  const all: readonly Operand[] = contractible(call, ...given);
  return engine.call(BY_RANK[rank], all, attrs);
}

/** Options of `conv1dTranspose`. */
export interface Conv1dTransposeOptions {
  /** Steps between the windows that the input's elements spread to. Default 1. */
  readonly stride?: Single;
  /** Elements cut off at the ends of the output. Default 0. */
  readonly padding?: Padding1d;
  /** Elements added at the end of the output; less than the stride. Default 0. */
  readonly outputPadding?: Single;
  /** Steps between the elements of one window. Default 1. */
  readonly dilation?: Single;
  /** Groups of channels that do not see each other. Default 1. */
  readonly groups?: number;
  /** The length of the output, instead of `outputPadding`. */
  readonly outputSize?: Single;
}

/**
 * Transposed convolution of a batch of sequences: every element is spread over a window of the output.
 *
 * @param x `[batch, in, length]`, floats.
 * @param weight `[in, out / groups, kernel length]`.
 * @param bias `[out]`, or left out.
 * @param options Stride, padding, output padding or size, dilation, groups.
 * @returns `[batch, out, length of the output]` in the promoted dtype, with length of the output
 * `(length - 1) * stride - before - after + dilation * (kernel length - 1) + 1 + outputPadding`.
 * @throws {ShapeError} if ranks, channels or the bias do not fit, or nothing would be left.
 * @throws {DTypeError} if the operands are not floats.
 * @throws {ValueError} if an option is out of its range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const { conv1dTranspose } = nn.functional;
 * const x = tensor([[[1, 2]]]);
 * const weight = tensor([[[1, 10, 100]]]);
 * assertEquals(await conv1dTranspose(x, weight).toArray(), [[[1, 12, 120, 200]]]);
 * const wide = conv1dTranspose(x, weight, undefined, { stride: 3, outputSize: 7 });
 * assertEquals(await wide.toArray(), [[[1, 10, 100, 2, 20, 200, 0]]]);
 * ```
 */
export function conv1dTranspose(
  x: Tensor,
  weight: Tensor,
  bias?: Tensor,
  options: Conv1dTransposeOptions = {},
): Tensor {
  return transpose("conv1dTranspose", 1, [x, weight, bias], options);
}

/** Options of `conv2dTranspose`. */
export interface Conv2dTransposeOptions {
  /** Steps between the windows that the input's elements spread to. Default 1. */
  readonly stride?: Pair;
  /** Elements cut off at the edges of the output. Default 0. */
  readonly padding?: Padding2d;
  /** Rows and columns added at the end of the output; fewer than the strides. Default 0. */
  readonly outputPadding?: Pair;
  /** Steps between the elements of one window. Default 1. */
  readonly dilation?: Pair;
  /** Groups of channels that do not see each other. Default 1. */
  readonly groups?: number;
  /** Height and width of the output, instead of `outputPadding`. */
  readonly outputSize?: Pair;
}

/**
 * Transposed convolution of a batch of images: every element is spread over a window of the output.
 *
 * @param x `[batch, in, height, width]`, floats.
 * @param weight `[in, out / groups, kernel height, kernel width]`.
 * @param bias `[out]`, or left out.
 * @param options Strides, padding, output padding or size, dilation, groups.
 * @returns `[batch, out, rows, columns]` in the promoted dtype; each size follows from its axis as in
 * `conv1dTranspose`.
 * @throws {ShapeError} if ranks, channels or the bias do not fit, or nothing would be left.
 * @throws {DTypeError} if the operands are not floats.
 * @throws {ValueError} if an option is out of its range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, ones, tensor } from "../mod.ts";
 *
 * const x = tensor([[[[1, 2], [3, 4]]]]);
 * const y = nn.functional.conv2dTranspose(x, ones([1, 1, 2, 2]), undefined, { stride: 2 });
 * assertEquals(await y.toArray(), [[[[1, 1, 2, 2], [1, 1, 2, 2], [3, 3, 4, 4], [3, 3, 4, 4]]]]);
 * ```
 */
export function conv2dTranspose(
  x: Tensor,
  weight: Tensor,
  bias?: Tensor,
  options: Conv2dTransposeOptions = {},
): Tensor {
  return transpose("conv2dTranspose", 2, [x, weight, bias], options);
}

/** Options of `conv3dTranspose`. */
export interface Conv3dTransposeOptions {
  /** Steps between the windows that the input's elements spread to. Default 1. */
  readonly stride?: Triple;
  /** Elements cut off at the faces of the output. Default 0. */
  readonly padding?: Padding3d;
  /** Elements added at the end of each axis of the output; fewer than the strides. Default 0. */
  readonly outputPadding?: Triple;
  /** Steps between the elements of one window. Default 1. */
  readonly dilation?: Triple;
  /** Groups of channels that do not see each other. Default 1. */
  readonly groups?: number;
  /** Depth, height and width of the output, instead of `outputPadding`. */
  readonly outputSize?: Triple;
}

/**
 * Transposed convolution of a batch of volumes: every element is spread over a window of the output.
 *
 * @param x `[batch, in, depth, height, width]`, floats.
 * @param weight `[in, out / groups, kernel depth, kernel height, kernel width]`.
 * @param bias `[out]`, or left out.
 * @param options Strides, padding, output padding or size, dilation, groups.
 * @returns `[batch, out, planes, rows, columns]` in the promoted dtype; each size follows from its axis as
 * in `conv1dTranspose`.
 * @throws {ShapeError} if ranks, channels or the bias do not fit, or nothing would be left.
 * @throws {DTypeError} if the operands are not floats.
 * @throws {ValueError} if an option is out of its range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, ones, tensor } from "../mod.ts";
 *
 * const x = tensor([[[[[1, 2]]]]]);
 * const y = nn.functional.conv3dTranspose(x, ones([1, 1, 2, 1, 2]), tensor([5]));
 * assertEquals(await y.toArray(), [[[[[6, 8, 7]], [[6, 8, 7]]]]]);
 * ```
 */
export function conv3dTranspose(
  x: Tensor,
  weight: Tensor,
  bias?: Tensor,
  options: Conv3dTransposeOptions = {},
): Tensor {
  return transpose("conv3dTranspose", 3, [x, weight, bias], options);
}
