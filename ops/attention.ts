// Attention: softmax of scaled products of queries and keys, masked, times values. A composition of
// matrix products and fused kernels; places may bring a routine of their own for it.
import { DTypeError, ShapeError, ValueError } from "../core/errors.ts";
import * as k from "../core/ir/expr.ts";
import { isFloat } from "../core/dtype.ts";
import { composite, elementwise, engine, type Operand, promoteFloat } from "../core/op.ts";
import { expectOptional, expectOptions, expectTensors } from "../core/operands.ts";
import { sameShape, showShape, tryBroadcast } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { contractible } from "./contraction.ts";
import { matmul } from "./matmul.ts";

const CAUSAL = elementwise({
  name: "causalMask",
  dtype: promoteFloat,
  scalar: ([score], { attrs, coord }) => {
    const rank = attrs.rank as number;
    return k.where(k.le(coord(rank - 1), coord(rank - 2)), score, -Infinity);
  },
  // A masked score is gone whatever it was: its gradient is 0.
  vjp: ([g], { attrs }) => [engine.call(CAUSAL_GRAD, [g], attrs)],
  saves: "none",
  samples: () => [{ inputs: [{ shape: [2, 3, 4] }], attrs: { rank: 3 }, noGrad: true }],
});

const CAUSAL_GRAD = elementwise({
  name: "causalMaskGrad",
  dtype: promoteFloat,
  scalar: ([g], { attrs, coord }) => {
    const rank = attrs.rank as number;
    return k.where(k.le(coord(rank - 1), coord(rank - 2)), g, 0);
  },
  vjp: ([h], { attrs }) => [engine.call(CAUSAL_GRAD, [h], attrs)],
  saves: "none",
  samples: () => [{ inputs: [{ shape: [2, 3, 4] }], attrs: { rank: 3 } }],
});

const SAFE_SOFTMAX = composite({
  name: "safeSoftmax",
  amp: "black",
  body: ([operand]) => {
    const x = operand as Tensor;
    const axis = x.rank - 1;
    if (x.numel === 0) return op.exp(x);
    const top = op.max(x, axis, { keepdim: true });
    const none = op.equal(top, -Infinity);
    const e = op.exp(op.sub(x, op.where(none, 0, top)));
    const total = op.sum(e, axis, { keepdim: true });
    return op.div(e, op.where(none, 1, total));
  },
  vjp: ([g], { outputs: [p] }) => {
    const weighted = op.mul(g, p);
    const total = op.sum(weighted, p.rank - 1, { keepdim: true });
    return [op.sub(weighted, op.mul(p, total))];
  },
  saves: "out",
  samples: () => [
    { inputs: [{ shape: [2, 3] }] },
    {
      inputs: [{
        values: [-Infinity, -Infinity, -Infinity, -Infinity, 1, 2, NaN, 0, 1],
        shape: [3, 3],
      }],
      noGrad: true,
    },
  ],
});

interface AttentionAttrs {
  readonly causal: boolean;
  readonly mask: "none" | "bool" | "float";
}

/** How much each query attends to each key. Rows that attend to nothing are zeros. */
function weightsOf(operands: readonly Operand[], attrs: AttentionAttrs): Tensor {
  const [q, key, scale, mask] = operands as readonly Tensor[];
  let scores = op.mul(matmul(q, key, { transposeY: true }), scale);
  if (attrs.causal) scores = engine.call(CAUSAL, [scores], { rank: scores.rank });
  if (attrs.mask === "bool") scores = op.where(mask, scores, -Infinity);
  else if (attrs.mask === "float") scores = op.add(scores, mask);
  return engine.call(SAFE_SOFTMAX, [scores]);
}

const WEIGHTS = composite({
  name: "attentionWeights",
  body: (operands, attrs) => weightsOf(operands, attrs as unknown as AttentionAttrs),
  samples: () => [
    {
      inputs: [{ shape: [1, 3, 2] }, { shape: [1, 4, 2] }, 0.7],
      attrs: { causal: true, mask: "none" },
    },
  ],
});

const ATTENTION = composite({
  name: "scaledDotProductAttention",
  body: ([q, key, value, ...rest], attrs) =>
    matmul(weightsOf([q, key, ...rest], attrs as unknown as AttentionAttrs), value as Tensor),
  samples: () => {
    const trio = [{ shape: [1, 2, 3, 2] }, { shape: [1, 2, 4, 2] }, { shape: [1, 2, 4, 2] }];
    const attrs = { causal: false, mask: "none" };
    return [
      { inputs: [...trio, 0.7], attrs },
      { inputs: [...trio, 0.7], attrs: { ...attrs, causal: true } },
      { inputs: [...trio, 0.7, { shape: [3, 4] }], attrs: { ...attrs, mask: "float" } },
      {
        inputs: [
          ...trio,
          0.7,
          { values: [1, 0, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0], shape: [3, 4], dtype: "bool" },
        ],
        attrs: { ...attrs, mask: "bool" },
      },
    ];
  },
});

/** Options of `scaledDotProductAttention`. */
export interface AttentionOptions {
  /** bool: true where a query may attend to a key; float: added to the scores. Broadcasts to them. */
  readonly attnMask?: Tensor;
  /** Probability with which a weight is dropped; the others are scaled up. Default 0. */
  readonly dropoutP?: number;
  /** Let query i attend to keys 0 … i only. Default false. */
  readonly isCausal?: boolean;
  /** Factor of the scores. Default 1 / √(size of a query). */
  readonly scale?: number;
}

/**
 * softmax(q kᵀ · scale + mask) v: for each query, the average of values weighted by how well their keys
 * match. A query that may attend to nothing gives zeros.
 *
 * @param q Queries `[…, queries, size]`, such as `[batch, heads, queries, size]`.
 * @param key Keys `[…, keys, size]`.
 * @param value Values `[…, keys, width]`.
 * @returns `[…, queries, width]` in the promoted dtype.
 * @throws {ShapeError} if sizes do not match, or the mask does not broadcast to `[…, queries, keys]`.
 * @throws {DTypeError} if the mask is neither bool nor float.
 * @throws {ValueError} if `dropoutP` is not in 0 … 1.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor, zeros } from "../mod.ts";
 *
 * const value = tensor([[[[2], [4]]]]);
 * const q = zeros([1, 1, 2, 3]);
 * const options = { isCausal: true };
 * const y = nn.functional.scaledDotProductAttention(q, q, value, options);
 * assertEquals(await y.toArray(), [[[[2], [3]]]]);
 * ```
 */
export function scaledDotProductAttention(
  q: Tensor,
  key: Tensor,
  value: Tensor,
  options: AttentionOptions = {},
): Tensor {
  return attend(q, key, value, options, false)[0];
}

/** The same with the weights `[…, queries, keys]` that the values were averaged by; not public. */
export function attentionWithWeights(
  q: Tensor,
  key: Tensor,
  value: Tensor,
  options: AttentionOptions,
): [out: Tensor, weights: Tensor] {
  const [out, weights] = attend(q, key, value, options, true);
  return [out, weights!];
}

function attend(
  q: Tensor,
  key: Tensor,
  value: Tensor,
  options: AttentionOptions,
  withWeights: boolean,
): [out: Tensor, weights?: Tensor] {
  expectTensors("scaledDotProductAttention", q, key, value);
  expectOptions("scaledDotProductAttention", options);
  const { attnMask, dropoutP = 0, isCausal = false } = options;
  expectOptional("scaledDotProductAttention", attnMask);
  checkAttention(q, key, value, attnMask);
  if (!(dropoutP >= 0 && dropoutP <= 1)) {
    throw new ValueError(
      `Cannot scaledDotProductAttention with dropoutP ${dropoutP}: it must be from 0 to 1`,
    );
  }
  const scale = options.scale ?? 1 / Math.sqrt(q.shape[q.rank - 1]);
  const rest: Operand[] = attnMask === undefined ? [scale] : [scale, attnMask];
  const attrs = {
    causal: isCausal,
    mask: attnMask === undefined ? "none" : attnMask.dtype === "bool" ? "bool" : "float",
  };
  const [x, y, v] = contractible("scaledDotProductAttention", q, key, value);
  if (dropoutP === 0 && !withWeights) return [engine.call(ATTENTION, [x, y, v, ...rest], attrs)];
  const all = engine.call(WEIGHTS, [x, y, ...rest], attrs);
  const weights = dropoutP === 0 ? all : op.dropout(all, { p: dropoutP });
  return [matmul(weights, v), weights];
}

function checkAttention(q: Tensor, key: Tensor, value: Tensor, mask: Tensor | undefined): void {
  const shapes = [q, key, value].map((t) => showShape(t.shape));
  const call = `Cannot scaledDotProductAttention with q ${shapes[0]}, key ${shapes[1]} and value ` +
    shapes[2];
  if (q.rank < 2 || q.rank !== key.rank || q.rank !== value.rank) {
    throw new ShapeError(`${call}: all must be [batch, heads, length, size], or have equal ranks`);
  }
  const last = (t: Tensor, i: number): number => t.shape[t.rank - i];
  if (last(q, 1) !== last(key, 1)) {
    throw new ShapeError(
      `${call}: queries and keys must have one size: got ${last(q, 1)} and ${last(key, 1)}`,
    );
  }
  if (last(key, 2) !== last(value, 2)) {
    throw new ShapeError(
      `${call}: there must be as many keys as values: got ${last(key, 2)} and ${last(value, 2)}`,
    );
  }
  if (mask === undefined) return;
  if (mask.dtype !== "bool" && !isFloat(mask.dtype)) {
    throw new DTypeError(
      `Cannot scaledDotProductAttention with a ${mask.dtype} mask: it must be bool (true attends) or ` +
        "float (added to the scores); cast it",
    );
  }
  const batch = tryBroadcast(q.shape.slice(0, -2), key.shape.slice(0, -2));
  if (batch === null) throw new ShapeError(`${call}: their batches do not broadcast`);
  const scores = [...batch, last(q, 2), last(key, 2)];
  const met = tryBroadcast(mask.shape, scores);
  if (met === null || !sameShape(met, scores)) {
    throw new ShapeError(
      `Cannot scaledDotProductAttention with attnMask ${
        showShape(mask.shape)
      }: it must broadcast to ` +
        `the scores, ${showShape(scores)}`,
    );
  }
}
