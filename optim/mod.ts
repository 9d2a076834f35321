/**
 * Optimizers, learning rate schedules (`lr`), gradient clipping and weight decay.
 *
 * @module
 */

export * as lr from "./lr.ts";
export * from "./adam.ts";
export * from "./clip.ts";
export {
  type OptimizedTensor,
  Optimizer,
  type OptimizerOptions,
  type OptimizerState,
  type ParameterGroup,
  type UpdateContext,
} from "./optimizer.ts";
export { type Decay, L1Decay, L2Decay, WeightDecay } from "./regularizer.ts";
export * from "./sgd.ts";
