// Pooling of sequences and volumes, by that of images: a sequence is an image of height 1; a window of a
// volume is pooled in its planes first, then across them.
import { ValueError } from "../core/errors.ts";
import { composite, engine, type Operand } from "../core/op.ts";
import { expectOptions, expectTensors } from "../core/operands.ts";
import { type Shape, sizeOf } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { avgPool2d, maxPool2d } from "./pool.ts";
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
  type Single,
  type Triple,
} from "./sliding.ts";

/** Options as they come. */
interface AnyPoolOptions {
  readonly stride?: Numbers;
  readonly padding?: AnyPadding;
  readonly ceilMode?: boolean;
}

/** One axis of a sliding window. */
interface AxisWindow {
  readonly kernel: number;
  readonly stride: number;
  readonly padding: Ends;
}

function windowAxes(
  call: string,
  x: Tensor,
  kernel: Numbers,
  options: AnyPoolOptions,
): AxisWindow[] {
  const sizes = x.shape.slice(2);
  const rank = sizes.length;
  const windows = numbersOf(call, "kernel", kernel, rank, 1);
  const stride = numbersOf(call, "stride", options.stride ?? windows, rank, 1);
  const padding = endsOf(call, options.padding ?? 0, sizes, windows, stride);
  for (const [i, ends] of padding.entries()) {
    const most = Math.max(...ends);
    if (most * 2 <= windows[i]) continue;
    throw new ValueError(
      `Cannot ${call} with kernel [${
        windows.join(", ")
      }] and padding of ${most}: it must be at most ` +
        "half the kernel, so that no window lies outside the input",
    );
  }
  requireRoom(call, sizes, windows, padding);
  return windows.map((n, i) => ({ kernel: n, stride: stride[i], padding: padding[i] }));
}

const ALONE: AxisWindow = { kernel: 1, stride: 1, padding: [0, 0] };

/** What the pooling of images is called with for two axes. */
function imagePool(down: AxisWindow, along: AxisWindow, ceilMode = false): {
  kernel: readonly [number, number];
  options: {
    stride: readonly [number, number];
    padding: readonly [Ends, Ends];
    ceilMode: boolean;
  };
} {
  return {
    kernel: [down.kernel, along.kernel],
    options: {
      stride: [down.stride, along.stride],
      padding: [down.padding, along.padding],
      ceilMode,
    },
  };
}

/** A volume with its planes as channels. */
function planesOf(x: Tensor): Tensor {
  const [batch, channels, depth, height, width] = x.shape;
  return op.reshape(x, [batch, channels * depth, height, width]);
}

/** Pooled planes as images of which every column is a line through them. */
function linesOf(y: Tensor, [batch, channels, depth]: Shape): Tensor {
  return op.reshape(y, [batch, channels, depth, sizeOf(y.shape.slice(2))]);
}

// --- sequences ----------------------------------------------------------------------------------------

/** Options of pooling of sequences. */
export interface Pool1dOptions {
  /** Steps between windows. Default: the kernel, so that windows lie side by side. */
  readonly stride?: Single;
  /** At the ends of the sequence; it never wins a maximum. At most half the kernel. Default 0. */
  readonly padding?: Padding1d;
  /** Whether what is left over at the end gets a window of its own. Default false. */
  readonly ceilMode?: boolean;
}

/** Options of `maxPool1d`. */
export interface MaxPool1dOptions extends Pool1dOptions {
  /** Give the positions of the largest elements too. Default false. */
  readonly returnMask?: boolean;
}

/**
 * The largest element of each window of a batch of sequences; NaN if the window has one.
 *
 * @param x `[batch, channels, length]`, floats.
 * @param kernel Size of the window.
 * @param options With `returnMask`, the result is `[values, mask]`.
 * @returns `[batch, channels, windows]`. The mask is int32: positions in the unpadded sequence. Of equal
 * elements the first one wins, and gets the whole gradient.
 * @throws {ShapeError} if `x` has another rank, or a window is longer than the padded sequence.
 * @throws {DTypeError} if `x` is not floats.
 * @throws {ValueError} if an option is out of range, or an end is padded by more than half the kernel.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const x = tensor([[[1, 5, 2, 0]]]);
 * assertEquals(await nn.functional.maxPool1d(x, 2).toArray(), [[[5, 2]]]);
 * const [, mask] = nn.functional.maxPool1d(x, 3, { stride: 1, returnMask: true });
 * assertEquals(await mask.toArray(), [[[1, 1]]]);
 * ```
 */
export function maxPool1d(
  x: Tensor,
  kernel: Single,
  options: MaxPool1dOptions & { readonly returnMask: true },
): [Tensor, Tensor];
export function maxPool1d(
  x: Tensor,
  kernel: Single,
  options?: Pool1dOptions & { readonly returnMask?: false },
): Tensor;
export function maxPool1d(
  x: Tensor,
  kernel: Single,
  options: MaxPool1dOptions = {},
): Tensor | [Tensor, Tensor] {
  expectTensors("maxPool1d", x);
  expectOptions("maxPool1d", options);
  requireBatch("maxPool1d", x, 1);
  const [along] = windowAxes("maxPool1d", x, kernel, options);
  const image = imagePool(ALONE, along, options.ceilMode);
  const [values, mask] = maxPool2d(op.unsqueeze(x, 2), image.kernel, {
    ...image.options,
    returnMask: true,
  });
  return options.returnMask ? [op.squeeze(values, 2), op.squeeze(mask, 2)] : op.squeeze(values, 2);
}

/** Options of `avgPool1d`. */
export interface AvgPool1dOptions extends Pool1dOptions {
  /** Leave padding out of the count that is divided by (the opposite of PyTorch's count_include_pad). Default true. */
  readonly exclusive?: boolean;
}

/**
 * The average of each window of a batch of sequences.
 *
 * @param x `[batch, channels, length]`, floats.
 * @param kernel Size of the window.
 * @param options Stride, padding, and what is counted.
 * @returns `[batch, channels, windows]`.
 * @throws {ShapeError} if `x` has another rank, or a window is longer than the padded sequence.
 * @throws {DTypeError} if `x` is not floats.
 * @throws {ValueError} if an option is out of range, or an end is padded by more than half the kernel.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const x = tensor([[[1, 5, 2, 0]]]);
 * assertEquals(await nn.functional.avgPool1d(x, 2).toArray(), [[[3, 1]]]);
 * ```
 */
export function avgPool1d(x: Tensor, kernel: Single, options: AvgPool1dOptions = {}): Tensor {
  expectTensors("avgPool1d", x);
  expectOptions("avgPool1d", options);
  requireBatch("avgPool1d", x, 1);
  const [along] = windowAxes("avgPool1d", x, kernel, options);
  const image = imagePool(ALONE, along, options.ceilMode);
  const { exclusive } = options;
  const y = avgPool2d(op.unsqueeze(x, 2), image.kernel, { ...image.options, exclusive });
  return op.squeeze(y, 2);
}

// --- volumes ------------------------------------------------------------------------------------------

/** Options of pooling of volumes. */
export interface Pool3dOptions {
  /** Steps between windows. Default: the kernel, so that windows lie side by side. */
  readonly stride?: Triple;
  /** Around the volume; it never wins a maximum. At most half the kernel. Default 0. */
  readonly padding?: Padding3d;
  /** Whether what is left over at the end gets a window of its own. Default false. */
  readonly ceilMode?: boolean;
}

/** Options of `maxPool3d`. */
export interface MaxPool3dOptions extends Pool3dOptions {
  /** Give the positions of the largest elements too. Default false. */
  readonly returnMask?: boolean;
}

/**
 * The largest element of each window of a batch of volumes; NaN if the window has one.
 *
 * @param x `[batch, channels, depth, height, width]`, floats.
 * @param kernel Sizes of the window.
 * @param options With `returnMask`, the result is `[values, mask]`.
 * @returns `[batch, channels, planes, rows, columns]`. The mask is int32: (plane · height + row) · width +
 * column in the unpadded volume. Of equal elements the first one wins, and gets the whole gradient.
 * @throws {ShapeError} if `x` has another rank, or a window is larger than the padded volume.
 * @throws {DTypeError} if `x` is not floats.
 * @throws {ValueError} if an option is out of range, or a side is padded by more than half the kernel.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const x = tensor([[[[[1, 5], [2, 0]], [[3, 4], [9, 1]]]]]);
 * assertEquals(await nn.functional.maxPool3d(x, 2).toArray(), [[[[[9]]]]]);
 * const [, mask] = nn.functional.maxPool3d(x, [1, 2, 2], { returnMask: true });
 * assertEquals(await mask.toArray(), [[[[[1]], [[6]]]]]);
 * ```
 */
export function maxPool3d(
  x: Tensor,
  kernel: Triple,
  options: MaxPool3dOptions & { readonly returnMask: true },
): [Tensor, Tensor];
export function maxPool3d(
  x: Tensor,
  kernel: Triple,
  options?: Pool3dOptions & { readonly returnMask?: false },
): Tensor;
export function maxPool3d(
  x: Tensor,
  kernel: Triple,
  options: MaxPool3dOptions = {},
): Tensor | [Tensor, Tensor] {
  expectTensors("maxPool3d", x);
  expectOptions("maxPool3d", options);
  requireBatch("maxPool3d", x, 3);
  const [deep, down, along] = windowAxes("maxPool3d", x, kernel, options);
  const image = imagePool(down, along, options.ceilMode);
  const [flat, inPlane] = maxPool2d(planesOf(x), image.kernel, {
    ...image.options,
    returnMask: true,
  });
  const line = imagePool(deep, ALONE, options.ceilMode);
  const [best, across] = maxPool2d(linesOf(flat, x.shape), line.kernel, {
    ...line.options,
    returnMask: true,
  });
  const [rows, columns] = flat.shape.slice(2);
  const shape = [x.shape[0], x.shape[1], best.shape[2], rows, columns];
  const values = op.reshape(best, shape);
  if (!options.returnMask) return values;
  const points = rows * columns;
  const operands = [linesOf(inPlane, x.shape), across, points, x.shape[3] * x.shape[4]];
  return [values, op.reshape(engine.call(POSITIONS, operands), shape)];
}

/** Positions in planes and of planes, as positions in the volume. */
const POSITIONS = composite({
  name: "maxPool3dPositions",
  body: ([inPlane, across, points, area]: readonly Operand[]) => {
    const plane = op.floorDivide(across as Tensor, points);
    const within = op.takeAlongAxis(inPlane as Tensor, plane, 2);
    return op.add(op.mul(plane, area), within);
  },
  vjp: null,
  samples: () => [{
    inputs: [
      { values: [3, 0, 1, 2, 3, 0], shape: [1, 1, 3, 2], dtype: "int32" },
      { values: [2, 5], shape: [1, 1, 1, 2], dtype: "int32" },
      2,
      4,
    ],
  }],
});

/** Options of `avgPool3d`. */
export interface AvgPool3dOptions extends Pool3dOptions {
  /** Leave padding out of the count that is divided by (the opposite of PyTorch's count_include_pad). Default true. */
  readonly exclusive?: boolean;
}

/**
 * The average of each window of a batch of volumes.
 *
 * @param x `[batch, channels, depth, height, width]`, floats.
 * @param kernel Sizes of the window.
 * @param options Strides, padding, and what is counted.
 * @returns `[batch, channels, planes, rows, columns]`.
 * @throws {ShapeError} if `x` has another rank, or a window is larger than the padded volume.
 * @throws {DTypeError} if `x` is not floats.
 * @throws {ValueError} if an option is out of range, or a side is padded by more than half the kernel.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const x = tensor([[[[[1, 5], [2, 0]], [[3, 4], [9, 0]]]]]);
 * assertEquals(await nn.functional.avgPool3d(x, 2).toArray(), [[[[[3]]]]]);
 * ```
 */
export function avgPool3d(x: Tensor, kernel: Triple, options: AvgPool3dOptions = {}): Tensor {
  expectTensors("avgPool3d", x);
  expectOptions("avgPool3d", options);
  requireBatch("avgPool3d", x, 3);
  const [deep, down, along] = windowAxes("avgPool3d", x, kernel, options);
  const { ceilMode, exclusive } = options;
  const image = imagePool(down, along, ceilMode);
  const flat = avgPool2d(planesOf(x), image.kernel, { ...image.options, exclusive });
  const line = imagePool(deep, ALONE, ceilMode);
  const y = avgPool2d(linesOf(flat, x.shape), line.kernel, { ...line.options, exclusive });
  return op.reshape(y, [x.shape[0], x.shape[1], y.shape[2], ...flat.shape.slice(2)]);
}
