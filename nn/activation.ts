// Activations as layers: each calls the function of its name. Here the smooth ones; those made of
// straight pieces are in activation_linear.ts. Not here: formulas and gradients (ops/activation.ts, ops/softmax.ts).
import type { Tensor } from "../core/tensor.ts";
import { checkOptions } from "./basic.ts";
import * as F from "./functional.ts";
import { Layer } from "./layer.ts";
import { fields } from "./print.ts";

/**
 * 1 / (1 + exp(-x)).
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * assertEquals(await new nn.Sigmoid().call(tensor([0, Infinity])).toArray(), [0.5, 1]);
 * ```
 */
export class Sigmoid extends Layer {
  /** The function of each element. */
  override forward(x: Tensor): Tensor {
    return F.sigmoid(x);
  }
}

/**
 * log(sigmoid(x)), without underflow.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * assertEquals(await new nn.LogSigmoid().call(tensor([-1000, Infinity])).toArray(), [-1000, 0]);
 * ```
 */
export class LogSigmoid extends Layer {
  /** The function of each element. */
  override forward(x: Tensor): Tensor {
    return F.logSigmoid(x);
  }
}

/**
 * Hyperbolic tangent.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * assertEquals(await new nn.Tanh().call(tensor([0, -Infinity])).toArray(), [0, -1]);
 * ```
 */
export class Tanh extends Layer {
  /** The function of each element. */
  override forward(x: Tensor): Tensor {
    return F.tanh(x);
  }
}

/**
 * x - tanh(x).
 *
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * assertAlmostEquals(await new nn.Tanhshrink().call(tensor(1)).item() as number, 1 - Math.tanh(1), 1e-6);
 * ```
 */
export class Tanhshrink extends Layer {
  /** The function of each element. */
  override forward(x: Tensor): Tensor {
    return F.tanhshrink(x);
  }
}

/**
 * x · sigmoid(x) (swish).
 *
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * assertAlmostEquals(await new nn.SiLU().call(tensor(1)).item() as number, 1 / (1 + Math.exp(-1)), 1e-6);
 * ```
 */
export class SiLU extends Layer {
  /** The function of each element. */
  override forward(x: Tensor): Tensor {
    return F.silu(x);
  }
}

/**
 * x · tanh(softplus(x)) (Misra 2019).
 *
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * assertAlmostEquals(await new nn.Mish().call(tensor(1)).item() as number, Math.tanh(Math.log1p(Math.E)), 1e-6);
 * ```
 */
export class Mish extends Layer {
  /** The function of each element. */
  override forward(x: Tensor): Tensor {
    return F.mish(x);
  }
}

/**
 * Scaled exponential linear unit, which keeps mean 0 and variance 1 through layers (Klambauer et al. 2017).
 *
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * assertAlmostEquals(await new nn.SELU().call(tensor(1)).item() as number, 1.0507009873554805, 1e-6);
 * ```
 */
export class SELU extends Layer {
  /** The function of each element. */
  override forward(x: Tensor): Tensor {
    return F.selu(x);
  }
}

/**
 * x / (1 + |x|).
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * assertEquals(await new nn.Softsign().call(tensor([1, -3])).toArray(), [0.5, -0.75]);
 * ```
 */
export class Softsign extends Layer {
  /** The function of each element. */
  override forward(x: Tensor): Tensor {
    return F.softsign(x);
  }
}

/**
 * x · Φ(x), Φ the normal distribution (Hendrycks & Gimpel 2016), or its tanh approximation.
 *
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * assertAlmostEquals(await new nn.GELU().call(tensor(1)).item() as number, 0.8413447460685429, 1e-6);
 * ```
 */
export class GELU extends Layer {
  readonly #options: { readonly approximate?: boolean };

  /** `approximate`: whether to use the tanh approximation; default false. */
  constructor(options: { readonly approximate?: boolean } = {}) {
    super();
    checkOptions(this, options);
    this.#options = options;
  }
  /** The function of each element. */
  override forward(x: Tensor): Tensor {
    return F.gelu(x, this.#options);
  }
  /** The options, for printing. */
  override extraRepr(): string {
    return fields(this.#options);
  }
}

/**
 * x above 0, alpha · (exp(x) - 1) below.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * assertEquals(await new nn.ELU({ alpha: 1.5 }).call(tensor([2, -Infinity])).toArray(), [2, -1.5]);
 * ```
 */
export class ELU extends Layer {
  readonly #options: { readonly alpha?: number };

  /** `alpha`: minus the limit at -Infinity; default 1. */
  constructor(options: { readonly alpha?: number } = {}) {
    super();
    checkOptions(this, options);
    this.#options = options;
  }
  /** The function of each element. */
  override forward(x: Tensor): Tensor {
    return F.elu(x, this.#options);
  }
  /** The options, for printing. */
  override extraRepr(): string {
    return fields(this.#options);
  }
}

/**
 * x above 0, alpha · (exp(x / alpha) - 1) below.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * assertEquals(await new nn.CELU({ alpha: 0.5 }).call(tensor([2, -Infinity])).toArray(), [2, -0.5]);
 * ```
 */
export class CELU extends Layer {
  readonly #options: { readonly alpha?: number };

  /** `alpha`: minus the limit at -Infinity, positive; default 1. */
  constructor(options: { readonly alpha?: number } = {}) {
    super();
    checkOptions(this, options);
    this.#options = options;
  }
  /** The function of each element. */
  override forward(x: Tensor): Tensor {
    return F.celu(x, this.#options);
  }
  /** The options, for printing. */
  override extraRepr(): string {
    return fields(this.#options);
  }
}

/**
 * log(1 + exp(beta · x)) / beta: a smooth relu. Where beta · x exceeds the threshold it is x.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * assertEquals(await new nn.Softplus().call(tensor([30])).toArray(), [30]);
 * ```
 */
export class Softplus extends Layer {
  readonly #options: { readonly beta?: number; readonly threshold?: number };

  /** `beta`: default 1; `threshold`: default 20. */
  constructor(options: { readonly beta?: number; readonly threshold?: number } = {}) {
    super();
    checkOptions(this, options);
    this.#options = options;
  }
  /** The function of each element. */
  override forward(x: Tensor): Tensor {
    return F.softplus(x, this.#options);
  }
  /** The options, for printing. */
  override extraRepr(): string {
    return fields(this.#options);
  }
}

/**
 * exp(x) / Σ exp(x) along an axis.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * assertEquals(await new nn.Softmax().call(tensor([[0, 0], [5, 5]])).toArray(), [[0.5, 0.5], [0.5, 0.5]]);
 * ```
 */
export class Softmax extends Layer {
  readonly #options: { readonly axis?: number };

  /** `axis`: default -1. */
  constructor(options: { readonly axis?: number } = {}) {
    super();
    checkOptions(this, options);
    this.#options = options;
  }
  /** The function along the axis. */
  override forward(x: Tensor): Tensor {
    return F.softmax(x, this.#options.axis);
  }
  /** The options, for printing. */
  override extraRepr(): string {
    return fields(this.#options);
  }
}

/**
 * log(softmax(x)) along an axis, without overflow.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * assertEquals(await new nn.LogSoftmax().call(tensor([0, -Infinity])).toArray(), [0, -Infinity]);
 * ```
 */
export class LogSoftmax extends Layer {
  readonly #options: { readonly axis?: number };

  /** `axis`: default -1. */
  constructor(options: { readonly axis?: number } = {}) {
    super();
    checkOptions(this, options);
    this.#options = options;
  }
  /** The function along the axis. */
  override forward(x: Tensor): Tensor {
    return F.logSoftmax(x, this.#options.axis);
  }
  /** The options, for printing. */
  override extraRepr(): string {
    return fields(this.#options);
  }
}
