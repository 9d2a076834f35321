// Activations as layers: each calls the function of its name. Here those made of straight pieces.
// Not here: formulas and gradients (ops/activation_linear.ts).
import type { Tensor } from "../core/tensor.ts";
import { checkOptions } from "./basic.ts";
import * as F from "./functional.ts";
import { Layer } from "./layer.ts";
import { fields } from "./print.ts";

/**
 * max(x, 0).
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * assertEquals(await new nn.ReLU().call(tensor([-1, 2])).toArray(), [0, 2]);
 * ```
 */
export class ReLU extends Layer {
  /** The function of each element. */
  override forward(x: Tensor): Tensor {
    return F.relu(x);
  }
}

/**
 * min(max(x, 0), 6).
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * assertEquals(await new nn.ReLU6().call(tensor([-1, 2, 9])).toArray(), [0, 2, 6]);
 * ```
 */
export class ReLU6 extends Layer {
  /** The function of each element. */
  override forward(x: Tensor): Tensor {
    return F.relu6(x);
  }
}

/**
 * x · relu6(x + 3) / 6 (Howard et al. 2019).
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * assertEquals(await new nn.Hardswish().call(tensor([-4, 0, 6])).toArray(), [0, 0, 6]);
 * ```
 */
export class Hardswish extends Layer {
  /** The function of each element. */
  override forward(x: Tensor): Tensor {
    return F.hardswish(x);
  }
}

/**
 * relu6(x + 3) / 6: slope 1/6, as in Paddle.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * assertEquals(await new nn.Hardsigmoid().call(tensor([-4, 0, 4])).toArray(), [0, 0.5, 1]);
 * ```
 */
export class Hardsigmoid extends Layer {
  /** The function of each element. */
  override forward(x: Tensor): Tensor {
    return F.hardsigmoid(x);
  }
}

/**
 * x above 0, negativeSlope · x below.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * assertEquals(await new nn.LeakyReLU({ negativeSlope: 0.5 }).call(tensor([-2, 2])).toArray(), [-1, 2]);
 * ```
 */
export class LeakyReLU extends Layer {
  readonly #options: { readonly negativeSlope?: number };

  /** `negativeSlope`: default 0.01. */
  constructor(options: { readonly negativeSlope?: number } = {}) {
    super();
    checkOptions(this, options);
    this.#options = options;
  }
  /** The function of each element. */
  override forward(x: Tensor): Tensor {
    return F.leakyRelu(x, this.#options);
  }
  /** The options, for printing. */
  override extraRepr(): string {
    return fields(this.#options);
  }
}

/**
 * x between two bounds, the bounds outside.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * assertEquals(await new nn.Hardtanh({ max: 2 }).call(tensor([-2, 0.5, 3])).toArray(), [-1, 0.5, 2]);
 * ```
 */
export class Hardtanh extends Layer {
  readonly #options: { readonly min?: number; readonly max?: number };

  /** `min`: default -1; `max`: default 1. */
  constructor(options: { readonly min?: number; readonly max?: number } = {}) {
    super();
    checkOptions(this, options);
    this.#options = options;
  }
  /** The function of each element. */
  override forward(x: Tensor): Tensor {
    return F.hardtanh(x, this.#options);
  }
  /** The options, for printing. */
  override extraRepr(): string {
    return fields(this.#options);
  }
}

/**
 * x moved towards 0 by the threshold, 0 within it.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * assertEquals(await new nn.Softshrink().call(tensor([-2, 0.25, 2])).toArray(), [-1.5, 0, 1.5]);
 * ```
 */
export class Softshrink extends Layer {
  readonly #options: { readonly threshold?: number };

  /** `threshold`: default 0.5. */
  constructor(options: { readonly threshold?: number } = {}) {
    super();
    checkOptions(this, options);
    this.#options = options;
  }
  /** The function of each element. */
  override forward(x: Tensor): Tensor {
    return F.softshrink(x, this.#options);
  }
  /** The options, for printing. */
  override extraRepr(): string {
    return fields(this.#options);
  }
}

/**
 * x, but 0 within the threshold.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * assertEquals(await new nn.Hardshrink().call(tensor([-2, 0.25, 2])).toArray(), [-2, 0, 2]);
 * ```
 */
export class Hardshrink extends Layer {
  readonly #options: { readonly threshold?: number };

  /** `threshold`: default 0.5. */
  constructor(options: { readonly threshold?: number } = {}) {
    super();
    checkOptions(this, options);
    this.#options = options;
  }
  /** The function of each element. */
  override forward(x: Tensor): Tensor {
    return F.hardshrink(x, this.#options);
  }
  /** The options, for printing. */
  override extraRepr(): string {
    return fields(this.#options);
  }
}

/**
 * x above the threshold, 0 elsewhere.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * assertEquals(await new nn.ThresholdedReLU().call(tensor([0.5, 2])).toArray(), [0, 2]);
 * ```
 */
export class ThresholdedReLU extends Layer {
  readonly #options: { readonly threshold?: number };

  /** `threshold`: default 1. */
  constructor(options: { readonly threshold?: number } = {}) {
    super();
    checkOptions(this, options);
    this.#options = options;
  }
  /** The function of each element. */
  override forward(x: Tensor): Tensor {
    return F.thresholdedRelu(x, this.#options);
  }
  /** The options, for printing. */
  override extraRepr(): string {
    return fields(this.#options);
  }
}
