// Pooling as layers. Not here: the arithmetic and rules (functional.ts, ops/pool.ts).
import type { Tensor } from "../core/tensor.ts";
import type { AvgPoolOptions, PoolOptions } from "../ops/pool.ts";
import type { Pair } from "../ops/window.ts";
import { checkOptions } from "./basic.ts";
import * as F from "./functional.ts";
import { Layer } from "./layer.ts";
import { fields } from "./print.ts";

/**
 * The largest value of each window. Input [batch, channels, height, width].
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, zeros } from "../mod.ts";
 *
 * assertEquals(new nn.MaxPool2D(2).call(zeros([1, 3, 8, 6])).shape, [1, 3, 4, 3]);
 * ```
 */
export class MaxPool2D extends Layer {
  readonly #kernel: Pair;
  readonly #options: PoolOptions;

  /** Windows of `kernel`; `stride` is by default the kernel. */
  constructor(kernel: Pair, options: PoolOptions = {}) {
    super();
    checkOptions(this, options);
    [this.#kernel, this.#options] = [kernel, options];
  }
  /** Pools. */
  override forward(x: Tensor): Tensor {
    const { stride, padding, ceilMode } = this.#options;
    return F.maxPool2d(x, this.#kernel, { stride, padding, ceilMode });
  }
  /** The options, for printing. */
  override extraRepr(): string {
    return fields({ kernel: this.#kernel, ...this.#options });
  }
}

/**
 * The mean of each window. Input [batch, channels, height, width]. Padding is not counted, as in Paddle
 * (PyTorch counts it), unless `exclusive` is false.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, ones } from "../mod.ts";
 *
 * const y = new nn.AvgPool2D(2, { padding: 1 }).call(ones([1, 1, 2, 2]));
 * assertEquals(await y.toArray(), [[[[1, 1], [1, 1]]]]);
 * ```
 */
export class AvgPool2D extends Layer {
  readonly #kernel: Pair;
  readonly #options: AvgPoolOptions;

  /** Windows of `kernel`; `stride` is by default the kernel. */
  constructor(kernel: Pair, options: AvgPoolOptions = {}) {
    super();
    checkOptions(this, options);
    [this.#kernel, this.#options] = [kernel, options];
  }
  /** Pools. */
  override forward(x: Tensor): Tensor {
    return F.avgPool2d(x, this.#kernel, this.#options);
  }
  /** The options, for printing. */
  override extraRepr(): string {
    return fields({ kernel: this.#kernel, ...this.#options });
  }
}

/**
 * Means of as many windows as `size` says, whatever the size of the input [batch, channels, height, width].
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, zeros } from "../mod.ts";
 *
 * assertEquals(new nn.AdaptiveAvgPool2D([1, 3]).call(zeros([2, 4, 7, 5])).shape, [2, 4, 1, 3]);
 * ```
 */
export class AdaptiveAvgPool2D extends Layer {
  readonly #size: Pair;

  /** The size of the output: one number, or height and width. */
  constructor(size: Pair) {
    super();
    this.#size = size;
  }
  /** Pools. */
  override forward(x: Tensor): Tensor {
    return F.adaptiveAvgPool2d(x, this.#size);
  }
  /** The options, for printing. */
  override extraRepr(): string {
    return fields({ size: this.#size });
  }
}

/**
 * Largest values of as many windows as `size` says, whatever the size of the input [batch, channels, height, width].
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, zeros } from "../mod.ts";
 *
 * assertEquals(new nn.AdaptiveMaxPool2D(2).call(zeros([2, 4, 7, 5])).shape, [2, 4, 2, 2]);
 * ```
 */
export class AdaptiveMaxPool2D extends Layer {
  readonly #size: Pair;

  /** The size of the output: one number, or height and width. */
  constructor(size: Pair) {
    super();
    this.#size = size;
  }
  /** Pools. */
  override forward(x: Tensor): Tensor {
    return F.adaptiveMaxPool2d(x, this.#size);
  }
  /** The options, for printing. */
  override extraRepr(): string {
    return fields({ size: this.#size });
  }
}
