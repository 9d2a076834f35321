// Layers used everywhere: Linear, Embedding, Dropout, Flatten, Unflatten, Identity. Not here: their
// arithmetic (functional.ts).
import type { DType } from "../core/dtype.ts";
import { ShapeError, ValueError } from "../core/errors.ts";
import { expectList, expectOptions, expectTensors } from "../core/operands.ts";
import { normalizeAxis, showShape, sizeOf } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { flatten, reshape } from "../ops/mod.ts";
import * as F from "./functional.ts";
import type { Initializer } from "./initializer.ts";
import { Layer } from "./layer.ts";
import type { Parameter } from "./parameter.ts";
import { fields } from "./print.ts";

/** Throws unless every size is a positive whole number. */
export function checkSizes(layer: string, sizes: Readonly<Record<string, number>>): void {
  for (const [what, n] of Object.entries(sizes)) {
    if (Number.isInteger(n) && n > 0) continue;
    throw new ValueError(
      `Cannot make a ${layer} with ${what} ${n}: it must be a positive whole number`,
    );
  }
}

/** Throws unless the options of a layer are an object: a bare number or boolean would be left unread. */
export function checkOptions(layer: object, options: unknown): void {
  expectOptions(`make a ${layer.constructor.name}`, options);
}

/** How weight and bias of a layer begin. */
export interface WeightOptions {
  /** Whether there is a bias; default true. */
  readonly bias?: boolean;
  /** First values of the weight; the layer says the default. */
  readonly weightInit?: Initializer;
  /** First values of the bias; default zeros. */
  readonly biasInit?: Initializer;
  /** Dtype of the parameters; default: the default dtype. */
  readonly dtype?: DType;
}

/**
 * x · weight + bias over the last axis. The weight is [in, out], as in Paddle (PyTorch has [out, in]),
 * and begins with `XavierUniform`; the bias begins with zeros.
 *
 * Input [..., in], output [..., out].
 *
 * @throws {ValueError} if a size is not a positive whole number.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, zeros } from "../mod.ts";
 *
 * const layer = new nn.Linear(3, 4);
 * assertEquals(layer.call(zeros([2, 3])).shape, [2, 4]);
 * assertEquals(new nn.Linear(3, 4, { bias: false }).bias, null);
 * assertEquals(String(layer), "Linear(inFeatures=3, outFeatures=4)");
 * ```
 */
export class Linear extends Layer {
  /** [in, out]. */
  weight: Parameter;
  /** [out], or null. */
  bias: Parameter | null;

  /** From `inFeatures` values to `outFeatures`. */
  constructor(inFeatures: number, outFeatures: number, options: WeightOptions = {}) {
    super();
    checkOptions(this, options);
    checkSizes("Linear", { inFeatures, outFeatures });
    const { bias = true, weightInit, biasInit, dtype } = options;
    this.weight = this.createParameter([inFeatures, outFeatures], {
      initializer: weightInit,
      dtype,
    });
    this.bias = bias
      ? this.createParameter([outFeatures], { initializer: biasInit, dtype, isBias: true })
      : null;
  }
  /** x · weight + bias. */
  override forward(x: Tensor): Tensor {
    return F.linear(x, this.weight, this.bias ?? undefined);
  }
  /** The options, for printing. */
  override extraRepr(): string {
    const [inFeatures, outFeatures] = this.weight.shape;
    return fields({ inFeatures, outFeatures, bias: this.bias === null ? false : undefined });
  }
}

/** Options of {@linkcode Embedding}. */
export interface EmbeddingOptions {
  /** A row that reads as zeros and is not trained; negative counts from the end. */
  readonly paddingIdx?: number;
  /** First values; default `XavierUniform`. */
  readonly weightInit?: Initializer;
  /** Dtype of the rows; default: the default dtype. */
  readonly dtype?: DType;
}

/**
 * A table of vectors looked up by integer ids. The weight is [rows, size] and begins with `XavierUniform`, as in Paddle
 * (PyTorch: standard normals).
 *
 * Input: integers of any shape [...]; output [..., size].
 *
 * @throws {ValueError} if a size is not a positive whole number, or `paddingIdx` is no row.
 * @throws {IndexError} when called, if an id is no row.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const table = new nn.Embedding(5, 2, { paddingIdx: 0 });
 * const out = table.call(tensor([[0, 3], [4, 4]], { dtype: "int32" }));
 * assertEquals(out.shape, [2, 2, 2]);
 * assertEquals((await out.toArray() as number[][][])[0][0], [0, 0]);
 * ```
 */
export class Embedding extends Layer {
  /** [rows, size]. */
  weight: Parameter;
  readonly #paddingIdx: number | undefined;

  /** `numEmbeddings` rows of `embeddingDim` values. */
  constructor(numEmbeddings: number, embeddingDim: number, options: EmbeddingOptions = {}) {
    super();
    checkOptions(this, options);
    checkSizes("Embedding", { numEmbeddings, embeddingDim });
    const { paddingIdx, weightInit, dtype } = options;
    const inside = paddingIdx === undefined ||
      (Number.isInteger(paddingIdx) && paddingIdx >= -numEmbeddings && paddingIdx < numEmbeddings);
    if (!inside) {
      throw new ValueError(
        `Cannot make an Embedding of ${numEmbeddings} rows with paddingIdx ${paddingIdx}: it must be ` +
          `a whole number from ${-numEmbeddings} to ${numEmbeddings - 1}`,
      );
    }
    this.#paddingIdx = paddingIdx;
    this.weight = this.createParameter([numEmbeddings, embeddingDim], {
      initializer: weightInit,
      dtype,
    });
  }
  /** The rows of the ids. */
  override forward(ids: Tensor): Tensor {
    return F.embedding(ids, this.weight, { paddingIdx: this.#paddingIdx });
  }
  /** The options, for printing. */
  override extraRepr(): string {
    const [numEmbeddings, embeddingDim] = this.weight.shape;
    return fields({ numEmbeddings, embeddingDim, paddingIdx: this.#paddingIdx });
  }
}

/** Options of {@linkcode Dropout}. */
export interface DropoutOptions {
  /** The probability of a zero; default 0.5. */
  readonly p?: number;
  /**
   * "upscale_in_train" (default): survivors are divided by 1 - p in training. "downscale_in_infer":
   * they stay, and evaluation multiplies everything by 1 - p.
   */
  readonly mode?: "upscale_in_train" | "downscale_in_infer";
}

/**
 * Sets each element to zero with probability p in training; evaluation changes nothing.
 *
 * @throws {ValueError} if p is not in 0 … 1.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const layer = new nn.Dropout({ p: 1 });
 * assertEquals(await layer.call(tensor([1, 2])).toArray(), [0, 0]);
 * assertEquals(await layer.eval().call(tensor([1, 2])).toArray(), [1, 2]);
 * ```
 */
export class Dropout extends Layer {
  readonly #p: number;
  readonly #mode: DropoutOptions["mode"];

  /** With p and mode. */
  constructor(options: DropoutOptions = {}) {
    super();
    checkOptions(this, options);
    const { p = 0.5, mode } = options;
    if (!(p >= 0 && p <= 1)) {
      throw new ValueError(`Cannot make a Dropout with p ${p}: it must be in 0 … 1`);
    }
    [this.#p, this.#mode] = [p, mode];
  }
  /** Drops elements, when training. */
  override forward(x: Tensor): Tensor {
    return F.dropout(x, { p: this.#p, training: this.training, mode: this.#mode });
  }
  /** The options, for printing. */
  override extraRepr(): string {
    return fields({ p: this.#p, mode: this.#mode });
  }
}

/**
 * Makes one axis of several; by default of all but the batch axis.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, zeros } from "../mod.ts";
 *
 * assertEquals(new nn.Flatten().call(zeros([2, 3, 4])).shape, [2, 12]);
 * ```
 */
export class Flatten extends Layer {
  readonly #startAxis: number;
  readonly #stopAxis: number;

  /** From `startAxis` (default 1) to `stopAxis` (default -1), both included. */
  constructor(options: { readonly startAxis?: number; readonly stopAxis?: number } = {}) {
    super();
    checkOptions(this, options);
    [this.#startAxis, this.#stopAxis] = [options.startAxis ?? 1, options.stopAxis ?? -1];
  }
  /** Flattens. */
  override forward(x: Tensor): Tensor {
    return flatten(x, this.#startAxis, this.#stopAxis);
  }
  /** The options, for printing. */
  override extraRepr(): string {
    return fields({ startAxis: this.#startAxis, stopAxis: this.#stopAxis });
  }
}

/**
 * Splits an axis into several: the opposite of Flatten.
 *
 * @throws {ShapeError} when called, if the sizes do not multiply to that of the axis.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, zeros } from "../mod.ts";
 *
 * assertEquals(new nn.Unflatten(1, [3, -1]).call(zeros([2, 12])).shape, [2, 3, 4]);
 * ```
 */
export class Unflatten extends Layer {
  readonly #axis: number;
  readonly #shape: readonly number[];

  /** The axis and the sizes it is split into, of which one may be -1. */
  constructor(axis: number, shape: readonly number[]) {
    super();
    [this.#axis, this.#shape] = [axis, expectList("make an Unflatten", "the shape", shape)];
  }
  /** Splits the axis. */
  override forward(x: Tensor): Tensor {
    expectTensors("Unflatten", x);
    const axis = normalizeAxis("Unflatten", this.#axis, x.rank);
    const known = sizeOf(this.#shape.filter((n) => n !== -1));
    const sizes = this.#shape.map((n) => n === -1 ? x.shape[axis] / known : n);
    if (sizeOf(sizes) !== x.shape[axis] || !sizes.every(Number.isInteger)) {
      throw new ShapeError(
        `Cannot Unflatten axis ${axis} of ${showShape(x.shape)} into ${
          showShape(this.#shape)
        }: the sizes must multiply to ${x.shape[axis]}`,
      );
    }
    return reshape(x, [...x.shape.slice(0, axis), ...sizes, ...x.shape.slice(axis + 1)]);
  }
  /** The options, for printing. */
  override extraRepr(): string {
    return fields({ axis: this.#axis, shape: this.#shape });
  }
}

/**
 * Gives its input: a place holder.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const x = tensor([1, 2]);
 * assertEquals(new nn.Identity().call(x), x);
 * ```
 */
export class Identity extends Layer {
  /** The input. */
  override forward(x: Tensor): Tensor {
    return x;
  }
}
