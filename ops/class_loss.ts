// Losses over classes: cross entropy and negative log-likelihood, with labels as class numbers or as
// probabilities. A class number is compared with the class coordinate inside the kernel, so that no
// one-hot tensor is ever in memory. Losses between tensors of one shape are in loss.ts.
import { DTypeError, IndexError, ShapeError, ValueError } from "../core/errors.ts";
import { isInteger } from "../core/dtype.ts";
import { forEachElement } from "../core/host.ts";
import * as k from "../core/ir/expr.ts";
import { composite, elementwise, engine, type Operand } from "../core/op.ts";
import { expectOptional, expectOptions, expectTensors } from "../core/operands.ts";
import { normalizeAxis, sameShape, type Shape, showShape } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { indexCompute, toFloat } from "./common.ts";
import { logSoftmax } from "./softmax.ts";

/** How the losses of the samples become one number, or stay as they are. */
export type Reduction = "mean" | "sum" | "none";

/** Throws unless it is one of the three. */
export function checkReduction(call: string, reduction: string): void {
  if (reduction === "mean" || reduction === "sum" || reduction === "none") return;
  throw new ValueError(
    `Cannot ${call} with reduction "${reduction}": it must be "mean", "sum" or "none"`,
  );
}

const IS_CLASS = elementwise({
  name: "isClass",
  dtype: (_, [label]) => ({ compute: indexCompute(label.dtype), out: "bool" }),
  shape: ([label], attrs) =>
    label.shape.map((n, i) => (i === attrs.axis ? attrs.classes as number : n)),
  scalar: ([label], { attrs, coord }) =>
    k.eq(k.cast(coord(attrs.axis as number), label.dtype), label),
  vjp: null,
  saves: "none",
  samples: () => [
    {
      inputs: [{ values: [0, 2, -100, 1], shape: [2, 1, 2], dtype: "int32" }],
      attrs: { axis: 1, classes: 3 },
    },
    {
      inputs: [{ values: [1, 2, 0], shape: [3, 1], dtype: "int64" }],
      attrs: { axis: 1, classes: 3 },
    },
  ],
});

/** Where the class along `axis` is the label, whose axis there has size 1. */
function isClass(label: Tensor, axis: number, classes: number): Tensor {
  return engine.call(IS_CLASS, [label], { axis, classes });
}

/** Weights, one a class, along the class axis of a tensor of that rank. */
function alongClasses(weight: Tensor, axis: number, rank: number): Tensor {
  return op.reshape(
    weight,
    Array.from({ length: rank }, (_, i) => (i === axis ? weight.numel : 1)),
  );
}

interface ClassAttrs {
  readonly axis: number;
  readonly reduction: Reduction;
  /** Whether there are weights, the next operand. */
  readonly weighted: boolean;
  /** Whether the labels came with the class axis, and "none" keeps it. */
  readonly keepdim: boolean;
}

/** Losses and what each counts for, as the reduction says. "mean" of nothing that counts is 0 (Paddle). */
function reduceLosses(
  losses: Tensor,
  counts: Tensor,
  { axis, reduction, keepdim }: ClassAttrs,
): Tensor {
  switch (reduction) {
    case "none":
      return keepdim ? losses : op.squeeze(losses, axis);
    case "sum":
      return op.sum(losses);
    case "mean": {
      const total = op.sum(counts);
      return op.div(op.sum(losses), op.where(op.equal(total, 0), 1, total));
    }
    default:
      return reduction satisfies never;
  }
}

/** Losses of hard labels: -Σ target · logp with target 1 at the label, smoothed if `smoothing` is given. */
function hardLosses(
  logp: Tensor,
  label: Tensor,
  [ignore, weight, smoothing]: readonly (Operand | undefined)[],
  attrs: ClassAttrs,
): Tensor {
  const { axis } = attrs;
  const classes = logp.shape[axis];
  const over = { keepdim: true };
  const hit = isClass(label, axis, classes);
  let losses = op.neg(op.sum(op.where(hit, logp, 0), axis, over));
  if (smoothing !== undefined) {
    const spread = op.mul(op.mean(logp, axis, over), smoothing);
    losses = op.sub(op.sub(losses, op.mul(losses, smoothing)), spread);
  }
  const live = op.notEqual(label, ignore as Operand);
  let counts = op.cast(live, logp.dtype);
  if (weight !== undefined) {
    const own = op.where(hit, alongClasses(weight as Tensor, axis, logp.rank), 0);
    counts = op.mul(counts, op.sum(own, axis, over));
    losses = op.mul(losses, counts);
  }
  return reduceLosses(op.where(live, losses, 0), counts, attrs);
}

const CROSS_ENTROPY = composite({
  name: "crossEntropy",
  amp: "black",
  body: ([x, label, ignore, ...rest], attrs) => {
    const a = attrs as unknown as ClassAttrs & { smooth: boolean };
    const logp = logSoftmax(x as Tensor, a.axis);
    const weight = a.weighted ? rest[0] : undefined;
    const smoothing = a.smooth ? rest[rest.length - 1] : undefined;
    return hardLosses(logp, label as Tensor, [ignore, weight, smoothing], a);
  },
  samples: () => {
    const attrs = { axis: 1, reduction: "mean", weighted: false, smooth: false, keepdim: false };
    const labels = { values: [2, 0, -100, 1], shape: [4, 1], dtype: "int32" } as const;
    return [
      { inputs: [{ shape: [4, 3] }, labels, -100], attrs },
      { inputs: [{ shape: [4, 3] }, labels, 1], attrs: { ...attrs, reduction: "none" } },
      {
        inputs: [{ shape: [4, 3] }, labels, -100, { shape: [3], range: [0.2, 2] }],
        attrs: { ...attrs, weighted: true },
      },
      { inputs: [{ shape: [4, 3] }, labels, -100, 0.1], attrs: { ...attrs, smooth: true } },
      {
        inputs: [
          { shape: [2, 3, 2] },
          { values: [2, 0, 1, 1], shape: [2, 1, 2], dtype: "int64" },
          -100,
          { shape: [3], range: [0.2, 2] },
          0.2,
        ],
        attrs: { ...attrs, reduction: "sum", weighted: true, smooth: true },
      },
      {
        inputs: [
          { values: [1000, 0, -1000, -1000, 1000, 1000], shape: [2, 3] },
          { values: [0, 1], shape: [2, 1], dtype: "int32" },
          -100,
        ],
        attrs: { ...attrs, reduction: "none", keepdim: true },
      },
      {
        inputs: [
          { shape: [2, 3] },
          { values: [-100, -100], shape: [2, 1], dtype: "int32" },
          -100,
        ],
        attrs,
      },
    ];
  },
});

const SOFT_CROSS_ENTROPY = composite({
  name: "softCrossEntropy",
  amp: "black",
  body: ([x, label, ...rest], attrs) => {
    const a = attrs as unknown as ClassAttrs & { smooth: boolean };
    const logp = logSoftmax(x as Tensor, a.axis);
    const over = { keepdim: true };
    let target = label as Tensor;
    if (a.smooth) {
      // (1 - ε) · target + ε / classes
      const excess = op.sub(target, 1 / logp.shape[a.axis]);
      target = op.sub(target, op.mul(excess, rest[rest.length - 1]));
    }
    let losses = op.neg(op.sum(op.mul(target, logp), a.axis, over));
    // Unweighted, every sample counts once.
    let counts = op.onesLike(losses);
    if (a.weighted) {
      const weight = alongClasses(rest[0] as Tensor, a.axis, logp.rank);
      counts = op.sum(op.mul(target, weight), a.axis, over);
      losses = op.mul(losses, counts);
    }
    return reduceLosses(losses, counts, a);
  },
  samples: () => {
    const attrs = { axis: 1, reduction: "mean", weighted: false, smooth: false, keepdim: false };
    const targets = { values: [0.2, 0.3, 0.5, 1, 0, 0], shape: [2, 3] };
    return [
      { inputs: [{ shape: [2, 3] }, targets], attrs },
      { inputs: [{ shape: [2, 3] }, targets, 0.1], attrs: { ...attrs, smooth: true } },
      {
        inputs: [{ shape: [2, 3] }, targets, { shape: [3], range: [0.2, 2] }],
        attrs: { ...attrs, weighted: true, reduction: "sum" },
      },
    ];
  },
});

/** Throws unless every label is a class or the one to ignore. Values the host does not see are not checked. */
function checkLabels(call: string, label: Tensor, classes: number, ignore: number): void {
  if (!isInteger(label.dtype)) {
    throw new DTypeError(
      `Cannot ${call} with ${label.dtype} labels: class numbers must be integers; cast them to ` +
        `"int32", or pass probabilities with {softLabel: true} to crossEntropy`,
    );
  }
  const host = engine.hostView(label);
  if (host === null) return;
  forEachElement(host, (at) => {
    const value = Number(host.data[at]);
    if ((value >= 0 && value < classes) || value === ignore) return;
    throw new IndexError(
      `Cannot ${call} with label ${value}: labels must be in 0..${
        classes - 1
      } (${classes} classes) ` +
        `or ignoreIndex ${ignore}`,
    );
  });
}

function checkWeight(call: string, weight: Tensor | undefined, classes: number): void {
  if (weight === undefined || (weight.rank === 1 && weight.shape[0] === classes)) return;
  throw new ShapeError(
    `Cannot ${call} with weight ${
      showShape(weight.shape)
    }: there must be one weight for each class: ` +
      `expected [${classes}]`,
  );
}

/** Labels with an axis of size 1 where the classes are. */
function withClassAxis(call: string, label: Tensor, shape: Shape, axis: number): Tensor {
  const kept = shape.map((n, i) => (i === axis ? 1 : n));
  if (sameShape(label.shape, kept)) return label;
  const expected = shape.filter((_, i) => i !== axis);
  if (!sameShape(label.shape, expected)) {
    throw new ShapeError(
      `Cannot ${call} ${showShape(shape)} with labels ${
        showShape(label.shape)
      }: they must have the ` +
        `input's shape without its class axis ${axis}: expected ${showShape(expected)}`,
    );
  }
  return op.reshape(label, kept);
}

/** Options of `crossEntropy`. */
export interface CrossEntropyOptions {
  /** One factor for each class. */
  readonly weight?: Tensor;
  /** A label that counts for nothing. Default -100. */
  readonly ignoreIndex?: number;
  /** Default "mean". */
  readonly reduction?: Reduction;
  /** Whether labels are probabilities of the classes. Default false. */
  readonly softLabel?: boolean;
  /** The class axis. Default -1 (Paddle; PyTorch's is 1). */
  readonly axis?: number;
  /** How much of the target is shared evenly among the classes, from 0 to 1. Default 0. */
  readonly labelSmoothing?: number;
}

/**
 * Cross entropy of logits and labels: -Σ target · log(softmax(input)) over the class axis.
 *
 * "mean" divides by the sum of the weights of the labels that count (of all samples, without weights),
 * and is 0 if none does.
 *
 * @param input Logits, with the classes along `axis`.
 * @param label Class numbers of any integer dtype, in `input`'s shape without the class axis or with size
 * 1 there; with `softLabel`, probabilities in `input`'s shape.
 * @returns Rank 0; with "none", the labels' shape.
 * @throws {ShapeError} if the shapes do not fit.
 * @throws {DTypeError} if class numbers are not integers.
 * @throws {IndexError} if a label is no class and not `ignoreIndex`.
 * @throws {ValueError} if the reduction or the smoothing is out of range.
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const logits = tensor([[0, 0], [0, 0], [9, 9]]);
 * const labels = tensor([0, 1, -100], { dtype: "int32" });
 * const loss = await nn.functional.crossEntropy(logits, labels).item();
 * assertAlmostEquals(loss as number, Math.log(2), 1e-6);
 * ```
 */
export function crossEntropy(
  input: Tensor,
  label: Tensor,
  options: CrossEntropyOptions = {},
): Tensor {
  expectOptions("crossEntropy", options);
  const call = "crossEntropy";
  const { weight, ignoreIndex = -100, reduction = "mean", labelSmoothing = 0 } = options;
  checkReduction(call, reduction);
  expectTensors(call, input, label);
  expectOptional(call, weight);
  const x = toFloat(input);
  const axis = normalizeAxis(call, options.axis ?? -1, x.rank);
  const classes = x.shape[axis];
  checkWeight(call, weight, classes);
  if (!(labelSmoothing >= 0 && labelSmoothing <= 1)) {
    throw new ValueError(
      `Cannot ${call} with labelSmoothing ${labelSmoothing}: it must be from 0 to 1`,
    );
  }
  const smooth = labelSmoothing !== 0;
  const attrs = { axis, reduction, weighted: weight !== undefined, smooth, keepdim: false };
  const rest: Operand[] = weight === undefined ? [] : [weight];
  if (smooth) rest.push(labelSmoothing);
  if (options.softLabel) {
    if (!sameShape(label.shape, x.shape)) {
      throw new ShapeError(
        `Cannot ${call} ${showShape(x.shape)} with soft labels ${
          showShape(label.shape)
        }: both must ` +
          "have one shape",
      );
    }
    return engine.call(SOFT_CROSS_ENTROPY, [x, toFloat(label), ...rest], attrs);
  }
  checkLabels(call, label, classes, ignoreIndex);
  const labels = withClassAxis(call, label, x.shape, axis);
  const keepdim = label.rank === x.rank;
  return engine.call(CROSS_ENTROPY, [x, labels, ignoreIndex, ...rest], { ...attrs, keepdim });
}

const NLL = composite({
  name: "nllLoss",
  amp: "black",
  body: ([logp, label, ignore, weight], attrs) =>
    hardLosses(
      logp as Tensor,
      label as Tensor,
      [ignore, weight],
      attrs as unknown as ClassAttrs,
    ),
  samples: () => {
    const attrs = { axis: 1, reduction: "mean", weighted: false, keepdim: false };
    const labels = { values: [2, 0, -100, 1], shape: [4, 1], dtype: "int32" } as const;
    return [
      { inputs: [{ shape: [4, 3] }, labels, -100], attrs },
      {
        inputs: [{ shape: [4, 3] }, labels, 2, { shape: [3], range: [0.2, 2] }],
        attrs: { ...attrs, weighted: true, reduction: "none" },
      },
    ];
  },
});

/** Options of `nllLoss`. */
export interface NllLossOptions {
  /** One factor for each class. */
  readonly weight?: Tensor;
  /** A label that counts for nothing. Default -100. */
  readonly ignoreIndex?: number;
  /** Default "mean". */
  readonly reduction?: Reduction;
}

/**
 * Negative log-likelihood: minus the log-probability of the label.
 *
 * @param logp Log-probabilities `[batch, classes]` or `[batch, classes, …]`.
 * @param label Class numbers of any integer dtype, `[batch]` or `[batch, …]`.
 * @returns Rank 0; with "none", the labels' shape. "mean" as in {@linkcode crossEntropy}.
 * @throws {ShapeError} if the shapes do not fit.
 * @throws {DTypeError} if class numbers are not integers.
 * @throws {IndexError} if a label is no class and not `ignoreIndex`.
 * @throws {ValueError} if the reduction is unknown.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const logp = tensor([[-1, -2], [-3, -4]]);
 * assertEquals(await nn.functional.nllLoss(logp, tensor([1, 0], { dtype: "int32" })).item(), 2.5);
 * ```
 */
export function nllLoss(logp: Tensor, label: Tensor, options: NllLossOptions = {}): Tensor {
  expectTensors("nllLoss", logp, label);
  expectOptions("nllLoss", options);
  const call = "nllLoss";
  const { weight, ignoreIndex = -100, reduction = "mean" } = options;
  checkReduction(call, reduction);
  if (logp.rank < 2) {
    throw new ShapeError(
      `Cannot ${call} ${showShape(logp.shape)}: the classes are axis 1: got rank ${logp.rank}; ` +
        "unsqueeze(0) adds the batch axis",
    );
  }
  const x = toFloat(logp);
  const classes = x.shape[1];
  checkWeight(call, weight, classes);
  checkLabels(call, label, classes, ignoreIndex);
  const labels = withClassAxis(call, label, x.shape, 1);
  const attrs = { axis: 1, reduction, weighted: weight !== undefined, keepdim: false };
  const operands = weight === undefined
    ? [x, labels, ignoreIndex]
    : [x, labels, ignoreIndex, weight];
  return engine.call(NLL, operands, attrs);
}
