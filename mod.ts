/**
 * Plesio: deep learning and scientific computing for Deno.
 *
 * Tensors with gradients, layers, optimizers and losses, on an embedded backend that needs no
 * permission. This module is the whole entry.
 *
 * @example Fit a line
 * ```ts
 * import { assert } from "jsr:@std/assert@1";
 * import { nn, optim, seed, tensor } from "./mod.ts";
 *
 * seed(1);
 * const x = tensor([[0], [1], [2], [3]]);
 * const y = tensor([[1], [3], [5], [7]]);
 * const model = new nn.Linear(1, 1);
 * const optimizer = new optim.SGD({ learningRate: 0.1, parameters: model.parameters() });
 * let loss = nn.functional.mseLoss(model.call(x), y);
 * for (let i = 0; i < 200; i++) {
 *   loss = nn.functional.mseLoss(model.call(x), y);
 *   loss.backward();
 *   await optimizer.step();
 *   optimizer.clearGrad();
 * }
 * assert(Number(await loss.item()) < 1e-2);
 * ```
 *
 * @module
 */
import "./core/engine/mod.ts";

export * from "./ops/mod.ts";
export * from "./core/errors.ts";
export { Tensor } from "./core/tensor.ts";
export type { TensorShape } from "./core/tensor_shape.ts";
export type { TensorReduce } from "./core/tensor_reduce.ts";
export type { TensorMath } from "./core/tensor_math.ts";
export type { TensorBase } from "./core/tensor_base.ts";
export type { Operand } from "./core/op.ts";
export type { Axes, Shape } from "./core/shape.ts";
export type { NestedArray, TensorData } from "./core/tensor_base.ts";
export {
  type DataArray,
  type DType,
  getDefaultDtype,
  isDType,
  promoteTypes,
  setDefaultDtype,
} from "./core/dtype.ts";
export { Place } from "./core/place.ts";
export { getNumThreads, getPlace, setNumThreads, setPlace } from "./backends/registry.ts";
export {
  type CustomFunction,
  customFunction,
  enableGrad,
  type FunctionContext,
  grad,
  type GradHook,
  type GradOptions,
  isGradEnabled,
  noGrad,
} from "./core/autograd.ts";
export { memory, type MemoryReport, scope } from "./core/engine/memory.ts";
export {
  defaultGenerator,
  Generator,
  type GeneratorState,
  getRngState,
  seed,
  setRngState,
} from "./core/random/generator.ts";
export type { PhiloxRange } from "./core/random/philox.ts";
/** Layers, losses and their functional forms. */
export * as nn from "./nn/mod.ts";
/** Optimizers, learning rate schedules, gradient clipping. */
export * as optim from "./optim/mod.ts";
/** Files and formats: safetensors. */
export * as io from "./io/mod.ts";
export { load, save } from "./io/files.ts";
export type { Metadata } from "./io/safetensors.ts";
