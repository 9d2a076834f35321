// Pooling of sequences and volumes as layers. Not here: that of images (pooling.ts), the arithmetic and rules
// (functional.ts).
import type { Tensor } from "../core/tensor.ts";
import type {
  AvgPool1dOptions,
  AvgPool3dOptions,
  Pool1dOptions,
  Pool3dOptions,
} from "../ops/pool_nd.ts";
import type { Single, Triple } from "../ops/sliding.ts";
import { checkOptions } from "./basic.ts";
import * as F from "./functional.ts";
import { Layer } from "./layer.ts";
import { fields } from "./print.ts";

/**
 * The largest value of each window. Input [batch, channels, length].
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const y = new nn.MaxPool1D(2).call(tensor([[[1, 4, 3, 2]]]));
 * assertEquals(await y.toArray(), [[[4, 3]]]);
 * ```
 */
export class MaxPool1D extends Layer {
  readonly #kernel: Single;
  readonly #options: Pool1dOptions;

  /** Windows of `kernel`; `stride` is by default the kernel. */
  constructor(kernel: Single, options: Pool1dOptions = {}) {
    super();
    checkOptions(this, options);
    [this.#kernel, this.#options] = [kernel, options];
  }
  /** Pools. */
  override forward(x: Tensor): Tensor {
    const { stride, padding, ceilMode } = this.#options;
    return F.maxPool1d(x, this.#kernel, { stride, padding, ceilMode });
  }
  /** The options, for printing. */
  override extraRepr(): string {
    return fields({ kernel: this.#kernel, ...this.#options });
  }
}

/**
 * The mean of each window. Input [batch, channels, length]. Padding is not counted, as in Paddle (PyTorch
 * counts it), unless `exclusive` is false.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const y = new nn.AvgPool1D(2).call(tensor([[[1, 4, 3, 2]]]));
 * assertEquals(await y.toArray(), [[[2.5, 2.5]]]);
 * ```
 */
export class AvgPool1D extends Layer {
  readonly #kernel: Single;
  readonly #options: AvgPool1dOptions;

  /** Windows of `kernel`; `stride` is by default the kernel. */
  constructor(kernel: Single, options: AvgPool1dOptions = {}) {
    super();
    checkOptions(this, options);
    [this.#kernel, this.#options] = [kernel, options];
  }
  /** Pools. */
  override forward(x: Tensor): Tensor {
    return F.avgPool1d(x, this.#kernel, this.#options);
  }
  /** The options, for printing. */
  override extraRepr(): string {
    return fields({ kernel: this.#kernel, ...this.#options });
  }
}

/**
 * The largest value of each window. Input [batch, channels, depth, height, width].
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, zeros } from "../mod.ts";
 *
 * const layer = new nn.MaxPool3D([1, 2, 2]);
 * assertEquals(layer.call(zeros([1, 3, 4, 8, 6])).shape, [1, 3, 4, 4, 3]);
 * ```
 */
export class MaxPool3D extends Layer {
  readonly #kernel: Triple;
  readonly #options: Pool3dOptions;

  /** Windows of `kernel`; `stride` is by default the kernel. */
  constructor(kernel: Triple, options: Pool3dOptions = {}) {
    super();
    checkOptions(this, options);
    [this.#kernel, this.#options] = [kernel, options];
  }
  /** Pools. */
  override forward(x: Tensor): Tensor {
    const { stride, padding, ceilMode } = this.#options;
    return F.maxPool3d(x, this.#kernel, { stride, padding, ceilMode });
  }
  /** The options, for printing. */
  override extraRepr(): string {
    return fields({ kernel: this.#kernel, ...this.#options });
  }
}

/**
 * The mean of each window. Input [batch, channels, depth, height, width]. Padding is not counted, as in
 * Paddle (PyTorch counts it), unless `exclusive` is false.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, ones } from "../mod.ts";
 *
 * const y = new nn.AvgPool3D(2).call(ones([1, 1, 2, 2, 4]));
 * assertEquals(await y.toArray(), [[[[[1, 1]]]]]);
 * ```
 */
export class AvgPool3D extends Layer {
  readonly #kernel: Triple;
  readonly #options: AvgPool3dOptions;

  /** Windows of `kernel`; `stride` is by default the kernel. */
  constructor(kernel: Triple, options: AvgPool3dOptions = {}) {
    super();
    checkOptions(this, options);
    [this.#kernel, this.#options] = [kernel, options];
  }
  /** Pools. */
  override forward(x: Tensor): Tensor {
    return F.avgPool3d(x, this.#kernel, this.#options);
  }
  /** The options, for printing. */
  override extraRepr(): string {
    return fields({ kernel: this.#kernel, ...this.#options });
  }
}
