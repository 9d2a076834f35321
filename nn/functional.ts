/**
 * Functions of neural networks without state: what layers compute. In the main module this is
 * `nn.functional`. Not here: the definitions (in `ops/`) and the layers that hold parameters.
 *
 * @module
 */

export {
  celu,
  elu,
  gelu,
  hardshrink,
  hardsigmoid,
  hardswish,
  hardtanh,
  leakyRelu,
  logSigmoid,
  mish,
  relu,
  relu6,
  selu,
  sigmoid,
  silu,
  softplus,
  softshrink,
  softsign,
  tanh,
  tanhshrink,
  thresholdedRelu,
} from "../ops/mod.ts";
export { dropout, oneHot } from "../ops/mod.ts";
export { type AttentionOptions, scaledDotProductAttention } from "../ops/attention.ts";
export {
  crossEntropy,
  type CrossEntropyOptions,
  nllLoss,
  type NllLossOptions,
  type Reduction,
} from "../ops/class_loss.ts";
export { conv2d, type Conv2dOptions } from "../ops/conv.ts";
export { conv1d, type Conv1dOptions, conv3d, type Conv3dOptions } from "../ops/conv_nd.ts";
export {
  conv1dTranspose,
  type Conv1dTransposeOptions,
  conv2dTranspose,
  type Conv2dTransposeOptions,
  conv3dTranspose,
  type Conv3dTransposeOptions,
} from "../ops/conv_transpose.ts";
export { embedding, type EmbeddingOptions } from "../ops/embedding.ts";
export { im2col as unfold, type Im2colOptions as UnfoldOptions } from "../ops/im2col.ts";
export { linear } from "../ops/linear.ts";
export {
  binaryCrossEntropy,
  type BinaryCrossEntropyOptions,
  binaryCrossEntropyWithLogits,
  type BinaryCrossEntropyWithLogitsOptions,
  hingeEmbeddingLoss,
  klDiv,
  type KlDivOptions,
  l1Loss,
  type LossOptions,
  type MarginOptions,
  marginRankingLoss,
  mseLoss,
  smoothL1Loss,
  type SmoothL1Options,
  softMarginLoss,
} from "../ops/loss.ts";
export {
  batchNorm,
  type BatchNormOptions,
  groupNorm,
  instanceNorm,
  layerNorm,
  type NormalizationOptions,
  rmsNorm,
  type RmsNormOptions,
} from "../ops/norm.ts";
export {
  adaptiveAvgPool2d,
  adaptiveMaxPool2d,
  avgPool2d,
  type AvgPoolOptions,
  maxPool2d,
  type MaxPoolOptions,
  type PoolOptions,
} from "../ops/pool.ts";
export {
  avgPool1d,
  type AvgPool1dOptions,
  avgPool3d,
  type AvgPool3dOptions,
  maxPool1d,
  type MaxPool1dOptions,
  maxPool3d,
  type MaxPool3dOptions,
  type Pool1dOptions,
  type Pool3dOptions,
} from "../ops/pool_nd.ts";
export {
  cosineSimilarity,
  type CosineSimilarityOptions,
  normalize,
  type NormalizeOptions,
} from "../ops/similarity.ts";
export type { Ends, Padding1d, Padding3d, Single, Triple } from "../ops/sliding.ts";
export { logSoftmax, softmax } from "../ops/softmax.ts";
export type { Padding2d, Pair, Sides } from "../ops/window.ts";
