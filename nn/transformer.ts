// Transformers (Vaswani et al. 2017): blocks of an encoder and a decoder, stacks of them, and both together. Not
// here: attention (attention.ts), embeddings and positions, which are the caller's.
import type { DType } from "../core/dtype.ts";
import { ValueError } from "../core/errors.ts";
import { expectOptions } from "../core/operands.ts";
import type { Tensor } from "../core/tensor.ts";
import { full, triu } from "../ops/mod.ts";
import { type AttentionCache, MultiHeadAttention } from "./attention.ts";
import { checkSizes, Dropout, Linear, type WeightOptions } from "./basic.ts";
import { LayerList } from "./container.ts";
import * as F from "./functional.ts";
import { Layer } from "./layer.ts";
import { LayerNorm } from "./norm.ts";
import { fields } from "./print.ts";

/** What lies between the two products of a block: a name, or any function of a tensor. */
export type TransformerActivation = "relu" | "gelu" | "silu" | ((x: Tensor) => Tensor);

/** Options of the blocks. */
export interface TransformerLayerOptions extends WeightOptions {
  /** Probability with which elements of what a part of the block adds are dropped in training; default 0.1. */
  readonly dropout?: number;
  /** Between the two products; default "relu". */
  readonly activation?: TransformerActivation;
  /** The same for weights of attention; default `dropout`. */
  readonly attnDropout?: number;
  /** The same for what the activation gives; default `dropout`. */
  readonly actDropout?: number;
  /** Whether inputs of the parts are normalized, and not their outputs; default false. */
  readonly normalizeBefore?: boolean;
  /** Of the normalizations; default 1e-5. */
  readonly layerNormEps?: number;
}

/** What blocks are made of, as it was given. */
type BlockArguments = readonly [
  dModel: number,
  nhead: number,
  dimFeedforward: number,
  options: TransformerLayerOptions,
];

const ACTIVATIONS = { relu: F.relu, gelu: F.gelu, silu: F.silu } as const;

function activationOf(name: string, activation: TransformerActivation): (x: Tensor) => Tensor {
  if (typeof activation === "function") return activation;
  const found = Object.hasOwn(ACTIVATIONS, activation) ? ACTIVATIONS[activation] : undefined;
  if (found !== undefined) return (x) => found(x);
  throw new ValueError(
    `Cannot make a ${name} with activation "${activation}": it must be ` +
      `"${Object.keys(ACTIVATIONS).join('", "')}" or a function`,
  );
}

/** What the blocks share: the two products at their end, and how parts are added and normalized. */
abstract class Block<Args extends readonly unknown[]> extends Layer<Args> {
  /** [dModel, dimFeedforward]. */
  abstract linear1: Linear;
  /** Of what the activation gives. */
  abstract dropout: Dropout;
  /** [dimFeedforward, dModel]. */
  abstract linear2: Linear;
  readonly #given: BlockArguments;
  readonly #activation: (x: Tensor) => Tensor;

  constructor(name: string, given: BlockArguments) {
    super();
    const [dModel, nhead, dimFeedforward, options] = given;
    expectOptions(`make a ${name}`, options);
    checkSizes(name, { dModel, nhead, dimFeedforward });
    this.#given = given;
    this.#activation = activationOf(name, options.activation ?? "relu");
  }

  /** The arguments it was made with. */
  protected get given(): BlockArguments {
    return this.#given;
  }

  /** x and what a part makes of it, with the normalization where the options say. */
  protected residual(
    x: Tensor,
    norm: LayerNorm,
    dropout: Dropout,
    part: (x: Tensor) => Tensor,
  ): Tensor {
    if (this.#given[3].normalizeBefore) return x.add(dropout.call(part(norm.call(x))));
    return norm.call(x.add(dropout.call(part(x))));
  }

  /** The two products. */
  protected feedForward(x: Tensor): Tensor {
    return this.linear2.call(this.dropout.call(this.#activation(this.linear1.call(x))));
  }

  /** The options, for printing. */
  override extraRepr(): string {
    const { normalizeBefore } = this.#given[3];
    return fields({ normalizeBefore: normalizeBefore || undefined });
  }
}

/** The two products, and what is dropped between them. */
function productsOf(
  [dModel, , dimFeedforward, options]: BlockArguments,
): [Linear, Dropout, Linear] {
  const { dropout = 0.1, actDropout = dropout } = options;
  const weights = weightOptions(options);
  return [
    new Linear(dModel, dimFeedforward, weights),
    new Dropout({ p: actDropout }),
    new Linear(dimFeedforward, dModel, weights),
  ];
}

function weightOptions({ bias, weightInit, biasInit, dtype }: WeightOptions): WeightOptions {
  return { bias, weightInit, biasInit, dtype };
}

function attentionOf([dModel, nhead, , options]: BlockArguments): MultiHeadAttention {
  const { dropout = 0.1, attnDropout = dropout } = options;
  return new MultiHeadAttention(dModel, nhead, {
    ...weightOptions(options),
    dropout: attnDropout,
  });
}

function normOf([dModel, , , { layerNormEps, dtype }]: BlockArguments): LayerNorm {
  return new LayerNorm(dModel, { epsilon: layerNormEps, dtype });
}

const dropoutOf = ([, , , { dropout = 0.1 }]: BlockArguments): Dropout =>
  new Dropout({ p: dropout });

// --- encoder ------------------------------------------------------------------------------------------

/** Options of calling a {@linkcode TransformerEncoderLayer}. */
export interface EncoderLayerCallOptions {
  /** Where positions may attend to; see {@linkcode MultiHeadAttention}. */
  readonly srcMask?: Tensor;
  /** From `genCache`. */
  readonly cache?: AttentionCache;
}

/**
 * A block of an encoder: attention of the sequence to itself, then two products with an activation between. Each
 * part is added to its input, and the sum (or, with `normalizeBefore`, the input) normalized.
 *
 * Called with [batch, length, dModel]; gives the same shape.
 *
 * @throws {ValueError} if a size is not a positive whole number, the heads do not divide `dModel`, or an option
 * is out of its range.
 * @throws {ShapeError} when called, if a shape does not fit.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, randn } from "../mod.ts";
 *
 * const block = new nn.TransformerEncoderLayer(8, 2, 16, { activation: "gelu" });
 * assertEquals(block.call(randn([3, 5, 8])).shape, [3, 5, 8]);
 * ```
 */
export class TransformerEncoderLayer extends Block<[Tensor, EncoderLayerCallOptions?]> {
  /** Of the sequence to itself. */
  selfAttn: MultiHeadAttention;
  /** [dModel, dimFeedforward]. */
  override linear1: Linear;
  /** Of what the activation gives. */
  override dropout: Dropout;
  /** [dimFeedforward, dModel]. */
  override linear2: Linear;
  /** Of the attention. */
  norm1: LayerNorm;
  /** Of the two products. */
  norm2: LayerNorm;
  /** Of what the attention gives. */
  dropout1: Dropout;
  /** Of what the two products give. */
  dropout2: Dropout;

  /** Sequences of `dModel` values; the products go over `dimFeedforward`. */
  constructor(
    dModel: number,
    nhead: number,
    dimFeedforward: number,
    options: TransformerLayerOptions = {},
  ) {
    super("TransformerEncoderLayer", [dModel, nhead, dimFeedforward, options]);
    const { given } = this;
    this.selfAttn = attentionOf(given);
    [this.linear1, this.dropout, this.linear2] = productsOf(given);
    [this.norm1, this.norm2] = [normOf(given), normOf(given)];
    [this.dropout1, this.dropout2] = [dropoutOf(given), dropoutOf(given)];
  }

  /** A block like this one, with new first values. A subclass with a constructor of its own overrides it. */
  another(): TransformerEncoderLayer {
    return new TransformerEncoderLayer(...this.given);
  }

  /** An empty cache for the batch of `src`, for sequences that come piece by piece. */
  genCache(src: Tensor): AttentionCache {
    return this.selfAttn.genCache(src);
  }

  /** Encodes. */
  override forward(src: Tensor, options: EncoderLayerCallOptions = {}): Tensor {
    expectOptions("TransformerEncoderLayer", options);
    const { srcMask: attnMask, cache } = options;
    const attended = this.residual(
      src,
      this.norm1,
      this.dropout1,
      (x) => this.selfAttn.call(x, x, x, { attnMask, cache }),
    );
    return this.residual(attended, this.norm2, this.dropout2, (x) => this.feedForward(x));
  }
}

/** Options of calling a {@linkcode TransformerEncoder}. */
export interface EncoderCallOptions {
  /** Where positions may attend to; see {@linkcode MultiHeadAttention}. */
  readonly srcMask?: Tensor;
  /** From `genCache`, one for each block. */
  readonly cache?: readonly AttentionCache[];
}

/** `layer`, and as many others like it as are missing. */
function stackOf<L extends { another(): L }>(name: string, layer: L, numLayers: number): L[] {
  checkSizes(name, { numLayers });
  return Array.from({ length: numLayers }, (_, i) => (i === 0 ? layer : layer.another()));
}

/**
 * Blocks of an encoder one after another.
 *
 * Called with [batch, length, dModel]; gives the same shape.
 *
 * @throws {ValueError} if the number of blocks is not a positive whole number.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, randn } from "../mod.ts";
 *
 * const block = new nn.TransformerEncoderLayer(8, 2, 16);
 * const encoder = new nn.TransformerEncoder(block, 3);
 * assertEquals(encoder.call(randn([3, 5, 8])).shape, [3, 5, 8]);
 * assertEquals(encoder.layers.at(0), block);
 * assertEquals(encoder.namedParameters().at(-1)?.[0], "layers.2.norm2.bias");
 * ```
 */
export class TransformerEncoder extends Layer<[Tensor, EncoderCallOptions?]> {
  /** The blocks. */
  layers: LayerList<TransformerEncoderLayer>;
  /** Applied at the end, or null. */
  norm: Layer | null;

  /** `encoderLayer` is the first block; the others are made like it. `norm` comes behind the last. */
  constructor(
    encoderLayer: TransformerEncoderLayer,
    numLayers: number,
    norm: Layer | null = null,
  ) {
    super();
    this.layers = new LayerList(stackOf("TransformerEncoder", encoderLayer, numLayers));
    this.norm = norm;
  }

  /** Empty caches for the batch of `src`, one for each block. */
  genCache(src: Tensor): AttentionCache[] {
    return [...this.layers].map((layer) => layer.genCache(src));
  }

  /** Encodes. */
  override forward(src: Tensor, options: EncoderCallOptions = {}): Tensor {
    expectOptions("TransformerEncoder", options);
    const { srcMask, cache } = options;
    expectCaches("TransformerEncoder", this.layers.length, cache);
    let x = src;
    for (const [i, layer] of [...this.layers].entries()) {
      x = layer.call(x, { srcMask, cache: cache?.[i] });
    }
    return this.norm === null ? x : this.norm.call(x);
  }
}

function expectCaches(name: string, blocks: number, cache: readonly unknown[] | undefined): void {
  if (cache === undefined || (Array.isArray(cache) && cache.length === blocks)) return;
  throw new ValueError(`Cannot ${name}: there must be one cache for each of the ${blocks} blocks`);
}

// --- decoder ------------------------------------------------------------------------------------------

/** Caches of a {@linkcode TransformerDecoderLayer}: of its attention to itself, and to the memory. */
export type DecoderLayerCache = readonly [own: AttentionCache, memory: AttentionCache];

/** Options of calling a {@linkcode TransformerDecoderLayer}. */
export interface DecoderLayerCallOptions {
  /** Where positions may attend to among themselves; see {@linkcode MultiHeadAttention}. */
  readonly tgtMask?: Tensor;
  /** Where positions may attend to in the memory. */
  readonly memoryMask?: Tensor;
  /** From `genCache`. */
  readonly cache?: DecoderLayerCache;
}

/**
 * A block of a decoder: attention of the sequence to itself, then to the memory that an encoder gave, then two
 * products with an activation between. Parts are added and normalized as in {@linkcode TransformerEncoderLayer}.
 *
 * Called with the sequence [batch, length, dModel] and the memory [batch, memory length, dModel]; gives the
 * shape of the sequence.
 *
 * @throws {ValueError} if a size is not a positive whole number, the heads do not divide `dModel`, or an option
 * is out of its range.
 * @throws {ShapeError} when called, if a shape does not fit.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, randn } from "../mod.ts";
 *
 * const block = new nn.TransformerDecoderLayer(8, 2, 16);
 * assertEquals(block.call(randn([3, 5, 8]), randn([3, 7, 8])).shape, [3, 5, 8]);
 * ```
 */
export class TransformerDecoderLayer extends Block<[Tensor, Tensor, DecoderLayerCallOptions?]> {
  /** Of the sequence to itself. */
  selfAttn: MultiHeadAttention;
  /** Of the sequence to the memory. */
  crossAttn: MultiHeadAttention;
  /** [dModel, dimFeedforward]. */
  override linear1: Linear;
  /** Of what the activation gives. */
  override dropout: Dropout;
  /** [dimFeedforward, dModel]. */
  override linear2: Linear;
  /** Of the attention of the sequence to itself. */
  norm1: LayerNorm;
  /** Of the attention to the memory. */
  norm2: LayerNorm;
  /** Of the two products. */
  norm3: LayerNorm;
  /** Of what the attention of the sequence to itself gives. */
  dropout1: Dropout;
  /** Of what the attention to the memory gives. */
  dropout2: Dropout;
  /** Of what the two products give. */
  dropout3: Dropout;

  /** Sequences of `dModel` values; the products go over `dimFeedforward`. */
  constructor(
    dModel: number,
    nhead: number,
    dimFeedforward: number,
    options: TransformerLayerOptions = {},
  ) {
    super("TransformerDecoderLayer", [dModel, nhead, dimFeedforward, options]);
    const { given } = this;
    [this.selfAttn, this.crossAttn] = [attentionOf(given), attentionOf(given)];
    [this.linear1, this.dropout, this.linear2] = productsOf(given);
    [this.norm1, this.norm2, this.norm3] = [normOf(given), normOf(given), normOf(given)];
    this.dropout1 = dropoutOf(given);
    this.dropout2 = dropoutOf(given);
    this.dropout3 = dropoutOf(given);
  }

  /** A block like this one, with new first values. A subclass with a constructor of its own overrides it. */
  another(): TransformerDecoderLayer {
    return new TransformerDecoderLayer(...this.given);
  }

  /** Caches for decoding piece by piece: an empty one, and one of the memory, projected once. */
  genCache(memory: Tensor): DecoderLayerCache {
    const crossed = this.crossAttn.genCache(memory, memory, { type: "static" });
    return [this.selfAttn.genCache(memory), crossed];
  }

  /** Decodes. */
  override forward(tgt: Tensor, memory: Tensor, options: DecoderLayerCallOptions = {}): Tensor {
    expectOptions("TransformerDecoderLayer", options);
    const { tgtMask, memoryMask, cache } = options;
    const own = this.residual(
      tgt,
      this.norm1,
      this.dropout1,
      (x) => this.selfAttn.call(x, x, x, { attnMask: tgtMask, cache: cache?.[0] }),
    );
    const crossed = this.residual(
      own,
      this.norm2,
      this.dropout2,
      (x) => this.crossAttn.call(x, memory, memory, { attnMask: memoryMask, cache: cache?.[1] }),
    );
    return this.residual(crossed, this.norm3, this.dropout3, (x) => this.feedForward(x));
  }
}

/** Options of calling a {@linkcode TransformerDecoder}. */
export interface DecoderCallOptions {
  /** Where positions may attend to among themselves; see {@linkcode MultiHeadAttention}. */
  readonly tgtMask?: Tensor;
  /** Where positions may attend to in the memory. */
  readonly memoryMask?: Tensor;
  /** From `genCache`, one for each block. */
  readonly cache?: readonly DecoderLayerCache[];
}

/**
 * Blocks of a decoder one after another.
 *
 * Called with the sequence [batch, length, dModel] and the memory [batch, memory length, dModel]; gives the
 * shape of the sequence.
 *
 * @throws {ValueError} if the number of blocks is not a positive whole number.
 * @example
 * ```ts
 * import { assert, assertEquals } from "jsr:@std/assert@1";
 * import { nn, noGrad, randn } from "../mod.ts";
 *
 * const block = new nn.TransformerDecoderLayer(8, 2, 16);
 * const decoder = new nn.TransformerDecoder(block, 2).eval();
 * const [tgt, memory] = [randn([1, 4, 8]), randn([1, 6, 8])];
 * const tgtMask = nn.Transformer.generateSquareSubsequentMask(4);
 * const whole = decoder.call(tgt, memory, { tgtMask });
 * // The same step by step, with what was computed kept.
 * const cache = decoder.genCache(memory);
 * const last = noGrad(() =>
 *   [0, 1, 2, 3].map((t) => decoder.call(tgt.at(":", `${t}:${t + 1}`), memory, { cache })).at(-1)!
 * );
 * assertEquals(last.shape, [1, 1, 8]);
 * assert(Number(await whole.at(":", "3:4").sub(last).abs().max().item()) < 1e-5);
 * ```
 */
export class TransformerDecoder extends Layer<[Tensor, Tensor, DecoderCallOptions?]> {
  /** The blocks. */
  layers: LayerList<TransformerDecoderLayer>;
  /** Applied at the end, or null. */
  norm: Layer | null;

  /** `decoderLayer` is the first block; the others are made like it. `norm` comes behind the last. */
  constructor(
    decoderLayer: TransformerDecoderLayer,
    numLayers: number,
    norm: Layer | null = null,
  ) {
    super();
    this.layers = new LayerList(stackOf("TransformerDecoder", decoderLayer, numLayers));
    this.norm = norm;
  }

  /** Caches for decoding piece by piece, one for each block. */
  genCache(memory: Tensor): DecoderLayerCache[] {
    return [...this.layers].map((layer) => layer.genCache(memory));
  }

  /** Decodes. */
  override forward(tgt: Tensor, memory: Tensor, options: DecoderCallOptions = {}): Tensor {
    expectOptions("TransformerDecoder", options);
    const { tgtMask, memoryMask, cache } = options;
    expectCaches("TransformerDecoder", this.layers.length, cache);
    let x = tgt;
    for (const [i, layer] of [...this.layers].entries()) {
      x = layer.call(x, memory, { tgtMask, memoryMask, cache: cache?.[i] });
    }
    return this.norm === null ? x : this.norm.call(x);
  }
}

// --- both ---------------------------------------------------------------------------------------------

/** An encoder of one's own: what {@linkcode Transformer} needs of it. */
export type EncoderLike = Layer<[Tensor, EncoderCallOptions?]>;
/** A decoder of one's own. */
export type DecoderLike = Layer<[Tensor, Tensor, DecoderCallOptions?]>;

/** Options of {@linkcode Transformer}. */
export interface TransformerOptions extends TransformerLayerOptions {
  /** Blocks of the encoder; default 6. */
  readonly numEncoderLayers?: number;
  /** Blocks of the decoder; default 6. */
  readonly numDecoderLayers?: number;
  /** What the two products of a block go over; default 2048. */
  readonly dimFeedforward?: number;
  /** Instead of the encoder. */
  readonly customEncoder?: EncoderLike;
  /** Instead of the decoder. */
  readonly customDecoder?: DecoderLike;
}

/** Options of calling a {@linkcode Transformer}. */
export interface TransformerCallOptions {
  /** Where positions of the source may attend to among themselves; see {@linkcode MultiHeadAttention}. */
  readonly srcMask?: Tensor;
  /** Where positions of the target may attend to among themselves. */
  readonly tgtMask?: Tensor;
  /** Where positions of the target may attend to in the memory. */
  readonly memoryMask?: Tensor;
}

/**
 * An encoder and a decoder (Vaswani et al. 2017). As in Paddle there is a normalization behind each stack only
 * with `normalizeBefore` (in PyTorch there always is).
 *
 * Called with a source [batch, source length, dModel] and a target [batch, target length, dModel]; gives the
 * shape of the target.
 *
 * @throws {ValueError} if a size is not a positive whole number, the heads do not divide `dModel`, or an option
 * is out of its range.
 * @throws {ShapeError} when called, if a shape does not fit.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, randn } from "../mod.ts";
 *
 * const model = new nn.Transformer(8, 2, {
 *   numEncoderLayers: 1,
 *   numDecoderLayers: 2,
 *   dimFeedforward: 16,
 * });
 * const tgtMask = nn.Transformer.generateSquareSubsequentMask(5);
 * const y = model.call(randn([3, 7, 8]), randn([3, 5, 8]), { tgtMask });
 * assertEquals(y.shape, [3, 5, 8]);
 * ```
 */
export class Transformer extends Layer<[Tensor, Tensor, TransformerCallOptions?]> {
  /** Of the source. */
  encoder: EncoderLike;
  /** Of the target, with the encoded source as its memory. */
  decoder: DecoderLike;

  /** Sequences of `dModel` values (default 512), which `nhead` heads share (default 8). */
  constructor(dModel = 512, nhead = 8, options: TransformerOptions = {}) {
    super();
    expectOptions("make a Transformer", options);
    const {
      numEncoderLayers = 6,
      numDecoderLayers = 6,
      dimFeedforward = 2048,
      customEncoder,
      customDecoder,
      ...block
    } = options;
    const given: BlockArguments = [dModel, nhead, dimFeedforward, block];
    const norm = () => block.normalizeBefore ? normOf(given) : null;
    this.encoder = customEncoder ??
      new TransformerEncoder(new TransformerEncoderLayer(...given), numEncoderLayers, norm());
    this.decoder = customDecoder ??
      new TransformerDecoder(new TransformerDecoderLayer(...given), numDecoderLayers, norm());
  }

  /**
   * A mask by which positions attend only to themselves and to those before: 0 there, -Infinity elsewhere.
   *
   * @returns [length, length], to be added to scores.
   * @throws {ShapeError} if the length is not a whole number of at least 0.
   * @example
   * ```ts
   * import { assertEquals } from "jsr:@std/assert@1";
   * import { nn } from "../mod.ts";
   *
   * const mask = nn.Transformer.generateSquareSubsequentMask(2);
   * assertEquals(await mask.toArray(), [[0, -Infinity], [0, 0]]);
   * ```
   */
  static generateSquareSubsequentMask(
    length: number,
    options: { readonly dtype?: DType } = {},
  ): Tensor {
    return triu(full([length, length], -Infinity, { dtype: options.dtype }), 1);
  }

  /** The same, as Paddle has it. */
  generateSquareSubsequentMask(length: number): Tensor {
    return Transformer.generateSquareSubsequentMask(length);
  }

  /** Encodes the source and decodes the target with it. */
  override forward(src: Tensor, tgt: Tensor, options: TransformerCallOptions = {}): Tensor {
    expectOptions("Transformer", options);
    const { srcMask, tgtMask, memoryMask } = options;
    const memory = this.encoder.call(src, { srcMask });
    return this.decoder.call(tgt, memory, { tgtMask, memoryMask });
  }
}
