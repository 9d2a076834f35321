// Losses between tensors of one shape: distances, binary cross entropy, divergence, margins. Losses over
// classes are in class_loss.ts.
import { ShapeError, ValueError } from "../core/errors.ts";
import { type Attrs, composite, engine, type Operand, type Sample } from "../core/op.ts";
import { expectOptions, expectTensors } from "../core/operands.ts";
import { sameShape, showShape, tryBroadcast } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import { Tensor } from "../core/tensor.ts";
import { checkReduction, type Reduction } from "./class_loss.ts";
import { toFloat } from "./common.ts";

/** What every loss can be asked. */
export interface LossOptions {
  /** "mean" over elements, "sum", or "none": one loss for each element. Default "mean". */
  readonly reduction?: Reduction;
}

function reduced(losses: Tensor, attrs: Attrs): Tensor {
  switch (attrs.reduction) {
    case "mean":
      return op.mean(losses);
    case "sum":
      return op.sum(losses);
    default:
      return losses;
  }
}

/** A loss whose elements come from a function of its operands. */
function lossOf(
  name: string,
  each: (operands: readonly Tensor[], attrs: Attrs) => Tensor,
  samples: (attrs: Attrs) => readonly Sample[],
): ReturnType<typeof composite> {
  return composite({
    name,
    amp: "black",
    body: (operands, attrs) => reduced(each(operands as readonly Tensor[], attrs), attrs),
    samples: () =>
      (["mean", "sum", "none"] as const).flatMap((reduction) => samples({ reduction })),
  });
}

/** Throws unless all shapes are the first one's. */
function requireSame(call: string, ...xs: readonly Tensor[]): void {
  expectTensors(call, ...xs);
  for (const x of xs) {
    if (sameShape(x.shape, xs[0].shape)) continue;
    // Shapes that broadcast, as [n] with [n, 1], would give a loss of [n, n]: never what was meant.
    throw new ShapeError(
      `Cannot ${call} ${xs.map((t) => showShape(t.shape)).join(" with ")}: shapes must be equal; ` +
        "reshape or squeeze one of them",
    );
  }
}

function callLoss(
  loss: ReturnType<typeof composite>,
  operands: readonly Operand[],
  options: LossOptions,
  attrs: Attrs = {},
): Tensor {
  const { reduction = "mean" } = options;
  checkReduction(loss.name, reduction);
  const floats = operands.map((x) => (x instanceof Tensor ? toFloat(x) : x));
  return engine.call(loss, floats, { ...attrs, reduction });
}

const pair = (attrs: Attrs): readonly Sample[] => [
  { inputs: [{ shape: [2, 3] }, { shape: [2, 3] }], attrs },
  { inputs: [{ shape: [] }, { shape: [] }], attrs },
];

const MSE = lossOf("mseLoss", ([a, b]) => op.square(op.sub(a, b)), pair);

/**
 * Squared difference.
 *
 * @param a Any shape.
 * @param b The shape of `a`.
 * @returns Rank 0; with "none", the shape of `a`.
 * @throws {ShapeError} if the shapes differ: a loss never broadcasts.
 * @throws {ValueError} if the reduction is unknown.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * assertEquals(await nn.functional.mseLoss(tensor([1, 2]), tensor([1, 4])).item(), 2);
 * ```
 */
export function mseLoss(a: Tensor, b: Tensor, options: LossOptions = {}): Tensor {
  expectOptions("mseLoss", options);
  requireSame("mseLoss", a, b);
  return callLoss(MSE, [a, b], options);
}

const L1 = lossOf("l1Loss", ([a, b]) => op.abs(op.sub(a, b)), pair);

/**
 * Absolute difference; the gradient where both are equal is 0.
 *
 * @param a Any shape.
 * @param b The shape of `a`.
 * @returns Rank 0; with "none", the shape of `a`.
 * @throws {ShapeError} if the shapes differ: a loss never broadcasts.
 * @throws {ValueError} if the reduction is unknown.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * assertEquals(await nn.functional.l1Loss(tensor([1, 2]), tensor([1, 4])).item(), 1);
 * ```
 */
export function l1Loss(a: Tensor, b: Tensor, options: LossOptions = {}): Tensor {
  expectOptions("l1Loss", options);
  requireSame("l1Loss", a, b);
  return callLoss(L1, [a, b], options);
}

const SMOOTH_L1 = lossOf(
  "smoothL1Loss",
  ([a, b, delta]) => {
    const d = op.sub(a, b);
    const size = op.abs(d);
    const inside = op.lessEqual(size, delta);
    // The square of a far one overflows, and infinity times the 0 of the choice is NaN in the gradient.
    const near = op.mul(op.square(op.where(inside, d, 0)), 0.5);
    // delta · (|d| - delta / 2), with a tensor in every step: numbers alone would be float32.
    const far = op.mul(op.mul(op.sub(op.mul(size, 2), delta), delta), 0.5);
    return op.where(inside, near, far);
  },
  (attrs) => [
    { inputs: [{ shape: [2, 3] }, { shape: [2, 3] }, 0.7], attrs },
    { inputs: [{ values: [0, 1, -1, 3] }, { values: [0, 0, 0, 0] }, 1], attrs, noGrad: true },
  ],
);

/** Options of `smoothL1Loss`. */
export interface SmoothL1Options extends LossOptions {
  /** Where the parabola becomes a line. Default 1. */
  readonly delta?: number;
}

/**
 * Huber's loss, as in Paddle: d² / 2 where |d| <= delta, else delta · (|d| - delta / 2). (PyTorch's
 * function of this name divides by its beta.)
 *
 * @param a Any shape.
 * @param b The shape of `a`.
 * @returns Rank 0; with "none", the shape of `a`.
 * @throws {ShapeError} if the shapes differ: a loss never broadcasts.
 * @throws {ValueError} if the reduction is unknown or delta is not positive.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const options = { reduction: "none" } as const;
 * const y = nn.functional.smoothL1Loss(tensor([1, 5]), tensor([0, 2]), options);
 * assertEquals(await y.toArray(), [0.5, 2.5]);
 * ```
 */
export function smoothL1Loss(a: Tensor, b: Tensor, options: SmoothL1Options = {}): Tensor {
  expectOptions("smoothL1Loss", options);
  requireSame("smoothL1Loss", a, b);
  const { delta = 1 } = options;
  if (!(delta > 0)) {
    throw new ValueError(`Cannot smoothL1Loss with delta ${delta}: it must be greater than 0`);
  }
  return callLoss(SMOOTH_L1, [a, b, delta], options);
}

/** log p and log(1 - p), not below -100 as in PyTorch and Paddle. */
function clampedLogs(p: Tensor): { yes: Tensor; no: Tensor } {
  return { yes: op.maximum(op.log(p), -100), no: op.maximum(op.log1p(op.neg(p)), -100) };
}

const BCE_EACH = composite({
  name: "binaryCrossEntropyEach",
  amp: "black",
  body: ([p, y]) => {
    const { yes, no } = clampedLogs(p as Tensor);
    return op.neg(op.add(op.mul(y, yes), op.mul(op.sub(1, y), no)));
  },
  vjp: ([g], { inputs, needs }) => {
    const [p, y] = inputs as readonly Tensor[];
    const { yes, no } = clampedLogs(p);
    const spread = op.maximum(op.mul(p, op.sub(1, p)), 1e-12);
    return [
      needs[0] ? op.mul(g, op.div(op.sub(p, y), spread)) : null,
      needs[1] ? op.mul(g, op.sub(no, yes)) : null,
    ];
  },
  samples: () => [
    { inputs: [{ shape: [2, 3], range: [0.1, 0.9] }, { shape: [2, 3], range: [0, 1] }] },
    { inputs: [{ values: [0, 1, 0, 1] }, { values: [0, 1, 1, 0] }], noGrad: true },
  ],
});

const BCE = lossOf(
  "binaryCrossEntropy",
  ([p, y, weight], attrs) => {
    const each = engine.call(BCE_EACH, [p, y]);
    return attrs.weighted ? op.mul(each, weight) : each;
  },
  (attrs) => {
    const p = { shape: [2, 3], range: [0.1, 0.9] } as const;
    return [
      { inputs: [p, p], attrs: { ...attrs, weighted: false } },
      { inputs: [p, p, { shape: [3] }], attrs: { ...attrs, weighted: true } },
    ];
  },
);

/** Throws unless `w` stretches to the shape of `x`. */
function requireStretches(call: string, what: string, w: Tensor | undefined, x: Tensor): void {
  if (w === undefined) return;
  const met = tryBroadcast(w.shape, x.shape);
  if (met !== null && sameShape(met, x.shape)) return;
  throw new ShapeError(
    `Cannot ${call} ${showShape(x.shape)} with ${what} ${
      showShape(w.shape)
    }: it must broadcast to ` +
      "the input",
  );
}

/** Options of `binaryCrossEntropy`. */
export interface BinaryCrossEntropyOptions extends LossOptions {
  /** A factor of each loss; broadcasts. */
  readonly weight?: Tensor;
}

/**
 * Cross entropy of probabilities and yes-or-no labels: -(y log p + (1 - y) log(1 - p)). Logarithms are
 * held at -100 and more, and the gradient's p (1 - p) at 1e-12 and more.
 *
 * @param p Probabilities, any shape.
 * @param y Labels from 0 to 1, the shape of `p`.
 * @returns Rank 0; with "none", the shape of `p`.
 * @throws {ShapeError} if the shapes differ, or the weight does not broadcast.
 * @throws {ValueError} if the reduction is unknown.
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const loss = await nn.functional.binaryCrossEntropy(tensor([0.5]), tensor([1])).item();
 * assertAlmostEquals(loss as number, Math.log(2), 1e-6);
 * ```
 */
export function binaryCrossEntropy(
  p: Tensor,
  y: Tensor,
  options: BinaryCrossEntropyOptions = {},
): Tensor {
  expectTensors("binaryCrossEntropy", p, y);
  expectOptions("binaryCrossEntropy", options);
  const { weight } = options;
  requireSame("binaryCrossEntropy", p, y);
  requireStretches("binaryCrossEntropy", "weight", weight, p);
  const weighted = weight !== undefined;
  return callLoss(BCE, weighted ? [p, y, weight] : [p, y], options, { weighted });
}

const BCE_LOGITS = lossOf(
  "binaryCrossEntropyWithLogits",
  ([x, y, ...rest], attrs) => {
    // log(1 - sigmoid(x)) = logSigmoid(x) - x
    const yes = op.logSigmoid(x);
    const pos = attrs.positive ? op.add(op.mul(op.sub(rest[0], 1), y), 1) : null;
    const gain = pos === null ? yes : op.mul(pos, yes);
    const each = op.sub(op.mul(op.sub(1, y), x), gain);
    return attrs.weighted ? op.mul(each, rest[rest.length - 1]) : each;
  },
  (attrs) => {
    const y = { shape: [2, 3], range: [0, 1] } as const;
    const plain = { ...attrs, positive: false, weighted: false };
    return [
      { inputs: [{ shape: [2, 3] }, y], attrs: plain },
      {
        inputs: [{ shape: [2, 3] }, y, { shape: [3] }, { shape: [2, 1] }],
        attrs: { ...plain, positive: true, weighted: true },
      },
      { inputs: [{ values: [1000, -1000, 0] }, { values: [1, 1, 0] }], attrs: plain },
    ];
  },
);

/** Options of `binaryCrossEntropyWithLogits`. */
export interface BinaryCrossEntropyWithLogitsOptions extends BinaryCrossEntropyOptions {
  /** A factor of the loss of positive labels; broadcasts. */
  readonly posWeight?: Tensor;
}

/**
 * Binary cross entropy of `sigmoid(x)` and labels, without overflow.
 *
 * @param x Logits, any shape.
 * @param y Labels from 0 to 1, the shape of `x`.
 * @returns Rank 0; with "none", the shape of `x`.
 * @throws {ShapeError} if the shapes differ, or a weight does not broadcast.
 * @throws {ValueError} if the reduction is unknown.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const x = tensor([1000, -1000]);
 * const options = { reduction: "none" } as const;
 * const y = nn.functional.binaryCrossEntropyWithLogits(x, tensor([1, 1]), options);
 * assertEquals(await y.toArray(), [0, 1000]);
 * ```
 */
export function binaryCrossEntropyWithLogits(
  x: Tensor,
  y: Tensor,
  options: BinaryCrossEntropyWithLogitsOptions = {},
): Tensor {
  expectTensors("binaryCrossEntropyWithLogits", x, y);
  expectOptions("binaryCrossEntropyWithLogits", options);
  const call = "binaryCrossEntropyWithLogits";
  const { weight, posWeight } = options;
  requireSame(call, x, y);
  requireStretches(call, "weight", weight, x);
  requireStretches(call, "posWeight", posWeight, x);
  const operands = [x, y];
  if (posWeight !== undefined) operands.push(posWeight);
  if (weight !== undefined) operands.push(weight);
  const attrs = { positive: posWeight !== undefined, weighted: weight !== undefined };
  return callLoss(BCE_LOGITS, operands, options, attrs);
}

const KL_DIV = composite({
  name: "klDiv",
  amp: "black",
  body: ([x, t], attrs) => {
    const [logp, target] = [x as Tensor, t as Tensor];
    // 0 · log 0 is 0; the inner where keeps the gradient at 0 finite too.
    const losses = attrs.logTarget
      ? op.mul(op.exp(target), op.sub(target, logp))
      : op.mul(target, op.sub(op.log(op.where(op.equal(target, 0), 1, target)), logp));
    if (attrs.reduction !== "batchmean") return reduced(losses, attrs);
    return op.div(op.sum(losses), losses.rank === 0 ? 1 : losses.shape[0]);
  },
  samples: () =>
    ["mean", "batchmean", "none"].flatMap((reduction) => [
      {
        inputs: [{ shape: [2, 3], range: [-3, -0.1] }, { shape: [2, 3], range: [0.1, 0.9] }],
        attrs: { reduction, logTarget: false },
      },
      {
        inputs: [{ shape: [2, 3], range: [-3, -0.1] }, { shape: [2, 3], range: [-3, -0.1] }],
        attrs: { reduction, logTarget: true },
      },
      {
        inputs: [{ values: [-1, -2] }, { values: [0, 1] }],
        attrs: { reduction, logTarget: false },
        noGrad: true,
      },
    ]),
});

/** Options of `klDiv`. */
export interface KlDivOptions {
  /** As elsewhere; "batchmean" divides the sum by the first size. Default "mean". */
  readonly reduction?: Reduction | "batchmean";
  /** Whether targets are log-probabilities. Default false. */
  readonly logTarget?: boolean;
}

/**
 * Kullback-Leibler divergence: target · (log target - input), with 0 · log 0 = 0.
 *
 * @param logp Log-probabilities, any shape.
 * @param target Probabilities (or their logarithms), the shape of `logp`.
 * @returns Rank 0; with "none", the shape of `logp`.
 * @throws {ShapeError} if the shapes differ: a loss never broadcasts.
 * @throws {ValueError} if the reduction is unknown.
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const logp = tensor([[0.5, 0.5]]).log();
 * const loss = nn.functional.klDiv(logp, tensor([[1, 0]]), { reduction: "batchmean" });
 * assertAlmostEquals(await loss.item() as number, Math.log(2), 1e-6);
 * ```
 */
export function klDiv(logp: Tensor, target: Tensor, options: KlDivOptions = {}): Tensor {
  expectTensors("klDiv", logp, target);
  expectOptions("klDiv", options);
  const { reduction = "mean", logTarget = false } = options;
  requireSame("klDiv", logp, target);
  if (reduction !== "batchmean") checkReduction("klDiv", reduction);
  return engine.call(KL_DIV, [toFloat(logp), toFloat(target)], { reduction, logTarget });
}

const HINGE_EMBEDDING = lossOf(
  "hingeEmbeddingLoss",
  ([x, y, margin]) => {
    const apart = op.where(op.notEqual(y, 1), op.clip(op.sub(margin, x), 0), 0);
    return op.add(apart, op.where(op.notEqual(y, -1), x, 0));
  },
  (attrs) => [
    { inputs: [{ shape: [4] }, { values: [1, -1, 1, -1], dtype: "int32" }, 1.3], attrs },
  ],
);

/** Options of losses with a margin. */
export interface MarginOptions extends LossOptions {
  /** How far is far enough. */
  readonly margin?: number;
}

/**
 * x where y is 1; max(0, margin - x) where y is -1.
 *
 * @param x Distances, any shape.
 * @param y Labels 1 and -1, the shape of `x`.
 * @param options `margin`: default 1.
 * @returns Rank 0; with "none", the shape of `x`.
 * @throws {ShapeError} if the shapes differ: a loss never broadcasts.
 * @throws {ValueError} if the reduction is unknown.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const y = nn.functional.hingeEmbeddingLoss(tensor([0.5, 0.25]), tensor([1, -1]), {
 *   reduction: "none",
 * });
 * assertEquals(await y.toArray(), [0.5, 0.75]);
 * ```
 */
export function hingeEmbeddingLoss(x: Tensor, y: Tensor, options: MarginOptions = {}): Tensor {
  expectOptions("hingeEmbeddingLoss", options);
  requireSame("hingeEmbeddingLoss", x, y);
  return callLoss(HINGE_EMBEDDING, [x, y, options.margin ?? 1], options);
}

const MARGIN_RANKING = lossOf(
  "marginRankingLoss",
  ([a, b, y, margin]) => op.clip(op.add(op.neg(op.mul(y, op.sub(a, b))), margin), 0),
  (attrs) => [
    { inputs: [{ shape: [4] }, { shape: [4] }, { values: [1, -1, 1, -1] }, 0.3], attrs },
  ],
);

/**
 * max(0, -y · (a - b) + margin): `a` is to be larger where y is 1, `b` where y is -1.
 *
 * @param a Any shape.
 * @param b The shape of `a`.
 * @param y Labels 1 and -1, the shape of `a`.
 * @param options `margin`: default 0.
 * @returns Rank 0; with "none", the shape of `a`.
 * @throws {ShapeError} if the shapes differ: a loss never broadcasts.
 * @throws {ValueError} if the reduction is unknown.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const [a, b, y] = [tensor([1, 1]), tensor([3, 0]), tensor([1, 1])];
 * const loss = nn.functional.marginRankingLoss(a, b, y, { margin: 0.5 });
 * assertEquals(await loss.item(), 1.25);
 * ```
 */
export function marginRankingLoss(
  a: Tensor,
  b: Tensor,
  y: Tensor,
  options: MarginOptions = {},
): Tensor {
  expectOptions("marginRankingLoss", options);
  requireSame("marginRankingLoss", a, b, y);
  return callLoss(MARGIN_RANKING, [a, b, y, options.margin ?? 0], options);
}

const SOFT_MARGIN = lossOf(
  "softMarginLoss",
  ([x, y]) => op.neg(op.logSigmoid(op.mul(x, y))),
  (attrs) => [{ inputs: [{ shape: [4] }, { values: [1, -1, 1, -1] }], attrs }],
);

/**
 * log(1 + exp(-y · x)), without overflow.
 *
 * @param x Any shape.
 * @param y Labels 1 and -1, the shape of `x`.
 * @returns Rank 0; with "none", the shape of `x`.
 * @throws {ShapeError} if the shapes differ: a loss never broadcasts.
 * @throws {ValueError} if the reduction is unknown.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * assertEquals(await nn.functional.softMarginLoss(tensor([1000]), tensor([-1])).item(), 1000);
 * ```
 */
export function softMarginLoss(x: Tensor, y: Tensor, options: LossOptions = {}): Tensor {
  expectOptions("softMarginLoss", options);
  requireSame("softMarginLoss", x, y);
  return callLoss(SOFT_MARGIN, [x, y], options);
}
