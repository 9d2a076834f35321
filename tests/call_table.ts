/**
 * Valid calls of the public functions, with odd shapes among them: what tests of arguments, dtypes and places
 * start from. A function that is not listed is called with one tensor and with two. Deliberately not here: what
 * the calls give.
 *
 * @module
 */

import { type DType, flip, nn, type Tensor } from "../mod.ts";
import * as plesio from "../mod.ts";
import { engine } from "../core/op.ts";

/** Makes operands of the dtype, layout and place that a test is about. */
export interface Maker {
  /** Of the dtype under test; values from -3 to 4, or as given. */
  of(shape: readonly number[], range?: readonly [number, number]): Tensor;
  /** Always float32, positive. */
  float(shape: readonly number[]): Tensor;
  /** int32 indexes below `size`. */
  index(shape: readonly number[], size: number): Tensor;
  /** Always bool. */
  mask(shape: readonly number[]): Tensor;
}

/** Makes the arguments of one call. */
export type Arguments = (t: Maker) => unknown[];

/** A call by the function's name. */
export interface Call {
  readonly name: string;
  readonly run: (...args: unknown[]) => unknown;
  readonly cases: readonly Arguments[];
}

const F = nn.functional;
const table = new Map<string, readonly Arguments[]>();

/** Lists cases for several functions, whose names are separated by spaces. */
function calls(names: string, ...cases: readonly Arguments[]): void {
  for (const name of names.split(" ")) table.set(name, cases);
}

calls(
  "abs acos acosh asin asinh atan atanh bitwiseNot ceil celu clone contiguous cos cosh deg2rad elu " +
    "erf erfc erfinv exp exp2 expm1 flatten floor frac gelu hardshrink hardsigmoid hardswish hardtanh " +
    "isFinite isInf isNan leakyRelu log log10 log1p log2 logSigmoid logicalNot mish nanToNum neg " +
    "nonzero norm onesLike rad2deg reciprocal relu relu6 round rsqrt selu sigmoid sign silu sin sinh " +
    "softplus softshrink softsign sqrt square tan tanh tanhshrink thresholdedRelu trunc unique zero_ " +
    "zerosLike",
  (t) => [t.of([2, 3])],
  (t) => [t.of([])],
  (t) => [t.of([0, 3])],
  (t) => [t.of([5, 1, 7])],
);
calls(
  "add atan2 bitwiseAnd bitwiseOr bitwiseXor div equal floorDivide fmax fmin fmod greaterEqual " +
    "greaterThan hypot leftShift lessEqual lessThan logAddExp logicalAnd logicalOr logicalXor maximum " +
    "minimum mod mul notEqual pow rightShift sub",
  (t) => [t.of([2, 3]), t.of([2, 3])],
  (t) => [t.of([2, 1]), t.of([3])],
  (t) => [t.of([0, 1]), t.of([3])],
  (t) => [t.of([]), t.of([4])],
  (t) => [t.of([3]), 2],
  (t) => [3, t.of([3])],
  (t) => [t.of([3]), 2.5],
  (t) => [t.of([3]), NaN],
  (t) => [t.of([3]), -Infinity],
  (t) => [t.of([3]), -0],
  (t) => [t.of([3]), true],
  (t) => [t.of([3]), 7n],
  (t) => [t.of([3]), 2n ** 60n],
  (t) => [t.of([3]), 2 ** 40],
  (t) => [t.of([3]), 1e300],
);
calls(
  "all amax amin any countNonzero logSumExp max mean min nanMean nanSum prod std sum variance",
  (t) => [t.of([2, 3, 4]), 1],
  (t) => [t.of([2, 3]), undefined, { keepdim: true }],
  (t) => [t.of([2, 3, 4]), [0, -1]],
  (t) => [t.of([])],
  (t) => [t.of([0, 3]), 0],
  (t) => [t.of([0, 3]), 1],
  (t) => [t.of([0])],
  (t) => [t.of([4, 5]), []],
  (t) => [t.of([1, 1, 1, 2, 1, 2, 1, 1, 3]), [3, 5]],
);
calls(
  "argmax argmin maxWithIndex minWithIndex",
  (t) => [t.of([2, 3, 4]), -1, { keepdim: true }],
  (t) => [t.of([2, 3]), 0],
  (t) => [t.of([0, 3]), 1],
  (t) => [t.of([0, 3]), 0],
  (t) => [t.of([]), 0],
);
calls(
  "argsort cummax cummin cumprod cumsum logCumSumExp logSoftmax softmax sort",
  (t) => [t.of([2, 3, 4]), 1],
  (t) => [t.of([2, 3]), 0],
  (t) => [t.of([0, 3]), 0],
  (t) => [t.of([0, 3]), 1],
  (t) => [t.of([1, 1]), -1],
  (t) => [t.of([]), 0],
);
calls(
  "add_ copy_ div_ mul_ sub_",
  (t) => [t.of([2, 3]), t.of([3])],
  (t) => [t.of([2, 3]), 2],
  (t) => [t.of([2, 3]), 2.5],
  (t) => [t.of([0, 3]), 1],
  (t) => [t.of([]), t.of([])],
  (t) => [t.of([3]), NaN],
  (t) => [t.of([3]), true],
  (t) => [t.of([3]), 5n],
);
calls(
  "fill_",
  (t) => [t.of([2, 3]), 2],
  (t) => [t.of([2]), NaN],
  (t) => [t.of([2]), t.of([])],
  (t) => [t.of([2]), 2n ** 60n],
);
calls(
  "clip clip_",
  (t) => [t.of([2, 3]), 0, 1],
  (t) => [t.of([2, 3]), undefined, 1],
  (t) => [t.of([2, 3]), t.of([3]), 1],
  (t) => [t.of([2, 3]), 0.5, 1.5],
  (t) => [t.of([2]), NaN, 1],
  (t) => [t.of([0]), 0, 1],
  (t) => [t.of([2]), -Infinity, Infinity],
);
calls(
  "where",
  (t) => [t.mask([2, 3]), t.of([2, 3]), t.of([3])],
  (t) => [t.mask([2, 1]), 1, t.of([3])],
  (t) => [t.of([3]), 1.5, t.of([3])],
  (t) => [t.mask([0]), t.of([1]), t.of([1])],
);
calls("lerp", (t) => [t.of([2, 3]), t.of([3]), 0.5], (t) => [t.of([0]), 1, t.of([2, 1])]);
calls(
  "cast",
  ...["float32", "int8", "bool", "float16", "int64", "bfloat16", "uint8", "complex64"].map(
    (dtype): Arguments => (t) => [t.of([3]), dtype],
  ),
);
calls("fullLike", (t) => [t.of([2]), 3], (t) => [t.of([2]), 2.5], (t) => [t.of([2]), NaN]);

// --- shapes ------------------------------------------------------------------------------------------

calls(
  "reshape",
  (t) => [t.of([2, 3]), [3, -1]],
  (t) => [t.of([0, 3]), [3, 0]],
  (t) => [t.of([]), [1, 1]],
);
calls("squeeze", (t) => [t.of([1, 3, 1]), [0, 2]], (t) => [t.of([0, 1])]);
calls("unsqueeze", (t) => [t.of([3]), [0, 2]], (t) => [t.of([]), 0]);
calls("permute", (t) => [t.of([2, 3, 4]), [2, 0, 1]], (t) => [t.of([]), []]);
calls(
  "moveaxis swapaxes transpose",
  (t) => [t.of([2, 3, 4]), 0, 2],
  (t) => [t.of([0, 2]), 0, 1],
);
calls(
  "broadcastTo expand",
  (t) => [t.of([1, 3]), [2, 3]],
  (t) => [t.of([]), [2, 0]],
);
calls(
  "slice",
  (t) => [t.of([4, 5]), { axes: [0, 1], starts: [1, -1], ends: [3, -6], steps: [1, -2] }],
  (t) => [t.of([0, 5]), { axes: [0], starts: [0], ends: [9] }],
);
calls("flip", (t) => [t.of([2, 3]), [0, 1]], (t) => [t.of([0]), 0]);
calls(
  "roll",
  (t) => [t.of([2, 3]), [1, 2], [0, 1]],
  (t) => [t.of([2, 3]), -4],
  (t) => [t.of([0, 3]), 1, 0],
  (t) => [t.of([]), 1],
);
calls("tile", (t) => [t.of([2, 3]), [2, 1]], (t) => [t.of([2]), 0], (t) => [t.of([]), [2]]);
calls(
  "repeatInterleave",
  (t) => [t.of([2, 3]), 2, 1],
  (t) => [t.of([2, 3]), 0],
  (t) => [t.of([]), 2],
);
calls(
  "concat",
  (t) => [[t.of([2, 3]), t.of([1, 3])], 0],
  (t) => [[t.of([0, 3]), t.of([2, 3])]],
  (t) => [[t.of([2]), t.float([2])]],
);
calls("stack", (t) => [[t.of([2, 3]), t.of([2, 3])], 1], (t) => [[t.of([]), t.of([])]]);
calls("split", (t) => [t.of([5, 2]), [1, 4], 0], (t) => [t.of([5, 2]), 2], (t) => [t.of([0]), 2]);
calls("chunk", (t) => [t.of([5, 2]), 2, 0], (t) => [t.of([0]), 2]);
calls("unbind", (t) => [t.of([3, 2]), 0], (t) => [t.of([0, 2])], (t) => [t.of([2, 0]), 1]);
calls(
  "pad",
  (t) => [t.of([2, 3]), [[1, 0], [0, 2]], { mode: "constant", value: 1 }],
  (t) => [t.of([3]), [[1, 1]], { mode: "reflect" }],
  (t) => [t.of([3]), [[1, 1]], { mode: "replicate" }],
  (t) => [t.of([3]), [[1, 1]], { mode: "circular" }],
  (t) => [t.of([0]), [[1, 1]], { value: 0.5 }],
  (t) => [t.of([]), []],
);
calls("diagonal", (t) => [t.of([3, 4]), { offset: 1, axis1: 0, axis2: 1 }], (t) => [t.of([0, 4])]);
calls("tril triu", (t) => [t.of([2, 3, 3]), -1], (t) => [t.of([0, 4]), 1]);
calls("diag", (t) => [t.of([3]), 1], (t) => [t.of([3, 4])], (t) => [t.of([0])]);
calls(
  "unfold",
  (t) => [t.of([6, 2]), 0, { size: 3, step: 2 }],
);
calls("meshgrid", (t) => [[t.of([2]), t.of([3])], { indexing: "xy" }], (t) => [[t.of([0])]]);

// --- indexing ----------------------------------------------------------------------------------------

calls(
  "gather",
  (t) => [t.of([4, 2]), t.index([3], 4), 0],
  (t) => [t.of([4, 2]), t.index([0], 4), 1],
  (t) => [t.of([4, 0]), t.index([3], 4)],
);
calls(
  "takeAlongAxis",
  (t) => [t.of([4, 2]), t.index([3, 2], 4), 0],
  (t) => [t.of([4, 2]), t.index([4, 0], 2), 1],
);
calls(
  "putAlongAxis",
  (t) => [t.of([4, 2]), t.index([3, 2], 4), t.of([3, 2]), 0, { reduce: "add" }],
  (t) => [t.of([4, 2]), t.index([3, 2], 4), 2, 0, { reduce: "mul" }],
  (t) => [t.of([4, 2]), t.index([0, 2], 4), 2, 0],
);
calls(
  "indexAdd",
  (t) => [t.of([4, 2]), t.index([3], 4), 0, t.of([3, 2])],
  (t) => [t.of([4, 2]), t.index([0], 4), 0, t.of([0, 2])],
);
calls(
  "scatter",
  (t) => [t.of([4, 2]), t.index([3], 4), t.of([3, 2]), { overwrite: false }],
  (t) => [t.of([4, 2]), t.index([3], 4), t.of([3, 2])],
);
calls(
  "maskedFill",
  (t) => [t.of([2, 3]), t.mask([3]), 2],
  (t) => [t.of([2]), t.mask([2]), NaN],
  (t) => [t.of([0]), t.mask([0]), t.of([])],
);
calls(
  "maskedSelect",
  (t) => [t.of([2, 3]), t.mask([2, 3])],
  (t) => [t.of([0]), t.mask([0])],
);
calls("oneHot", (t) => [t.index([2, 3], 4), 4], (t) => [t.of([2], [0, 2]), 3]);
calls(
  "topk",
  (t) => [t.of([5, 2]), 2, { axis: 0, largest: false, sorted: true }],
  (t) => [t.of([2, 5]), 0],
  (t) => [t.of([0, 5]), 2],
);
calls(
  "searchSorted",
  (t) => [plesio.sort(t.of([5]), 0)[0], t.of([3]), { right: true }],
  (t) => [t.of([0]), t.of([3])],
);
calls(
  "at",
  (t) => [t.of([4, 5]), ["1:3", 2]],
  (t) => [t.of([4, 5]), [[0, 2]]],
  (t) => [t.of([4, 5]), [t.index([3], 4), t.index([3], 5)]],
  (t) => [t.of([4, 5]), [t.mask([4])]],
  (t) => [t.of([4, 5]), [null, "...", "::-1"]],
  (t) => [t.of([0, 5]), ["::-2"]],
  (t) => [t.of([]), []],
);
calls(
  "setAt",
  (t) => [t.of([4, 5]), ["1:3", [0, 2]], t.of([2, 2])],
  (t) => [t.of([4, 5]), 1, 2],
  (t) => [t.of([4, 5]), [t.index([3], 4)], 2],
  (t) => [t.of([0, 5]), ["..."], 1],
  (t) => [t.of([4]), 1, NaN],
  (t) => [t.of([4]), 1, t.float([])],
);

// --- linear algebra ----------------------------------------------------------------------------------

calls(
  "matmul",
  (t) => [t.of([3, 2]), t.of([3, 4]), { transposeX: true, transposeY: false }],
  (t) => [t.of([3]), t.of([3])],
  (t) => [t.of([0, 3]), t.of([3, 2])],
  (t) => [t.of([2, 0]), t.of([0, 3])],
  (t) => [t.of([5, 1, 2, 3]), t.of([4, 3, 2])],
  (t) => [t.of([0, 2, 3]), t.of([3, 2])],
  (t) => [t.of([3]), t.of([2, 3, 0])],
);
calls("mm", (t) => [t.of([2, 3]), t.of([3, 4])]);
calls(
  "bmm",
  (t) => [t.of([2, 2, 3]), t.of([2, 3, 4])],
  (t) => [t.of([0, 2, 3]), t.of([0, 3, 4])],
);
calls("dot", (t) => [t.of([3]), t.of([3])], (t) => [t.of([0]), t.of([0])]);
calls("outer", (t) => [t.of([3]), t.of([2])], (t) => [t.of([0]), t.of([2])]);
calls(
  "addmm",
  (t) => [t.of([2, 4]), t.of([2, 3]), t.of([3, 4]), { alpha: 2, beta: 3 }],
  (t) => [t.of([4]), t.of([2, 0]), t.of([0, 4]), { alpha: 0.5 }],
);
calls(
  "einsum",
  (t) => ["ij,jk->ik", t.of([2, 3]), t.of([3, 4])],
  (t) => ["ij->", t.of([0, 3])],
  (t) => ["bij,bjk->bik", t.of([2, 0, 3]), t.of([2, 3, 2])],
  (t) => ["...i->...", t.of([2, 3])],
  (t) => ["->", t.of([])],
);
calls(
  "tensordot",
  (t) => [t.of([2, 3]), t.of([4, 3]), [[1], [1]]],
  (t) => [t.of([2]), t.of([3]), 0],
);

// --- layers and losses -------------------------------------------------------------------------------

calls(
  "linear",
  (t) => [t.of([2, 3]), t.of([3, 4]), t.of([4])],
  (t) => [t.of([0, 3]), t.of([3, 4])],
  (t) => [t.of([2, 0]), t.of([0, 3]), t.of([3])],
);
calls(
  "F.conv2d",
  (t) => [t.of([1, 2, 5, 5]), t.of([2, 1, 3, 3]), t.of([2]), {
    stride: 2,
    padding: 1,
    dilation: 1,
    groups: 2,
  }],
  (t) => [t.of([0, 2, 5, 5]), t.of([3, 2, 3, 3])],
  (t) => [t.of([1, 0, 5, 5]), t.of([3, 0, 3, 3])],
);
calls(
  "F.conv1d F.conv1dTranspose",
  (t) => [t.of([1, 2, 5]), t.of([2, 2, 3]), t.of([2]), { stride: 2, padding: 1 }],
);
calls(
  "F.conv3d F.conv3dTranspose",
  (t) => [t.of([1, 2, 3, 3, 3]), t.of([2, 2, 2, 2, 2]), t.of([2]), { stride: 2, padding: 1 }],
);
calls("F.conv2dTranspose", (t) => [t.of([1, 2, 4, 4]), t.of([2, 3, 3, 3]), t.of([3]), {}]);
calls(
  "F.avgPool2d F.maxPool2d",
  (t) => [t.of([1, 2, 4, 4]), 3, { stride: 2, padding: 1, ceilMode: true }],
  (t) => [t.of([0, 2, 4, 4]), 2],
);
calls("F.avgPool1d F.maxPool1d", (t) => [t.of([1, 2, 4]), 2, { stride: 1, padding: 0 }]);
calls("F.avgPool3d F.maxPool3d", (t) => [t.of([1, 2, 4, 4, 4]), 2, { stride: 2, padding: 0 }]);
calls(
  "F.adaptiveAvgPool2d F.adaptiveMaxPool2d",
  (t) => [t.of([1, 2, 5, 4]), [2, 3]],
  (t) => [t.of([0, 2, 5, 4]), 3],
);
calls("F.unfold", (t) => [t.of([1, 2, 4, 4]), 2, { strides: 1 }], (t) => [t.of([0, 2, 4, 4]), 2]);
calls(
  "F.crossEntropy",
  (t) => [t.of([4, 3]), t.index([4], 3), {
    weight: t.float([3]),
    labelSmoothing: 0.1,
    reduction: "none",
    ignoreIndex: -1,
    axis: 1,
  }],
  (t) => [t.of([0, 3]), t.index([0], 3)],
  (t) => [t.of([2, 3]), t.of([2, 3]), { softLabel: true }],
);
calls(
  "F.nllLoss",
  (t) => [t.of([4, 3]), t.index([4], 3), { reduction: "sum" }],
  (t) => [t.of([0, 3]), t.index([0], 3)],
);
calls(
  "F.binaryCrossEntropy F.binaryCrossEntropyWithLogits F.hingeEmbeddingLoss F.klDiv F.l1Loss " +
    "F.mseLoss F.smoothL1Loss F.softMarginLoss",
  (t) => [t.of([2, 3]), t.of([2, 3]), { reduction: "none" }],
  (t) => [t.of([0, 3]), t.of([0, 3])],
  (t) => [t.of([]), t.float([]), { reduction: "sum" }],
);
calls("F.marginRankingLoss", (t) => [t.of([3]), t.of([3]), t.of([3]), { margin: 1 }]);
calls(
  "F.cosineSimilarity",
  (t) => [t.of([2, 3]), t.of([2, 3]), { axis: 1, eps: 1e-3 }],
  (t) => [t.of([2, 0]), t.of([2, 0])],
);
calls(
  "F.layerNorm",
  (t) => [t.of([2, 3, 4]), [3, 4], { weight: t.of([3, 4]), bias: t.of([3, 4]), epsilon: 1e-3 }],
  (t) => [t.of([0, 3]), 3],
  (t) => [t.of([2, 0]), 0],
);
calls("F.rmsNorm", (t) => [t.of([2, 3]), { weight: t.of([3]) }], (t) => [t.of([0, 3])]);
calls(
  "F.batchNorm",
  (t) => [t.of([4, 3]), t.of([3]), t.of([3], [1, 3]), { training: true, momentum: 0.5 }],
  (t) => [t.of([2, 3, 4]), t.float([3]), t.float([3]), { weight: t.of([3]), bias: t.of([3]) }],
  (t) => [t.of([0, 3]), t.of([3]), t.of([3]), { training: true }],
);
calls(
  "F.groupNorm",
  (t) => [t.of([2, 4, 3]), 2, { weight: t.of([4]) }],
  (t) => [t.of([0, 4, 3]), 2],
  (t) => [t.of([2, 4, 0]), 2],
);
calls("F.instanceNorm", (t) => [t.of([2, 4, 3]), { bias: t.of([4]) }], (t) => [t.of([0, 4, 3])]);
calls("F.normalize", (t) => [t.of([2, 3]), { p: 1, axis: 0 }], (t) => [t.of([0, 3])]);
calls(
  "F.embedding",
  (t) => [t.index([2, 3], 4), t.of([4, 2]), { paddingIdx: -1 }],
  (t) => [t.index([0], 4), t.of([4, 2])],
  (t) => [t.index([2], 4), t.of([4, 0])],
);
calls(
  "F.scaledDotProductAttention",
  (t) => [t.of([1, 2, 3, 4]), t.of([1, 2, 3, 4]), t.of([1, 2, 3, 4]), {
    attnMask: t.mask([3, 3]),
    isCausal: false,
    scale: 1,
  }],
  (t) => [t.of([1, 2, 0, 4]), t.of([1, 2, 5, 4]), t.of([1, 2, 5, 4])],
  (t) => [t.of([1, 2, 3, 4]), t.of([1, 2, 0, 4]), t.of([1, 2, 0, 4])],
);
calls("dropout", (t) => [t.of([3]), { p: 0.5, training: false }]);

// --- creation ----------------------------------------------------------------------------------------

calls(
  "tensor",
  () => [[[1, 2], [3, 4]], { dtype: "float64", requiresGrad: true }],
  () => [[1n, 2n], { dtype: "int8" }],
  () => [[NaN], { dtype: "int32" }],
  () => [[2 ** 40], { dtype: "int32" }],
);
calls("empty ones rand randn uniform zeros", () => [[2, 3], { dtype: "float32" }], () => [[0]]);
calls("full", () => [[2], 3, { dtype: "int8" }], () => [[], 2n ** 60n], () => [[2], 300]);
calls("arange", () => [1, 9, { step: 2, dtype: "float32" }], () => [5n], () => [0]);
calls("linspace logspace", () => [0, 1, 5, { dtype: "float32" }], () => [0, 1, 0]);
calls("eye", () => [3, 2, { dtype: "bool" }]);
calls("randint", () => [-3, 3, { shape: [2], dtype: "int8" }]);
calls("randperm", () => [5, { dtype: "int32" }]);
calls("normal", () => [{ shape: [3], mean: 1, std: 2 }]);
calls("bernoulli", (t) => [t.of([3], [0, 1])]);
calls("multinomial", (t) => [t.of([2, 5], [1, 3]), 2, { replacement: true }]);

const ANYTHING: readonly Arguments[] = [
  (t) => [t.of([2, 3])],
  (t) => [t.of([2, 3]), t.of([2, 3])],
];

/** Switches of the whole program, functions of functions, files: nothing to be called with tensors. */
const APART = new Set(
  ("customFunction defaultGenerator enableGrad getDefaultDtype getPlace getRngState grad isDType " +
    "isGradEnabled load noGrad promoteTypes save scope seed setDefaultDtype setPlace setRngState")
    .split(" "),
);

function callsOf(prefix: string, space: object): Call[] {
  return Object.entries(space).flatMap(([key, value]) => {
    if (typeof value !== "function" || !/^[a-z]/.test(key) || APART.has(key)) return [];
    const name = prefix + key;
    const cases = table.get(name) ?? (prefix === "" ? undefined : table.get(key)) ?? ANYTHING;
    return [{ name, run: value as Call["run"], cases }];
  });
}

/** Every public function that takes tensors or makes them. */
export function publicCalls(): Call[] {
  const own = new Set(Object.keys(plesio));
  return [
    ...callsOf("", plesio),
    ...callsOf("F.", F).filter(({ name }) => table.has(name) || !own.has(name.slice(2))),
  ];
}

/** How operands lie in memory. */
export type Layout = "dense" | "turned";

/** Makes operands with repeatable values. */
export function maker(dtype: DType, layout: Layout = "dense", place = "cpu"): Maker {
  let drawn = 0;
  const make = (shape: readonly number[], type: DType, low: number, high: number): Tensor => {
    const start = 1 + 100 * drawn++;
    const size = shape.reduce((a, b) => a * b, 1);
    const values = Array.from({ length: size }, (_, i) => {
      const x = low + (high - low) * Math.abs(Math.sin((start + i) * 12.9898) * 4375.85453 % 1);
      if (type === "bool") return x > (low + high) / 2;
      return type.includes("int") ? Math.floor(x) : x;
    });
    const x = type.startsWith("complex")
      ? complex(values as number[], shape, type, place)
      : plesio.tensor(values, { dtype: type, place }).reshape([...shape]);
    return layout === "dense" || shape.length === 0 ? x : turned(x);
  };
  const [low, high] = dtype === "uint8" ? [0, 5] : dtype === "bool" ? [0, 1] : [-3, 4];
  return {
    of: (shape, range = [low, high]) => make(shape, dtype, ...range),
    float: (shape) => make(shape, "float32", 0.5, 2),
    index: (shape, size) => make(shape, "int32", 0, size),
    mask: (shape) => make(shape, "bool", 0, 1),
  };
}

/** Complex numbers, for which there is no public way in yet. */
function complex(real: readonly number[], shape: readonly number[], type: DType, place: string) {
  const Parts = type === "complex64" ? Float32Array : Float64Array;
  const pairs = Parts.from(real.flatMap((x) => [x, -x]));
  return engine.fromData(pairs, shape, type, plesio.Place.of(place));
}

/** The same values with the axes in memory the other way round and the first one backward. */
function turned(x: Tensor): Tensor {
  const back = x.shape.map((_, d) => x.rank - 1 - d);
  return flip(flip(x, 0).permute(back).clone().permute(back), 0);
}
