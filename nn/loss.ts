// Losses as layers: each calls the function of its name with the options it was made with. Tensors among
// the options are buffers that state dictionaries leave out. Not here: formulas and gradients (ops/loss.ts, ops/class_loss.ts).
import type { Tensor } from "../core/tensor.ts";
import type { CrossEntropyOptions, NllLossOptions } from "../ops/class_loss.ts";
import type {
  BinaryCrossEntropyOptions,
  BinaryCrossEntropyWithLogitsOptions,
  KlDivOptions,
  LossOptions,
  MarginOptions,
  SmoothL1Options,
} from "../ops/loss.ts";
import type { CosineSimilarityOptions } from "../ops/similarity.ts";
import { checkOptions } from "./basic.ts";
import * as F from "./functional.ts";
import { Layer } from "./layer.ts";
import { fields } from "./print.ts";

/** A layer of two tensors that keeps options. */
abstract class LossLayer<Options extends object> extends Layer<[input: Tensor, label: Tensor]> {
  readonly #options: Options;

  constructor(options: Options) {
    super();
    checkOptions(this, options);
    this.#options = options;
  }

  /** The options, with tensors where they are now. */
  protected options(): Options {
    return this.#options;
  }
  /** The options, for printing. */
  override extraRepr(): string {
    return fields(this.#options as Record<string, unknown>);
  }
}

/**
 * Cross entropy of logits and labels (class numbers, or probabilities with `softLabel`). The class axis is
 * the last by default, as in Paddle.
 *
 * @throws {ShapeError} when called, if the shapes do not fit.
 *
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const loss = new nn.CrossEntropyLoss().call(tensor([[0, 0]]), tensor([1], { dtype: "int32" }));
 * assertAlmostEquals(await loss.item() as number, Math.LN2, 1e-6);
 * ```
 */
export class CrossEntropyLoss extends LossLayer<CrossEntropyOptions> {
  /** One factor for each class, or undefined. */
  weight: Tensor | undefined;

  /** With the options of `crossEntropy`. */
  constructor(options: CrossEntropyOptions = {}) {
    super(options);
    this.weight = options.weight &&
      this.registerBuffer("weight", options.weight, { persistable: false });
  }
  /** The loss. */
  override forward(input: Tensor, label: Tensor): Tensor {
    const { weight } = this;
    return F.crossEntropy(input, label, { ...this.options(), weight });
  }
}

/**
 * Minus the log-probability of the label; the classes are axis 1.
 *
 * @throws {ShapeError} when called, if the shapes do not fit.
 *
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const loss = new nn.NLLLoss().call(tensor([[-2, -3]]), tensor([1], { dtype: "int32" }));
 * assertAlmostEquals(await loss.item() as number, 3, 1e-6);
 * ```
 */
export class NLLLoss extends LossLayer<NllLossOptions> {
  /** One factor for each class, or undefined. */
  weight: Tensor | undefined;

  /** With the options of `nllLoss`. */
  constructor(options: NllLossOptions = {}) {
    super(options);
    this.weight = options.weight &&
      this.registerBuffer("weight", options.weight, { persistable: false });
  }
  /** The loss. */
  override forward(input: Tensor, label: Tensor): Tensor {
    const { weight } = this;
    return F.nllLoss(input, label, { ...this.options(), weight });
  }
}

/**
 * Cross entropy of probabilities and yes-or-no labels.
 *
 * @throws {ShapeError} when called, if the shapes do not fit.
 *
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const loss = new nn.BCELoss().call(tensor([0.5]), tensor([1]));
 * assertAlmostEquals(await loss.item() as number, Math.LN2, 1e-6);
 * ```
 */
export class BCELoss extends LossLayer<BinaryCrossEntropyOptions> {
  /** A factor of each loss, or undefined. */
  weight: Tensor | undefined;

  /** With the options of `binaryCrossEntropy`. */
  constructor(options: BinaryCrossEntropyOptions = {}) {
    super(options);
    this.weight = options.weight &&
      this.registerBuffer("weight", options.weight, { persistable: false });
  }
  /** The loss. */
  override forward(input: Tensor, label: Tensor): Tensor {
    const { weight } = this;
    return F.binaryCrossEntropy(input, label, { ...this.options(), weight });
  }
}

/**
 * Cross entropy of sigmoid(logits) and yes-or-no labels, without overflow.
 *
 * @throws {ShapeError} when called, if the shapes do not fit.
 *
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const loss = new nn.BCEWithLogitsLoss().call(tensor([0]), tensor([1]));
 * assertAlmostEquals(await loss.item() as number, Math.LN2, 1e-6);
 * ```
 */
export class BCEWithLogitsLoss extends LossLayer<BinaryCrossEntropyWithLogitsOptions> {
  /** A factor of each loss, or undefined. */
  weight: Tensor | undefined;
  /** A factor of the loss of positive labels, or undefined. */
  posWeight: Tensor | undefined;

  /** With the options of `binaryCrossEntropyWithLogits`. */
  constructor(options: BinaryCrossEntropyWithLogitsOptions = {}) {
    super(options);
    this.weight = options.weight &&
      this.registerBuffer("weight", options.weight, { persistable: false });
    this.posWeight = options.posWeight &&
      this.registerBuffer("posWeight", options.posWeight, { persistable: false });
  }
  /** The loss. */
  override forward(input: Tensor, label: Tensor): Tensor {
    const { weight, posWeight } = this;
    return F.binaryCrossEntropyWithLogits(input, label, { ...this.options(), weight, posWeight });
  }
}

/**
 * Mean of squared differences.
 *
 * @throws {ShapeError} when called, if the shapes differ.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const loss = new nn.MSELoss().call(tensor([1, 2]), tensor([1, 4]));
 * assertEquals(await loss.item(), 2);
 * ```
 */
export class MSELoss extends LossLayer<LossOptions> {
  /** With the options of `mseLoss`. */
  constructor(options: LossOptions = {}) {
    super(options);
  }
  /** The loss. */
  override forward(input: Tensor, label: Tensor): Tensor {
    return F.mseLoss(input, label, this.options());
  }
}

/**
 * Mean of absolute differences.
 *
 * @throws {ShapeError} when called, if the shapes differ.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const loss = new nn.L1Loss().call(tensor([1, 2]), tensor([1, 4]));
 * assertEquals(await loss.item(), 1);
 * ```
 */
export class L1Loss extends LossLayer<LossOptions> {
  /** With the options of `l1Loss`. */
  constructor(options: LossOptions = {}) {
    super(options);
  }
  /** The loss. */
  override forward(input: Tensor, label: Tensor): Tensor {
    return F.l1Loss(input, label, this.options());
  }
}

/**
 * Huber's loss, as in Paddle: d² / 2 where |d| <= delta, else delta · (|d| - delta / 2).
 *
 * @throws {ShapeError} when called, if the shapes differ.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const loss = new nn.SmoothL1Loss().call(tensor([0]), tensor([3]));
 * assertEquals(await loss.item(), 2.5);
 * ```
 */
export class SmoothL1Loss extends LossLayer<SmoothL1Options> {
  /** With the options of `smoothL1Loss`. */
  constructor(options: SmoothL1Options = {}) {
    super(options);
  }
  /** The loss. */
  override forward(input: Tensor, label: Tensor): Tensor {
    return F.smoothL1Loss(input, label, this.options());
  }
}

/**
 * Kullback-Leibler divergence of log-probabilities from target probabilities.
 *
 * @throws {ShapeError} when called, if the shapes differ.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const loss = new nn.KLDivLoss().call(tensor([-1]), tensor([1]));
 * assertEquals(await loss.item(), 1);
 * ```
 */
export class KLDivLoss extends LossLayer<KlDivOptions> {
  /** With the options of `klDiv`. */
  constructor(options: KlDivOptions = {}) {
    super(options);
  }
  /** The loss. */
  override forward(input: Tensor, label: Tensor): Tensor {
    return F.klDiv(input, label, this.options());
  }
}

/**
 * x where the label is 1, max(0, margin - x) where it is -1; margin is 1 by default.
 *
 * @throws {ShapeError} when called, if the shapes differ.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const loss = new nn.HingeEmbeddingLoss({ reduction: "sum" }).call(tensor([3, 0.5]), tensor([1, -1]));
 * assertEquals(await loss.item(), 3.5);
 * ```
 */
export class HingeEmbeddingLoss extends LossLayer<MarginOptions> {
  /** With the options of `hingeEmbeddingLoss`. */
  constructor(options: MarginOptions = {}) {
    super(options);
  }
  /** The loss. */
  override forward(input: Tensor, label: Tensor): Tensor {
    return F.hingeEmbeddingLoss(input, label, this.options());
  }
}

/**
 * log(1 + exp(-label · x)), labels 1 and -1.
 *
 * @throws {ShapeError} when called, if the shapes differ.
 *
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const loss = new nn.SoftMarginLoss().call(tensor([0]), tensor([1]));
 * assertAlmostEquals(await loss.item() as number, Math.LN2, 1e-6);
 * ```
 */
export class SoftMarginLoss extends LossLayer<LossOptions> {
  /** With the options of `softMarginLoss`. */
  constructor(options: LossOptions = {}) {
    super(options);
  }
  /** The loss. */
  override forward(input: Tensor, label: Tensor): Tensor {
    return F.softMarginLoss(input, label, this.options());
  }
}

/**
 * max(0, margin - label · (a - b)): a is to be larger than b where the label is 1, smaller where it is
 * -1; margin is 0 by default.
 *
 * @throws {ShapeError} when called, if the shapes differ.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const loss = new nn.MarginRankingLoss().call(tensor([1]), tensor([3]), tensor([1]));
 * assertEquals(await loss.item(), 2);
 * ```
 */
export class MarginRankingLoss extends Layer<[a: Tensor, b: Tensor, label: Tensor]> {
  readonly #options: MarginOptions;

  /** With the options of `marginRankingLoss`. */
  constructor(options: MarginOptions = {}) {
    super();
    checkOptions(this, options);
    this.#options = options;
  }
  /** The loss. */
  override forward(a: Tensor, b: Tensor, label: Tensor): Tensor {
    return F.marginRankingLoss(a, b, label, this.#options);
  }
  /** The options, for printing. */
  override extraRepr(): string {
    return fields({ ...this.#options });
  }
}

/**
 * The cosine of the angle between vectors along an axis; by default axis 1.
 *
 * @throws {ShapeError} when called, if the shapes do not broadcast.
 *
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const loss = new nn.CosineSimilarity().call(tensor([[3, 4]]), tensor([[4, 3]]));
 * assertAlmostEquals(await loss.item() as number, 0.96, 1e-6);
 * ```
 */
export class CosineSimilarity extends LossLayer<CosineSimilarityOptions> {
  /** With the options of `cosineSimilarity`. */
  constructor(options: CosineSimilarityOptions = {}) {
    super(options);
  }
  /** The cosines. */
  override forward(input: Tensor, label: Tensor): Tensor {
    return F.cosineSimilarity(input, label, this.options());
  }
}
