// Vectors along an axis scaled to length 1, and the cosine between them.
import { composite, engine } from "../core/op.ts";
import { expectOptions, expectTensors } from "../core/operands.ts";
import { broadcastShapes, normalizeAxis } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { toFloat } from "./common.ts";

const NORMALIZE = composite({
  name: "normalize",
  amp: "black",
  body: ([operand, epsilon], attrs) => {
    const x = operand as Tensor;
    const length = op.norm(x, {
      p: Number(attrs.p),
      axis: attrs.axis as number,
      keepdim: true,
    });
    return op.div(x, op.maximum(length, epsilon));
  },
  samples: () => [
    { inputs: [{ shape: [2, 4] }, 1e-12], attrs: { axis: 1, p: "2" } },
    { inputs: [{ shape: [3, 2, 2], range: [0.2, 2] }, 1e-12], attrs: { axis: 0, p: "3" } },
    {
      inputs: [{ values: [0, 0, 3, 4], shape: [2, 2] }, 0.1],
      attrs: { axis: 1, p: "2" },
      noGrad: true,
    },
  ],
});

/** Options of `normalize`. */
export interface NormalizeOptions {
  /** The exponent of the norm. Default 2. */
  readonly p?: number;
  /** The axis of the vectors. Default 1. */
  readonly axis?: number;
  /** The least that is divided by. Default 1e-12. */
  readonly epsilon?: number;
}

/**
 * x / max(‖x‖, epsilon) along an axis.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`.
 * @throws {ShapeError} if the axis is out of range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * assertEquals(await nn.functional.normalize(tensor([[0, 4], [0, 0]])).toArray(), [[0, 1], [0, 0]]);
 * ```
 */
export function normalize(x: Tensor, options: NormalizeOptions = {}): Tensor {
  expectTensors("normalize", x);
  expectOptions("normalize", options);
  const { p = 2, axis = 1, epsilon = 1e-12 } = options;
  // The exponent as text, since attrs have to survive JSON and it may be Infinity.
  const attrs = { axis: normalizeAxis("normalize", axis, x.rank), p: String(p) };
  return engine.call(NORMALIZE, [toFloat(x), epsilon], attrs);
}

const COSINE = composite({
  name: "cosineSimilarity",
  amp: "black",
  body: ([left, right, eps], attrs) => {
    const [a, b] = [left as Tensor, right as Tensor];
    const axis = attrs.axis as number;
    const length = (x: Tensor): Tensor => op.maximum(op.norm(x, { axis }), eps);
    return op.div(op.sum(op.mul(a, b), axis), op.mul(length(a), length(b)));
  },
  samples: () => [
    { inputs: [{ shape: [2, 4] }, { shape: [2, 4] }, 1e-8], attrs: { axis: 1 } },
    { inputs: [{ shape: [1, 3] }, { shape: [4, 3] }, 1e-8], attrs: { axis: 1 } },
    {
      inputs: [{ values: [0, 0, 3, 4], shape: [2, 2] }, { shape: [2, 2] }, 1e-8],
      attrs: { axis: 1 },
      noGrad: true,
    },
  ],
});

/** Options of `cosineSimilarity`. */
export interface CosineSimilarityOptions {
  /** The axis of the vectors, in the broadcast shape. Default 1. */
  readonly axis?: number;
  /** The least that each length counts. Default 1e-8. */
  readonly eps?: number;
}

/**
 * Σ a · b / (max(‖a‖, eps) · max(‖b‖, eps)) along an axis.
 *
 * @param a Any shape.
 * @param b Broadcasts with `a`.
 * @returns The broadcast shape without the axis.
 * @throws {ShapeError} if the shapes do not broadcast, or the axis is out of range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const [a, b] = [tensor([[1, 0], [0, 2]]), tensor([[3, 0], [5, 0]])];
 * assertEquals(await nn.functional.cosineSimilarity(a, b).toArray(), [1, 0]);
 * ```
 */
export function cosineSimilarity(
  a: Tensor,
  b: Tensor,
  options: CosineSimilarityOptions = {},
): Tensor {
  expectTensors("cosineSimilarity", a, b);
  expectOptions("cosineSimilarity", options);
  const { axis = 1, eps = 1e-8 } = options;
  const shape = broadcastShapes("cosineSimilarity", a.shape, b.shape);
  const at = normalizeAxis("cosineSimilarity", axis, shape.length);
  // Both are stretched along the vectors only when a size is 1 there: lengths count the stretched ones.
  const whole = (x: Tensor): Tensor => {
    const y = toFloat(x);
    const padded = op.reshape(y, [...new Array<number>(shape.length - y.rank).fill(1), ...y.shape]);
    if (padded.shape[at] === shape[at]) return padded;
    return op.expand(padded, padded.shape.map((n, i) => (i === at ? shape[i] : n)));
  };
  return engine.call(COSINE, [whole(a), whole(b), eps], { axis: at });
}
