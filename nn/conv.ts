// Convolution as a layer. Not here: its arithmetic and rules (functional.ts, ops/conv.ts).
import { ValueError } from "../core/errors.ts";
import { expectNumbers } from "../core/operands.ts";
import type { Tensor } from "../core/tensor.ts";
import type { Conv2dOptions } from "../ops/conv.ts";
import type { Pair } from "../ops/window.ts";
import { checkOptions, checkSizes, type WeightOptions } from "./basic.ts";
import * as F from "./functional.ts";
import { KaimingNormal } from "./initializer.ts";
import { Layer } from "./layer.ts";
import type { Parameter } from "./parameter.ts";
import { fields } from "./print.ts";

/** Options of {@linkcode Conv2D}. */
export interface Conv2DOptions extends Conv2dOptions, WeightOptions {}

/**
 * 2-D convolution. The weight is [out, in / groups, height, width] and begins with `KaimingNormal`
 * (normals of deviation √(2 / fan-in), as in Paddle); the bias begins with zeros.
 *
 * Input [batch, in, height, width]; output [batch, out, …].
 *
 * @throws {ValueError} if a size is not a positive whole number, or groups does not divide the channels.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, zeros } from "../mod.ts";
 *
 * const layer = new nn.Conv2D(3, 8, 3, { stride: 2, padding: 1 });
 * assertEquals(layer.call(zeros([1, 3, 8, 8])).shape, [1, 8, 4, 4]);
 * assertEquals(layer.weight.shape, [8, 3, 3, 3]);
 * ```
 */
export class Conv2D extends Layer {
  /** [out, in / groups, height, width]. */
  weight: Parameter;
  /** [out], or null. */
  bias: Parameter | null;
  readonly #options: Conv2dOptions;

  /** From `inChannels` to `outChannels`, with a window of `kernel` (one size, or height and width). */
  constructor(
    inChannels: number,
    outChannels: number,
    kernel: Pair,
    options: Conv2DOptions = {},
  ) {
    super();
    checkOptions(this, options);
    const { bias = true, weightInit, biasInit, dtype, stride, padding, dilation, groups } = options;
    const [height, width] = typeof kernel === "number"
      ? [kernel, kernel]
      : expectNumbers("make a Conv2D", "kernel", kernel);
    checkSizes("Conv2D", { inChannels, outChannels, height, width, groups: groups ?? 1 });
    const perGroup = inChannels / (groups ?? 1);
    if (!Number.isInteger(perGroup) || outChannels % (groups ?? 1) !== 0) {
      throw new ValueError(
        `Cannot make a Conv2D from ${inChannels} to ${outChannels} channels in ${groups} groups: ` +
          "groups must divide both",
      );
    }
    this.#options = { stride, padding, dilation, groups };
    this.weight = this.createParameter([outChannels, perGroup, height, width], {
      initializer: weightInit ?? new KaimingNormal(),
      dtype,
    });
    this.bias = bias
      ? this.createParameter([outChannels], { initializer: biasInit, dtype, isBias: true })
      : null;
  }
  /** Convolves. */
  override forward(x: Tensor): Tensor {
    return F.conv2d(x, this.weight, this.bias ?? undefined, this.#options);
  }
  /** The options, for printing. */
  override extraRepr(): string {
    const [outChannels, perGroup, ...kernel] = this.weight.shape;
    const inChannels = perGroup * (this.#options.groups ?? 1);
    const bias = this.bias === null ? false : undefined;
    return fields({ inChannels, outChannels, kernel, ...this.#options, bias });
  }
}
