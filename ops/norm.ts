// Normalizations: elements are centred and scaled by statistics of some axes, then weighted. One core,
// `standardize`, with a gradient of its own, serves layers, batches, groups and instances.
import { isFloat } from "../core/dtype.ts";
import { describe } from "../core/describe.ts";
import { DTypeError, ShapeError, ValueError } from "../core/errors.ts";
import { composite, elementwise, engine, type Operand, promoteFloat } from "../core/op.ts";
import * as k from "../core/ir/expr.ts";
import { noGrad } from "../core/autograd.ts";
import { expectNumbers, expectOptional, expectOptions, expectTensors } from "../core/operands.ts";
import { normalizeAxis, sameShape, type Shape, showShape } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { toFloat } from "./common.ts";

type Axes = readonly number[];
const KEEP = { keepdim: true };

const STANDARDIZE = composite({
  name: "standardize",
  amp: "black",
  body: ([operand, epsilon], attrs) => {
    const x = operand as Tensor;
    const axes = attrs.axes as Axes;
    // Two passes: both are plain sums, which are blocked and need no division inside the loop.
    const mean = op.mean(x, axes, KEEP);
    const centred = op.sub(x, mean);
    const variance = op.mean(op.mul(centred, centred), axes, KEEP);
    return [op.mul(centred, op.rsqrt(op.add(variance, epsilon))), mean, variance];
  },
  vjp: ([g, gMean, gVariance], { inputs, outputs: [y, , variance], attrs }) => {
    const axes = attrs.axes as Axes;
    const [x, epsilon] = inputs as readonly Tensor[];
    const n = axes.reduce((m, a) => m * x.shape[a], 1);
    const spread = op.add(variance, epsilon);
    // d mean / dx = 1 / n and d variance / dx = 2 (x - mean) / n, with x - mean = y √spread: both join
    // the sums of the row, so that a point costs nothing more.
    const ofMean = op.mul(op.sqrt(spread), op.div(gMean, n));
    const ofVariance = op.mul(spread, op.mul(gVariance, 2 / n));
    const level = op.sub(op.mean(g, axes, KEEP), ofMean);
    const along = op.sub(op.mean(op.mul(g, y), axes, KEEP), ofVariance);
    const free = op.sub(op.sub(g, level), op.mul(y, along));
    return [op.mul(free, op.rsqrt(spread)), null];
  },
  saves: "both",
  samples: () => [
    { inputs: [{ shape: [2, 5] }, 1e-5], attrs: { axes: [1] } },
    { inputs: [{ shape: [3, 2, 4] }, 0.1], attrs: { axes: [0, 2] } },
    { inputs: [{ shape: [0, 3] }, 1e-5], attrs: { axes: [1] } },
    {
      inputs: [{ values: [2, 2, 2, 1000, 1001, 1002], shape: [2, 3] }, 1e-5],
      attrs: { axes: [1] },
      noGrad: true,
    },
  ],
});

/** x with mean 0 and variance 1 over the axes; also the mean and the (biased) variance. */
function standardize(x: Operand, epsilon: Operand, axes: Axes): Tensor[] {
  return engine.callMany(STANDARDIZE, [x, epsilon], { axes });
}

/** y · weight + bias, of those that are there; both brought to `shape`, which broadcasts to y. */
function affine(
  y: Tensor,
  rest: readonly Operand[],
  attrs: Readonly<Record<string, unknown>>,
  shape: Shape,
): Tensor {
  let out = y;
  if (attrs.weighted) out = op.mul(out, op.reshape(rest[0] as Tensor, shape));
  if (attrs.biased) out = op.add(out, op.reshape(rest[rest.length - 1] as Tensor, shape));
  return out;
}

/** Weight and bias, if there are any, and the attrs that say so. */
function optional(weight: Tensor | undefined, bias: Tensor | undefined): {
  operands: Tensor[];
  flags: { weighted: boolean; biased: boolean };
} {
  const operands = [weight, bias].filter((x) => x !== undefined);
  return { operands, flags: { weighted: weight !== undefined, biased: bias !== undefined } };
}

function requireShape(call: string, what: string, x: Tensor | undefined, shape: Shape): void {
  expectOptional(call, x);
  if (x === undefined || sameShape(x.shape, shape)) return;
  throw new ShapeError(
    `Cannot ${call} with ${what} ${showShape(x.shape)}: expected ${showShape(shape)}`,
  );
}

function requirePositive(call: string, epsilon: number): void {
  if (epsilon >= 0) return;
  throw new ValueError(`Cannot ${call} with epsilon ${epsilon}: it must be at least 0`);
}

const LAYER_NORM = composite({
  name: "layerNorm",
  amp: "black",
  body: ([x, epsilon, ...rest], attrs) => {
    const { shape } = x as Tensor;
    const tail = shape.slice(shape.length - (attrs.axes as Axes).length);
    const [y] = standardize(x, epsilon, attrs.axes as Axes);
    return affine(y, rest, attrs, tail);
  },
  samples: () => [
    { inputs: [{ shape: [2, 5] }, 1e-5], attrs: { axes: [1], weighted: false, biased: false } },
    {
      inputs: [{ shape: [2, 3, 4] }, 1e-3, { shape: [3, 4] }, { shape: [3, 4] }],
      attrs: { axes: [1, 2], weighted: true, biased: true },
    },
    {
      inputs: [{ shape: [0, 3] }, 1e-5, { shape: [3] }],
      attrs: { axes: [1], weighted: true, biased: false },
    },
  ],
});

/** Options of normalizations with a weight and a bias. */
export interface NormalizationOptions {
  /** Factors of the normalized elements. */
  readonly weight?: Tensor;
  /** What is added after that. */
  readonly bias?: Tensor;
  /** Added to the variance. Default 1e-5. */
  readonly epsilon?: number;
}

/**
 * (x - mean) / √(variance + epsilon) · weight + bias, with statistics of the last axes of each sample.
 *
 * @param x Any shape that ends in `normalizedShape`.
 * @param normalizedShape Sizes of the last axes, or of the last one.
 * @param options `weight` and `bias` have `normalizedShape`.
 * @returns The shape of `x`. The variance is the biased one.
 * @throws {ShapeError} if `x` does not end in `normalizedShape`, or weight or bias has another shape.
 * @throws {ValueError} if epsilon is negative.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const y = nn.functional.layerNorm(tensor([[1, 3], [5, 5]]), 2, { epsilon: 1e-12 });
 * assertEquals(await y.toArray(), [[-1, 1], [0, 0]]);
 * ```
 */
export function layerNorm(
  x: Tensor,
  normalizedShape: number | readonly number[],
  options: NormalizationOptions = {},
): Tensor {
  expectOptions("layerNorm", options);
  const { weight, bias, epsilon = 1e-5 } = options;
  const shape = expectNumbers("layerNorm", "the normalized shape", normalizedShape);
  expectTensors("layerNorm", x);
  const first = x.rank - shape.length;
  if (shape.length === 0 || first < 0 || !sameShape(x.shape.slice(first), shape)) {
    throw new ShapeError(
      `Cannot layerNorm ${showShape(x.shape)} over ${
        showShape(shape)
      }: the input must end in the ` +
        "normalized shape",
    );
  }
  requireShape("layerNorm", "weight", weight, shape);
  requireShape("layerNorm", "bias", bias, shape);
  requirePositive("layerNorm", epsilon);
  const { operands, flags } = optional(weight, bias);
  const axes = shape.map((_, i) => first + i);
  return engine.call(LAYER_NORM, [toFloat(x), epsilon, ...operands], { axes, ...flags });
}

const RMS_NORM = composite({
  name: "rmsNorm",
  amp: "black",
  body: ([operand, epsilon, ...rest], attrs) => {
    const x = operand as Tensor;
    const axis = x.rank - 1;
    const power = op.mean(op.mul(x, x), axis, KEEP);
    return affine(op.mul(x, op.rsqrt(op.add(power, epsilon))), rest, attrs, [x.shape[axis]]);
  },
  samples: () => [
    { inputs: [{ shape: [2, 5] }, 1e-5], attrs: { weighted: false, biased: false } },
    {
      inputs: [{ shape: [2, 3, 4] }, 0.1, { shape: [4] }],
      attrs: { weighted: true, biased: false },
    },
    {
      inputs: [{ values: [0, 0, 0, 1], shape: [2, 2] }, 0.1],
      attrs: { weighted: false, biased: false },
    },
  ],
});

/** Options of `rmsNorm`. */
export interface RmsNormOptions {
  /** Factors of the normalized elements. */
  readonly weight?: Tensor;
  /** Added to the mean square. Default 1e-5. */
  readonly epsilon?: number;
}

/**
 * x / √(mean(x²) + epsilon) · weight over the last axis.
 *
 * @param x Any shape of rank 1 or more.
 * @param options `weight` has one element for each along the last axis.
 * @returns The shape of `x`.
 * @throws {ShapeError} if `x` has rank 0, or the weight another size.
 * @throws {ValueError} if epsilon is negative.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const y = nn.functional.rmsNorm(tensor([7, -1]), { epsilon: 0, weight: tensor([5, 5]) });
 * assertEquals(await y.toArray(), [7, -1]);
 * ```
 */
export function rmsNorm(x: Tensor, options: RmsNormOptions = {}): Tensor {
  expectTensors("rmsNorm", x);
  expectOptions("rmsNorm", options);
  const { weight, epsilon = 1e-5 } = options;
  const axis = normalizeAxis("rmsNorm", -1, x.rank);
  requireShape("rmsNorm", "weight", weight, [x.shape[axis]]);
  requirePositive("rmsNorm", epsilon);
  const { operands, flags } = optional(weight, undefined);
  return engine.call(RMS_NORM, [toFloat(x), epsilon, ...operands], flags);
}

/** Everything but the channels, axis 1, of a batch. */
function batchAxes(rank: number): number[] {
  return Array.from({ length: rank }, (_, i) => i).filter((i) => i !== 1);
}

function perChannel(x: Tensor): Shape {
  return [x.shape[1], ...new Array<number>(x.rank - 2).fill(1)];
}

const BATCH_NORM_TRAIN = composite({
  name: "batchNormTrain",
  amp: "black",
  body: ([operand, epsilon, ...rest], attrs) => {
    const x = operand as Tensor;
    const [y, mean, variance] = standardize(x, epsilon, batchAxes(x.rank));
    const channels = [x.shape[1]];
    return [
      affine(y, rest, attrs, perChannel(x)),
      op.reshape(mean, channels),
      op.reshape(variance, channels),
    ];
  },
  samples: () => [
    { inputs: [{ shape: [4, 3] }, 1e-5], attrs: { weighted: false, biased: false } },
    {
      inputs: [{ shape: [2, 3, 2, 2] }, 1e-3, { shape: [3] }, { shape: [3] }],
      attrs: { weighted: true, biased: true },
    },
  ],
});

const BATCH_NORM = composite({
  name: "batchNorm",
  amp: "black",
  body: ([operand, mean, variance, epsilon, ...rest], attrs) => {
    const x = operand as Tensor;
    const shape = perChannel(x);
    const scale = op.rsqrt(op.add(op.reshape(variance as Tensor, shape), epsilon));
    const y = op.mul(op.sub(x, op.reshape(mean as Tensor, shape)), scale);
    return affine(y, rest, attrs, shape);
  },
  samples: () => [
    {
      inputs: [{ shape: [4, 3] }, { shape: [3] }, { shape: [3], range: [0.5, 2] }, 1e-5],
      attrs: { weighted: false, biased: false },
    },
    {
      inputs: [
        { shape: [2, 3, 2, 2] },
        { shape: [3] },
        { shape: [3], range: [0.5, 2] },
        1e-3,
        { shape: [3] },
        { shape: [3] },
      ],
      attrs: { weighted: true, biased: true },
    },
  ],
});

const RUNNING = elementwise({
  name: "runningAverage",
  dtype: promoteFloat,
  scalar: ([old, fresh, momentum]) =>
    k.add(k.mul(old, momentum), k.mul(fresh, k.sub(k.constant(1, old.dtype), momentum))),
  vjp: null,
  saves: "none",
  samples: () => [{ inputs: [{ shape: [3] }, { shape: [3] }, 0.9], noGrad: true }],
});

/** Options of `batchNorm`. */
export interface BatchNormOptions extends NormalizationOptions {
  /** Take the statistics of the batch, and move the running ones towards them. Default false. */
  readonly training?: boolean;
  /** What stays of the running statistics at each step. Default 0.9 (Paddle; PyTorch's is 1 minus this). */
  readonly momentum?: number;
}

/**
 * (x - mean) / √(variance + epsilon) · weight + bias for each channel.
 *
 * In training the statistics are those of the batch, and the running ones are updated in place:
 * `running · momentum + batch · (1 - momentum)`, with the biased variance (Paddle; PyTorch takes the
 * unbiased one).
 *
 * @param x `[batch, channels, …]`.
 * @param runningMean `[channels]`.
 * @param runningVar `[channels]`.
 * @param options `weight` and `bias` are `[channels]`.
 * @returns The shape of `x`.
 * @throws {ShapeError} if `x` has fewer than 2 axes, or a statistic, the weight or the bias another size.
 * @throws {ValueError} if in training there is only one element for each channel, or epsilon is negative.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, ones, tensor, zeros } from "../mod.ts";
 *
 * const [mean, variance] = [zeros([1]), ones([1])];
 * const options = { training: true, momentum: 0.5, epsilon: 1e-12 };
 * const y = nn.functional.batchNorm(tensor([[1], [3]]), mean, variance, options);
 * assertEquals(await y.toArray(), [[-1], [1]]);
 * assertEquals(await mean.toArray(), [1]);
 * ```
 */
export function batchNorm(
  x: Tensor,
  runningMean: Tensor,
  runningVar: Tensor,
  options: BatchNormOptions = {},
): Tensor {
  expectOptions("batchNorm", options);
  const { weight, bias, training = false, momentum = 0.9, epsilon = 1e-5 } = options;
  expectTensors("batchNorm", x, runningMean, runningVar);
  if (x.rank < 2) {
    throw new ShapeError(
      `Cannot batchNorm ${showShape(x.shape)}: the channels are axis 1: got rank ${x.rank}; ` +
        "unsqueeze(0) adds the batch axis",
    );
  }
  const channels = [x.shape[1]];
  requireShape("batchNorm", "runningMean", runningMean, channels);
  requireShape("batchNorm", "runningVar", runningVar, channels);
  for (const running of [runningMean, runningVar]) {
    if (isFloat(running.dtype)) continue;
    throw new DTypeError(
      `Cannot batchNorm with ${running.dtype} statistics: they must be floats; cast them first`,
    );
  }
  requireShape("batchNorm", "weight", weight, channels);
  requireShape("batchNorm", "bias", bias, channels);
  requirePositive("batchNorm", epsilon);
  const { operands, flags } = optional(weight, bias);
  const floats = toFloat(x);
  if (!training) {
    const all = [floats, runningMean, runningVar, epsilon, ...operands];
    return engine.call(BATCH_NORM, all, flags);
  }
  if (x.numel === channels[0] && x.numel > 0) {
    throw new ValueError(
      `Cannot batchNorm ${showShape(x.shape)} in training: one element for each channel has no ` +
        "spread; use a larger batch, or eval mode",
    );
  }
  const [y, mean, variance] = engine.callMany(
    BATCH_NORM_TRAIN,
    [floats, epsilon, ...operands],
    flags,
  );
  noGrad(() => {
    const update = (running: Tensor, batch: Tensor): void => {
      const fresh = batch.dtype === running.dtype ? batch : op.cast(batch, running.dtype);
      engine.callInto(RUNNING, [running, fresh, momentum], {}, [running]);
    };
    update(runningMean, mean);
    update(runningVar, variance);
  });
  return y;
}

const GROUP_NORM = composite({
  name: "groupNorm",
  amp: "black",
  body: ([operand, epsilon, ...rest], attrs) => {
    const x = operand as Tensor;
    const [batch, channels, ...space] = x.shape;
    const groups = attrs.groups as number;
    // The channel axis is split, and everything happens in the split shape: one kernel.
    const split = op.reshape(x, [batch, groups, channels / groups, ...space]);
    const axes = split.shape.map((_, i) => i).slice(2);
    const [y] = standardize(split, epsilon, axes);
    const shape = [groups, channels / groups, ...space.map(() => 1)];
    return op.reshape(affine(y, rest, attrs, shape), x.shape);
  },
  samples: () => [
    {
      inputs: [{ shape: [2, 4, 3] }, 1e-5],
      attrs: { groups: 2, weighted: false, biased: false },
    },
    {
      inputs: [{ shape: [2, 4, 2, 2] }, 1e-3, { shape: [4] }, { shape: [4] }],
      attrs: { groups: 4, weighted: true, biased: true },
    },
  ],
});

function normGroups(
  call: string,
  x: Tensor,
  groups: number,
  options: NormalizationOptions,
): Tensor {
  const { weight, bias, epsilon = 1e-5 } = options;
  const channels = [x.shape[1]];
  requireShape(call, "weight", weight, channels);
  requireShape(call, "bias", bias, channels);
  requirePositive(call, epsilon);
  const { operands, flags } = optional(weight, bias);
  return engine.call(GROUP_NORM, [toFloat(x), epsilon, ...operands], { groups, ...flags });
}

/**
 * (x - mean) / √(variance + epsilon) · weight + bias, with statistics of groups of channels of each sample.
 *
 * @param x `[batch, channels, …]`.
 * @param numGroups Divides the number of channels.
 * @param options `weight` and `bias` are `[channels]`.
 * @returns The shape of `x`.
 * @throws {ShapeError} if `x` has fewer than 2 axes, the groups do not divide the channels, or the weight
 * or the bias has another size.
 * @throws {ValueError} if epsilon is negative.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const y = nn.functional.groupNorm(tensor([[1, 3, 10, 20]]), 2, { epsilon: 1e-12 });
 * assertEquals(await y.toArray(), [[-1, 1, -1, 1]]);
 * ```
 */
export function groupNorm(
  x: Tensor,
  numGroups: number,
  options: NormalizationOptions = {},
): Tensor {
  expectTensors("groupNorm", x);
  expectOptions("groupNorm", options);
  if (x.rank < 2 || !Number.isInteger(numGroups) || numGroups < 1 || x.shape[1] % numGroups !== 0) {
    throw new ShapeError(
      `Cannot groupNorm ${showShape(x.shape)} in ${
        describe(numGroups)
      } groups: the input must be ` +
        `[batch, channels, …], with channels that divide by the groups`,
    );
  }
  return normGroups("groupNorm", x, numGroups, options);
}

/**
 * (x - mean) / √(variance + epsilon) · weight + bias, with statistics of each channel of each sample.
 *
 * @param x `[batch, channels, …]` with at least one axis of space.
 * @param options `weight` and `bias` are `[channels]`.
 * @returns The shape of `x`.
 * @throws {ShapeError} if `x` has fewer than 3 axes, or the weight or the bias has another size.
 * @throws {ValueError} if epsilon is negative.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const y = nn.functional.instanceNorm(tensor([[[1, 3], [10, 20]]]), { epsilon: 1e-12 });
 * assertEquals(await y.toArray(), [[[-1, 1], [-1, 1]]]);
 * ```
 */
export function instanceNorm(x: Tensor, options: NormalizationOptions = {}): Tensor {
  expectTensors("instanceNorm", x);
  expectOptions("instanceNorm", options);
  if (x.rank < 3) {
    throw new ShapeError(
      `Cannot instanceNorm ${showShape(x.shape)}: the input must be [batch, channels, …] with at ` +
        `least one axis of space: got rank ${x.rank}`,
    );
  }
  return normGroups("instanceNorm", x, x.shape[1], options);
}
