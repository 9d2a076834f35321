// Attention with several heads as a layer, and what it remembers between steps of decoding. Not here: the
// arithmetic (functional.ts, ops/attention.ts), blocks of transformers (transformer.ts).
import { keepAlive } from "../core/autograd.ts";
import { isFloat } from "../core/dtype.ts";
import { ShapeError, ValueError } from "../core/errors.ts";
import { expectOptional, expectOptions, expectTensors } from "../core/operands.ts";
import { showShape } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { attentionWithWeights } from "../ops/attention.ts";
import { concat, notEqual, zeros } from "../ops/mod.ts";
import { checkSizes, Linear, type WeightOptions } from "./basic.ts";
import * as F from "./functional.ts";
import { Layer } from "./layer.ts";
import { fields } from "./print.ts";

/** Options of {@linkcode MultiHeadAttention}. */
export interface MultiHeadAttentionOptions<W extends boolean = boolean> extends WeightOptions {
  /** Probability with which a weight is dropped in training; default 0. */
  readonly dropout?: number;
  /** Size of the keys; default that of the queries. */
  readonly kdim?: number;
  /** Size of the values; default that of the queries. */
  readonly vdim?: number;
  /** Give the weights too; default false. */
  readonly needWeights?: W;
}

/** Options of calling a {@linkcode MultiHeadAttention}. */
export interface AttentionCallOptions {
  /**
   * bool or integers: true (not 0) where a query may attend to a key; floats: added to the scores. It must
   * broadcast to [batch, heads, queries, keys].
   */
  readonly attnMask?: Tensor;
  /** From `genCache`: what earlier calls have seen. */
  readonly cache?: AttentionCache;
}

/**
 * Keys and values of a {@linkcode MultiHeadAttention}, [batch, heads, length, size of a head], kept from call
 * to call. An incremental one grows: each call adds its own keys and values and attends to all of them. A
 * static one stays: calls attend to what it was made from.
 *
 * Paddle gives a new cache with each call; here the one that is given is changed.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, noGrad, randn } from "../mod.ts";
 *
 * const layer = new nn.MultiHeadAttention(4, 2);
 * const cache = layer.genCache(randn([1, 1, 4]));
 * noGrad(() => {
 *   for (let t = 0; t < 3; t++) layer.call(randn([1, 1, 4]), undefined, undefined, { cache });
 * });
 * assertEquals(cache.k.shape, [1, 2, 3, 2]);
 * ```
 */
export class AttentionCache {
  /** Keys so far. */
  k: Tensor;
  /** Values so far. */
  v: Tensor;
  /** Whether it stays as it is. */
  readonly isStatic: boolean;

  /** Holds keys and values; `genCache` makes it. */
  constructor(k: Tensor, v: Tensor, options: { readonly isStatic?: boolean } = {}) {
    [this.k, this.v] = [k, v];
    this.isStatic = options.isStatic ?? false;
    this.#keep();
  }

  /** Adds keys and values behind those that there are. */
  append(k: Tensor, v: Tensor): void {
    this.k = concat([this.k, k], 2);
    this.v = concat([this.v, v], 2);
    this.#keep();
  }

  /** The same contents in a cache of its own, to go on in another way from here. */
  clone(): AttentionCache {
    return new AttentionCache(this.k, this.v, { isStatic: this.isStatic });
  }

  /** They live as long as the cache, not as long as a scope() that happens to be open. */
  #keep(): void {
    keepAlive(this.k);
    keepAlive(this.v);
  }
}

/**
 * Attention with several heads (Vaswani et al. 2017): queries, keys and values are projected, each head attends
 * for itself, and what the heads give is projected once more.
 *
 * Called with a query [batch, queries, embedDim], a key [batch, keys, kdim] (default: the query) and a value
 * [batch, keys, vdim] (default: the key). Gives [batch, queries, embedDim] and, with `needWeights`, the weights
 * [batch, heads, queries, keys]. A query that may attend to nothing gets zeros from its heads.
 *
 * @throws {ValueError} if a size is not a positive whole number, the heads do not divide `embedDim`, or
 * `dropout` is not in 0 … 1.
 * @throws {ShapeError} when called, if a shape does not fit.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, randn } from "../mod.ts";
 *
 * const layer = new nn.MultiHeadAttention(8, 2);
 * assertEquals(layer.call(randn([3, 5, 8])).shape, [3, 5, 8]);
 * assertEquals(layer.namedParameters()[0][0], "qProj.weight");
 *
 * const cross = new nn.MultiHeadAttention(8, 2, { kdim: 4, vdim: 4, needWeights: true });
 * const [out, weights] = cross.call(randn([3, 5, 8]), randn([3, 7, 4]));
 * assertEquals([out.shape, weights.shape], [[3, 5, 8], [3, 2, 5, 7]]);
 * ```
 */
export class MultiHeadAttention<W extends boolean = false> extends Layer<
  [Tensor, Tensor?, Tensor?, AttentionCallOptions?],
  W extends true ? [out: Tensor, weights: Tensor] : Tensor
> {
  /** Of the queries, [embedDim, embedDim]. */
  qProj: Linear;
  /** Of the keys, [kdim, embedDim]. */
  kProj: Linear;
  /** Of the values, [vdim, embedDim]. */
  vProj: Linear;
  /** Of what the heads give, [embedDim, embedDim]. */
  outProj: Linear;
  readonly #numHeads: number;
  readonly #dropout: number;
  readonly #needWeights: boolean;

  /** Queries and outputs have `embedDim` values, which `numHeads` heads share. */
  constructor(embedDim: number, numHeads: number, options: MultiHeadAttentionOptions<W> = {}) {
    super();
    expectOptions("make a MultiHeadAttention", options);
    const { dropout = 0, kdim = embedDim, vdim = embedDim, needWeights, ...weights } = options;
    checkSizes("MultiHeadAttention", { embedDim, numHeads, kdim, vdim });
    if (embedDim % numHeads !== 0) {
      throw new ValueError(
        `Cannot make a MultiHeadAttention of size ${embedDim} with ${numHeads} heads: the heads must ` +
          "share the size evenly",
      );
    }
    if (!(dropout >= 0 && dropout <= 1)) {
      throw new ValueError(
        `Cannot make a MultiHeadAttention with dropout ${dropout}: it must be in 0 … 1`,
      );
    }
    this.qProj = new Linear(embedDim, embedDim, weights);
    this.kProj = new Linear(kdim, embedDim, weights);
    this.vProj = new Linear(vdim, embedDim, weights);
    this.outProj = new Linear(embedDim, embedDim, weights);
    [this.#numHeads, this.#dropout, this.#needWeights] = [numHeads, dropout, needWeights === true];
  }

  /** [batch, length, embedDim] as [batch, heads, length, size of a head]. */
  #split(x: Tensor): Tensor {
    const [batch, length, size] = x.shape;
    const heads = this.#numHeads;
    return x.reshape([batch, length, heads, size / heads]).permute([0, 2, 1, 3]);
  }

  #checked(what: string, x: Tensor, size: number): void {
    if (x.rank === 3 && x.shape[2] === size) return;
    throw new ShapeError(
      `Cannot MultiHeadAttention with a ${what} of shape ${showShape(x.shape)}: it must be ` +
        `[batch, length, ${size}]`,
    );
  }

  #keysAndValues(key: Tensor, value: Tensor): [Tensor, Tensor] {
    this.#checked("key", key, this.kProj.weight.shape[0]);
    this.#checked("value", value, this.vProj.weight.shape[0]);
    return [this.#split(this.kProj.call(key)), this.#split(this.vProj.call(value))];
  }

  /**
   * What calls may go on from.
   *
   * @param key Incremental: a tensor whose batch the cache is for, such as the first input; the cache is empty.
   * With `value`, keys and values [batch, heads, length, size of a head] to begin with. Static: [batch, keys,
   * kdim], projected here once for all calls.
   * @param value Static: [batch, keys, vdim]; default `key`.
   * @param options `type`: "incremental" (default) or "static".
   * @throws {ShapeError} if a shape does not fit.
   * @throws {ValueError} if there is no such type.
   * @example
   * ```ts
   * import { assertEquals } from "jsr:@std/assert@1";
   * import { nn, randn } from "../mod.ts";
   *
   * const layer = new nn.MultiHeadAttention(4, 2);
   * const memory = randn([1, 6, 4]);
   * const cache = layer.genCache(memory, undefined, { type: "static" });
   * const q = randn([1, 2, 4]);
   * assertEquals(
   *   await layer.call(q, memory, memory, { cache }).toArray(),
   *   await layer.call(q, memory).toArray(),
   * );
   * ```
   */
  genCache(
    key: Tensor,
    value?: Tensor,
    options: { readonly type?: "incremental" | "static" } = {},
  ): AttentionCache {
    expectTensors("genCache", key);
    expectOptional("genCache", value);
    expectOptions("genCache", options);
    const { type = "incremental" } = options;
    if (type === "static") {
      const [k, v] = this.#keysAndValues(key, value ?? key);
      return new AttentionCache(k, v, { isStatic: true });
    }
    if (type !== "incremental") {
      throw new ValueError(
        `Cannot genCache of type "${type}": it must be "incremental" or "static"`,
      );
    }
    if (value !== undefined) return new AttentionCache(key, value);
    const { dtype, place, shape: [, size] } = this.qProj.weight;
    const heads = this.#numHeads;
    const shape = [key.shape[0], heads, 0, size / heads];
    return new AttentionCache(zeros(shape, { dtype, place }), zeros(shape, { dtype, place }));
  }

  /** Attends. */
  override forward(
    query: Tensor,
    key?: Tensor,
    value?: Tensor,
    options: AttentionCallOptions = {},
  ): W extends true ? [out: Tensor, weights: Tensor] : Tensor {
    type Out = W extends true ? [out: Tensor, weights: Tensor] : Tensor;
    expectTensors("MultiHeadAttention", query);
    expectOptional("MultiHeadAttention", key, value);
    expectOptions("MultiHeadAttention", options);
    this.#checked("query", query, this.qProj.weight.shape[0]);
    const q = this.#split(this.qProj.call(query));
    const [k, v] = this.#attended(key ?? query, value ?? key ?? query, options.cache);
    const how = {
      attnMask: maskOf(options.attnMask),
      dropoutP: this.training ? this.#dropout : 0,
    };
    const merged = (heads: Tensor) =>
      this.outProj.call(heads.permute([0, 2, 1, 3]).reshape(query.shape));
    if (!this.#needWeights) return merged(F.scaledDotProductAttention(q, k, v, how)) as Out;
    const [heads, weights] = attentionWithWeights(q, k, v, how);
    return [merged(heads), weights] as Out;
  }

  #attended(key: Tensor, value: Tensor, cache: AttentionCache | undefined): [Tensor, Tensor] {
    if (cache?.isStatic) return [cache.k, cache.v];
    const own = this.#keysAndValues(key, value);
    if (cache === undefined) return own;
    cache.append(...own);
    return [cache.k, cache.v];
  }

  /** The options, for printing. */
  override extraRepr(): string {
    const embedDim = this.qProj.weight.shape[0];
    const [kdim, vdim] = [this.kProj.weight.shape[0], this.vProj.weight.shape[0]];
    return fields({
      embedDim,
      numHeads: this.#numHeads,
      dropout: this.#dropout || undefined,
      kdim: kdim === embedDim ? undefined : kdim,
      vdim: vdim === embedDim ? undefined : vdim,
      needWeights: this.#needWeights || undefined,
    });
  }
}

/** Integers say what bools say. */
function maskOf(mask: Tensor | undefined): Tensor | undefined {
  expectOptional("MultiHeadAttention", mask);
  if (mask === undefined || mask.dtype === "bool" || isFloat(mask.dtype)) return mask;
  return notEqual(mask, 0);
}
