// Convolution of sequences and volumes, and transposed convolution, as layers. Not here: Conv2D (conv.ts),
// arithmetic and rules (functional.ts).
import { ValueError } from "../core/errors.ts";
import { expectNumbers } from "../core/operands.ts";
import type { Tensor } from "../core/tensor.ts";
import type { Conv1dOptions, Conv3dOptions } from "../ops/conv_nd.ts";
import type {
  Conv1dTransposeOptions,
  Conv2dTransposeOptions,
  Conv3dTransposeOptions,
} from "../ops/conv_transpose.ts";
import type { Single, Triple } from "../ops/sliding.ts";
import type { Pair } from "../ops/window.ts";
import { checkOptions, checkSizes, type WeightOptions } from "./basic.ts";
import * as F from "./functional.ts";
import { KaimingNormal } from "./initializer.ts";
import { Layer } from "./layer.ts";
import type { Parameter } from "./parameter.ts";
import { fields } from "./print.ts";

/** Options of {@linkcode Conv1D}. */
export interface Conv1DOptions extends Conv1dOptions, WeightOptions {}
/** Options of {@linkcode Conv3D}. */
export interface Conv3DOptions extends Conv3dOptions, WeightOptions {}
/** Options of {@linkcode Conv1DTranspose}; the output's size is given to `call`. */
export interface Conv1DTransposeOptions
  extends Omit<Conv1dTransposeOptions, "outputSize">, WeightOptions {}
/** Options of {@linkcode Conv2DTranspose}; the output's size is given to `call`. */
export interface Conv2DTransposeOptions
  extends Omit<Conv2dTransposeOptions, "outputSize">, WeightOptions {}
/** Options of {@linkcode Conv3DTranspose}; the output's size is given to `call`. */
export interface Conv3DTransposeOptions
  extends Omit<Conv3dTransposeOptions, "outputSize">, WeightOptions {}

/** What a subclass makes itself known by. */
interface Kind {
  readonly name: string;
  readonly axes: readonly string[];
  readonly transposed: boolean;
}

/** A weight, a bias, and the options of the function that uses them. */
abstract class ConvLayer<
  Options extends { readonly groups?: number },
  Args extends readonly unknown[] = [Tensor],
> extends Layer<Args> {
  /** Kernels. */
  weight: Parameter;
  /** [out], or null. */
  bias: Parameter | null;
  /** How windows slide. */
  protected readonly options: Options;
  readonly #channels: readonly [number, number];

  constructor(
    { name, axes, transposed }: Kind,
    [inChannels, outChannels]: readonly [number, number],
    kernel: number | readonly number[],
    settings: Options & WeightOptions,
  ) {
    super();
    checkOptions(this, settings);
    const { bias = true, weightInit, biasInit, dtype, ...options } = settings;
    const { groups = 1 } = options;
    const given = expectNumbers(`make a ${name}`, "kernel", kernel);
    const sizes = typeof kernel === "number" ? axes.map(() => kernel) : given;
    if (sizes.length !== axes.length) {
      throw new ValueError(
        `Cannot make a ${name} with kernel [${sizes.join(", ")}]: give one number` +
          (axes.length === 1 ? "" : ` or ${axes.join(", ")}`),
      );
    }
    const named = Object.fromEntries(axes.map((axis, i) => [`kernel ${axis}`, sizes[i]]));
    checkSizes(name, { inChannels, outChannels, groups, ...named });
    if (inChannels % groups !== 0 || outChannels % groups !== 0) {
      throw new ValueError(
        `Cannot make a ${name} from ${inChannels} to ${outChannels} channels in ${groups} groups: ` +
          "groups must divide both",
      );
    }
    this.#channels = [inChannels, outChannels];
    this.options = options as unknown as Options;
    const channels = transposed
      ? [inChannels, outChannels / groups]
      : [outChannels, inChannels / groups];
    this.weight = this.createParameter([...channels, ...sizes], {
      initializer: weightInit ?? (transposed ? undefined : new KaimingNormal()),
      dtype,
    });
    this.bias = bias
      ? this.createParameter([outChannels], { initializer: biasInit, dtype, isBias: true })
      : null;
  }

  /** The options, for printing. */
  override extraRepr(): string {
    const [inChannels, outChannels] = this.#channels;
    const kernel = this.weight.shape.slice(2);
    const bias = this.bias === null ? false : undefined;
    return fields({ inChannels, outChannels, kernel, ...this.options, bias });
  }
}

/**
 * 1-D convolution. The weight is [out, in / groups, length] and begins with `KaimingNormal` (normals of
 * deviation √(2 / fan-in), as in Paddle); the bias begins with zeros.
 *
 * Input [batch, in, length]; output [batch, out, …].
 *
 * @throws {ValueError} if a size is not a positive whole number, or groups does not divide the channels.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, zeros } from "../mod.ts";
 *
 * const layer = new nn.Conv1D(3, 8, 5, { stride: 2, padding: 2 });
 * assertEquals(layer.call(zeros([1, 3, 16])).shape, [1, 8, 8]);
 * assertEquals(layer.weight.shape, [8, 3, 5]);
 * ```
 */
export class Conv1D extends ConvLayer<Conv1dOptions> {
  /** From `inChannels` to `outChannels`, with a window of `kernel`. */
  constructor(
    inChannels: number,
    outChannels: number,
    kernel: Single,
    options: Conv1DOptions = {},
  ) {
    const kind = { name: "Conv1D", axes: ["length"], transposed: false };
    super(kind, [inChannels, outChannels], kernel, options);
  }
  /** Convolves. */
  override forward(x: Tensor): Tensor {
    return F.conv1d(x, this.weight, this.bias ?? undefined, this.options);
  }
}

/**
 * 3-D convolution. The weight is [out, in / groups, depth, height, width] and begins with `KaimingNormal`
 * (normals of deviation √(2 / fan-in), as in Paddle); the bias begins with zeros.
 *
 * Input [batch, in, depth, height, width]; output [batch, out, …].
 *
 * @throws {ValueError} if a size is not a positive whole number, or groups does not divide the channels.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, zeros } from "../mod.ts";
 *
 * const layer = new nn.Conv3D(2, 4, [1, 3, 3], { padding: [0, 1, 1] });
 * assertEquals(layer.call(zeros([1, 2, 3, 5, 5])).shape, [1, 4, 3, 5, 5]);
 * assertEquals(layer.weight.shape, [4, 2, 1, 3, 3]);
 * ```
 */
export class Conv3D extends ConvLayer<Conv3dOptions> {
  /** From `inChannels` to `outChannels`, with a window of `kernel` (one size, or depth, height and width). */
  constructor(
    inChannels: number,
    outChannels: number,
    kernel: Triple,
    options: Conv3DOptions = {},
  ) {
    const kind = { name: "Conv3D", axes: ["depth", "height", "width"], transposed: false };
    super(kind, [inChannels, outChannels], kernel, options);
  }
  /** Convolves. */
  override forward(x: Tensor): Tensor {
    return F.conv3d(x, this.weight, this.bias ?? undefined, this.options);
  }
}

/**
 * 1-D transposed convolution. The weight is [in, out / groups, length] and begins with `XavierUniform`, as
 * in Paddle; the bias begins with zeros.
 *
 * Input [batch, in, length]; output [batch, out, …], whose length may be given to `call`.
 *
 * @throws {ValueError} if a size is not a positive whole number, or groups does not divide the channels.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, zeros } from "../mod.ts";
 *
 * const layer = new nn.Conv1DTranspose(3, 2, 4, { stride: 2, padding: 1 });
 * assertEquals(layer.call(zeros([1, 3, 5])).shape, [1, 2, 10]);
 * assertEquals(layer.call(zeros([1, 3, 5]), 11).shape, [1, 2, 11]);
 * ```
 */
export class Conv1DTranspose
  extends ConvLayer<Omit<Conv1dTransposeOptions, "outputSize">, [Tensor, Single?]> {
  /** From `inChannels` to `outChannels`, with a window of `kernel`. */
  constructor(
    inChannels: number,
    outChannels: number,
    kernel: Single,
    options: Conv1DTransposeOptions = {},
  ) {
    const kind = { name: "Conv1DTranspose", axes: ["length"], transposed: true };
    super(kind, [inChannels, outChannels], kernel, options);
  }
  /** Convolves, to an output of that length if one is given. */
  override forward(x: Tensor, outputSize?: Single): Tensor {
    const options = { ...this.options, outputSize };
    return F.conv1dTranspose(x, this.weight, this.bias ?? undefined, options);
  }
}

/**
 * 2-D transposed convolution. The weight is [in, out / groups, height, width] and begins with
 * `XavierUniform`, as in Paddle; the bias begins with zeros.
 *
 * Input [batch, in, height, width]; output [batch, out, …], whose height and width may be given to `call`.
 *
 * @throws {ValueError} if a size is not a positive whole number, or groups does not divide the channels.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, zeros } from "../mod.ts";
 *
 * const layer = new nn.Conv2DTranspose(8, 3, 3, { stride: 2, padding: 1, outputPadding: 1 });
 * assertEquals(layer.call(zeros([1, 8, 4, 4])).shape, [1, 3, 8, 8]);
 * assertEquals(layer.weight.shape, [8, 3, 3, 3]);
 * ```
 */
export class Conv2DTranspose
  extends ConvLayer<Omit<Conv2dTransposeOptions, "outputSize">, [Tensor, Pair?]> {
  /** From `inChannels` to `outChannels`, with a window of `kernel` (one size, or height and width). */
  constructor(
    inChannels: number,
    outChannels: number,
    kernel: Pair,
    options: Conv2DTransposeOptions = {},
  ) {
    const kind = { name: "Conv2DTranspose", axes: ["height", "width"], transposed: true };
    super(kind, [inChannels, outChannels], kernel, options);
  }
  /** Convolves, to an output of that height and width if they are given. */
  override forward(x: Tensor, outputSize?: Pair): Tensor {
    const options = { ...this.options, outputSize };
    return F.conv2dTranspose(x, this.weight, this.bias ?? undefined, options);
  }
}

/**
 * 3-D transposed convolution. The weight is [in, out / groups, depth, height, width] and begins with
 * `XavierUniform`, as in Paddle; the bias begins with zeros.
 *
 * Input [batch, in, depth, height, width]; output [batch, out, …], whose sizes may be given to `call`.
 *
 * @throws {ValueError} if a size is not a positive whole number, or groups does not divide the channels.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, zeros } from "../mod.ts";
 *
 * const layer = new nn.Conv3DTranspose(2, 1, 2, { stride: 2 });
 * assertEquals(layer.call(zeros([1, 2, 2, 3, 4])).shape, [1, 1, 4, 6, 8]);
 * ```
 */
export class Conv3DTranspose
  extends ConvLayer<Omit<Conv3dTransposeOptions, "outputSize">, [Tensor, Triple?]> {
  /** From `inChannels` to `outChannels`, with a window of `kernel` (one size, or depth, height and width). */
  constructor(
    inChannels: number,
    outChannels: number,
    kernel: Triple,
    options: Conv3DTransposeOptions = {},
  ) {
    const kind = { name: "Conv3DTranspose", axes: ["depth", "height", "width"], transposed: true };
    super(kind, [inChannels, outChannels], kernel, options);
  }
  /** Convolves, to an output of those sizes if they are given. */
  override forward(x: Tensor, outputSize?: Triple): Tensor {
    const options = { ...this.options, outputSize };
    return F.conv3dTranspose(x, this.weight, this.bias ?? undefined, options);
  }
}
