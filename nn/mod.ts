/**
 * Layers, losses, and how their parameters begin. `functional` holds the same things as functions.
 *
 * @module
 */

export * as functional from "./functional.ts";
export * as initializer from "./initializer.ts";
export * from "./activation.ts";
export * from "./activation_linear.ts";
export * from "./attention.ts";
export {
  Dropout,
  type DropoutOptions,
  Embedding,
  type EmbeddingOptions,
  Flatten,
  Identity,
  Linear,
  Unflatten,
  type WeightOptions,
} from "./basic.ts";
export * from "./container.ts";
export * from "./conv.ts";
export * from "./conv_nd.ts";
export { type ForwardPostHook, type ForwardPreHook, Layer } from "./layer.ts";
export * from "./loss.ts";
export * from "./norm.ts";
export { Parameter } from "./parameter.ts";
export * from "./pooling.ts";
export * from "./pooling_nd.ts";
export {
  GRU,
  LSTM,
  type RecurrentCallOptions,
  type RecurrentOptions,
  SimpleRNN,
  type SimpleRNNOptions,
} from "./recurrent.ts";
export {
  GRUCell,
  LSTMCell,
  type LSTMStates,
  type RecurrentWeightOptions,
  SimpleRNNCell,
  type SimpleRNNCellOptions,
} from "./recurrent_cell.ts";
export type { LoadOptions, LoadReport, StateDict } from "./state.ts";
export * from "./transformer.ts";
export { LayerBase, type Named, type ParameterOptions } from "./tree.ts";
