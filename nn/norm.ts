// Normalization as layers. Weights begin with ones, biases with zeros. Not here: the arithmetic (functional.ts).
import { expectNumbers, expectTensors } from "../core/operands.ts";
import type { DType } from "../core/dtype.ts";
import { ShapeError, ValueError } from "../core/errors.ts";
import { type Shape, showShape } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { ones, zeros } from "../ops/mod.ts";
import { checkOptions, checkSizes } from "./basic.ts";
import * as F from "./functional.ts";
import { Constant } from "./initializer.ts";
import { Layer } from "./layer.ts";
import type { Parameter } from "./parameter.ts";
import { fields } from "./print.ts";

/** Options of the normalizing layers. */
export interface NormOptions {
  /** Added to the variance, inside the root; default 1e-5. */
  readonly epsilon?: number;
  /** Whether there are a weight and a bias; default true. */
  readonly affine?: boolean;
  /** Dtype of the parameters; default: the default dtype. */
  readonly dtype?: DType;
}

/** Options of the batch normalizing layers. */
export interface BatchNormOptions extends NormOptions {
  /** How much of the running values is kept at each step, as in Paddle; default 0.9 (PyTorch's momentum is 1 minus this). */
  readonly momentum?: number;
}

function epsilonOf(layer: string, epsilon = 1e-5): number {
  if (Number.isFinite(epsilon) && epsilon >= 0) return epsilon;
  throw new ValueError(
    `Cannot make a ${layer} with epsilon ${epsilon}: it must be a finite number of at least 0`,
  );
}

/** A layer with a weight of ones and a bias of zeros. */
abstract class AffineLayer extends Layer {
  /** Factors, or null. */
  weight: Parameter | null;
  /** Summands, or null. */
  bias: Parameter | null;
  /** What is added to the variance. */
  protected readonly epsilon: number;

  constructor(name: string, shape: Shape, options: NormOptions, withBias = true) {
    super();
    checkOptions(this, options);
    const { affine = true, dtype } = options;
    this.epsilon = epsilonOf(name, options.epsilon);
    this.weight = affine
      ? this.createParameter(shape, { initializer: new Constant(1), dtype })
      : null;
    this.bias = affine && withBias ? this.createParameter(shape, { isBias: true, dtype }) : null;
  }

  /** What every normalizing function takes. */
  protected affine(): { weight?: Parameter; bias?: Parameter; epsilon: number } {
    const { weight, bias, epsilon } = this;
    return { weight: weight ?? undefined, bias: bias ?? undefined, epsilon };
  }
}

/** What the batch normalizing layers share. */
abstract class BatchNorm extends AffineLayer {
  /** Running mean, [channels]. */
  runningMean: Tensor;
  /** Running biased variance, [channels]. */
  runningVar: Tensor;
  readonly #momentum: number;

  constructor(name: string, channels: number, options: BatchNormOptions) {
    checkSizes(name, { numFeatures: channels });
    super(name, [channels], options);
    const { momentum = 0.9, dtype } = options;
    if (!(momentum >= 0 && momentum <= 1)) {
      throw new ValueError(`Cannot make a ${name} with momentum ${momentum}: it must be in 0 … 1`);
    }
    this.#momentum = momentum;
    this.runningMean = this.registerBuffer("runningMean", zeros([channels], { dtype }));
    this.runningVar = this.registerBuffer("runningVar", ones([channels], { dtype }));
  }

  /** Throws unless the input has one of the ranks. */
  protected checkRank(x: Tensor, ranks: readonly number[], layout: string): void {
    expectTensors(this.constructor.name, x);
    if (ranks.includes(x.rank)) return;
    throw new ShapeError(
      `Cannot ${this.constructor.name} ${
        showShape(x.shape)
      }: the input must be ${layout}: got rank ${x.rank}`,
    );
  }

  /** Normalizes. */
  override forward(x: Tensor): Tensor {
    return F.batchNorm(x, this.runningMean, this.runningVar, {
      ...this.affine(),
      training: this.training,
      momentum: this.#momentum,
    });
  }
  /** The options, for printing. */
  override extraRepr(): string {
    const [numFeatures] = this.runningMean.shape;
    return fields({ numFeatures, momentum: this.#momentum, epsilon: this.epsilon });
  }
}

/**
 * Normalizes each channel over the batch (Ioffe & Szegedy 2015), for inputs [batch, channels] or
 * [batch, channels, length]. Training uses the batch's mean and biased variance and moves the running
 * ones: running = running · momentum + batch · (1 - momentum); evaluation uses the running ones.
 *
 * @throws {ValueError} if the number of channels, momentum or epsilon is out of its range.
 * @throws {ShapeError} when called, if the rank is neither 2 nor 3.
 * @example
 * ```ts
 * import { assertAlmostEquals, assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const layer = new nn.BatchNorm1D(1);
 * const y = layer.call(tensor([[-3], [3]]));
 * assertAlmostEquals((await y.data())[1] as number, 1, 1e-5);
 * assertAlmostEquals(await layer.runningVar.item() as number, 0.9 + 0.1 * 9, 1e-6);
 * assertEquals(layer.parameters().length, 2);
 * ```
 */
export class BatchNorm1D extends BatchNorm {
  /** For a number of channels. */
  constructor(numFeatures: number, options: BatchNormOptions = {}) {
    super("BatchNorm1D", numFeatures, options);
  }
  /** Normalizes. */
  override forward(x: Tensor): Tensor {
    this.checkRank(x, [2, 3], "[batch, channels] or [batch, channels, length]");
    return super.forward(x);
  }
}

/**
 * {@linkcode BatchNorm1D} for inputs [batch, channels, height, width].
 *
 * @throws {ValueError} if the number of channels, momentum or epsilon is out of its range.
 * @throws {ShapeError} when called, if the rank is not 4.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, ones } from "../mod.ts";
 *
 * const layer = new nn.BatchNorm2D(2).eval();
 * assertEquals(layer.call(ones([1, 2, 3, 3])).shape, [1, 2, 3, 3]);
 * assertEquals(layer.namedBuffers().map(([name]) => name), ["runningMean", "runningVar"]);
 * ```
 */
export class BatchNorm2D extends BatchNorm {
  /** For a number of channels. */
  constructor(numFeatures: number, options: BatchNormOptions = {}) {
    super("BatchNorm2D", numFeatures, options);
  }
  /** Normalizes. */
  override forward(x: Tensor): Tensor {
    this.checkRank(x, [4], "[batch, channels, height, width]");
    return super.forward(x);
  }
}

/**
 * {@linkcode BatchNorm1D} for inputs [batch, channels, depth, height, width].
 *
 * @throws {ValueError} if the number of channels, momentum or epsilon is out of its range.
 * @throws {ShapeError} when called, if the rank is not 5.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, ones } from "../mod.ts";
 *
 * assertEquals(new nn.BatchNorm3D(2).call(ones([1, 2, 3, 3, 3])).shape, [1, 2, 3, 3, 3]);
 * ```
 */
export class BatchNorm3D extends BatchNorm {
  /** For a number of channels. */
  constructor(numFeatures: number, options: BatchNormOptions = {}) {
    super("BatchNorm3D", numFeatures, options);
  }
  /** Normalizes. */
  override forward(x: Tensor): Tensor {
    this.checkRank(x, [5], "[batch, channels, depth, height, width]");
    return super.forward(x);
  }
}

/**
 * Normalizes over the last axes (Ba et al. 2016), with biased variance.
 *
 * @throws {ValueError} if a size or epsilon is out of its range.
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const y = new nn.LayerNorm(2).call(tensor([[1, 3], [5, 9]]));
 * for (const [i, v] of [-1, 1, -1, 1].entries()) {
 *   assertAlmostEquals((await y.data())[i] as number, v, 1e-5);
 * }
 * ```
 */
export class LayerNorm extends AffineLayer {
  readonly #shape: readonly number[];

  /** The sizes of the last axes, or that of the last one. */
  constructor(normalizedShape: number | readonly number[], options: NormOptions = {}) {
    const shape = expectNumbers("make a LayerNorm", "the normalized shape", normalizedShape);
    checkSizes("LayerNorm", Object.fromEntries(shape.map((n, i) => [`size ${i}`, n])));
    super("LayerNorm", shape, options);
    this.#shape = shape;
  }
  /** Normalizes. */
  override forward(x: Tensor): Tensor {
    return F.layerNorm(x, this.#shape, this.affine());
  }
  /** The options, for printing. */
  override extraRepr(): string {
    return fields({ normalizedShape: this.#shape, epsilon: this.epsilon });
  }
}

/**
 * Divides by the root of the mean square over the last axis (Zhang & Sennrich 2019); there is no bias.
 *
 * @throws {ValueError} if the size or epsilon is out of its range.
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const y = await new nn.RMSNorm(2).call(tensor([3, 4])).data();
 * assertAlmostEquals(y[0] as number, 3 / Math.sqrt(12.5), 1e-5);
 * ```
 */
export class RMSNorm extends AffineLayer {
  readonly #size: number;

  /** The size of the last axis. */
  constructor(size: number, options: NormOptions = {}) {
    checkSizes("RMSNorm", { size });
    super("RMSNorm", [size], options, false);
    this.#size = size;
  }
  /** Normalizes. */
  override forward(x: Tensor): Tensor {
    const { weight, epsilon } = this.affine();
    return F.rmsNorm(x, { weight, epsilon });
  }
  /** The options, for printing. */
  override extraRepr(): string {
    return fields({ size: this.#size, epsilon: this.epsilon });
  }
}

/**
 * Normalizes groups of channels of each sample (Wu & He 2018), for inputs [batch, channels, …].
 *
 * @throws {ValueError} if a number is out of its range, or the groups do not divide the channels.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, zeros } from "../mod.ts";
 *
 * assertEquals(new nn.GroupNorm(2, 4).call(zeros([1, 4, 3, 3])).shape, [1, 4, 3, 3]);
 * ```
 */
export class GroupNorm extends AffineLayer {
  readonly #numGroups: number;
  readonly #numChannels: number;

  /** For `numChannels` channels in `numGroups` groups. */
  constructor(numGroups: number, numChannels: number, options: NormOptions = {}) {
    checkSizes("GroupNorm", { numGroups, numChannels });
    if (numChannels % numGroups !== 0) {
      throw new ValueError(
        `Cannot make a GroupNorm of ${numChannels} channels in ${numGroups} groups: the groups must be equal`,
      );
    }
    super("GroupNorm", [numChannels], options);
    [this.#numGroups, this.#numChannels] = [numGroups, numChannels];
  }
  /** Normalizes. */
  override forward(x: Tensor): Tensor {
    return F.groupNorm(x, this.#numGroups, this.affine());
  }
  /** The options, for printing. */
  override extraRepr(): string {
    const [numGroups, numChannels] = [this.#numGroups, this.#numChannels];
    return fields({ numGroups, numChannels, epsilon: this.epsilon });
  }
}

/**
 * Normalizes each channel of each sample (Ulyanov et al. 2016), for inputs [batch, channels, height, width];
 * the same in training and evaluation.
 *
 * @throws {ValueError} if the number of channels or epsilon is out of its range.
 * @throws {ShapeError} when called, if the rank is not 4.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, zeros } from "../mod.ts";
 *
 * assertEquals(new nn.InstanceNorm2D(3).call(zeros([2, 3, 4, 4])).shape, [2, 3, 4, 4]);
 * ```
 */
export class InstanceNorm2D extends AffineLayer {
  readonly #numFeatures: number;

  /** For a number of channels. */
  constructor(numFeatures: number, options: NormOptions = {}) {
    checkSizes("InstanceNorm2D", { numFeatures });
    super("InstanceNorm2D", [numFeatures], options);
    this.#numFeatures = numFeatures;
  }
  /** Normalizes. */
  override forward(x: Tensor): Tensor {
    expectTensors("InstanceNorm2D", x);
    if (x.rank !== 4) {
      throw new ShapeError(
        `Cannot InstanceNorm2D ${
          showShape(x.shape)
        }: the input must be [batch, channels, height, width]: ` +
          `got rank ${x.rank}`,
      );
    }
    return F.instanceNorm(x, this.affine());
  }
  /** The options, for printing. */
  override extraRepr(): string {
    return fields({ numFeatures: this.#numFeatures, epsilon: this.epsilon });
  }
}
