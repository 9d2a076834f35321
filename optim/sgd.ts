// Gradient descent, plain and with momentum. Not here: the arithmetic (step_ops.ts).
import { engine } from "../core/op.ts";
import type { Tensor } from "../core/tensor.ts";
import { checkRange, Optimizer, type OptimizerOptions, type UpdateContext } from "./optimizer.ts";
import { MOMENTUM_STEP, SGD_STEP } from "./step_ops.ts";

/**
 * Gradient descent: p - lr · g.
 *
 * @throws {ValueError} if there are no parameters, one is given twice or is no floating leaf, or a number
 * is out of range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { optim, tensor } from "../mod.ts";
 *
 * const p = tensor([3], { requiresGrad: true });
 * const optimizer = new optim.SGD({ parameters: [p], learningRate: 0.25 });
 * p.mul(p).sum().backward();
 * await optimizer.step();
 * optimizer.clearGrad();
 * assertEquals(await p.toArray(), [1.5]);
 * ```
 */
export class SGD extends Optimizer {
  /** The state tensors of each parameter. */
  override readonly slotNames: readonly string[] = [];

  /** With the options that every optimizer takes. */
  constructor(options: OptimizerOptions) {
    super(options);
  }
  /** One update of a parameter. */
  override update(
    p: Tensor,
    g: Tensor,
    _slots: readonly Tensor[],
    { learningRate, decay }: UpdateContext,
  ): void {
    const numbers = [learningRate, decay.coefficient];
    engine.callInto(SGD_STEP, [p, g, ...numbers], { decay: decay.kind }, [p]);
  }
}

/** Options of {@linkcode Momentum}. */
export interface MomentumOptions extends OptimizerOptions {
  /** How much of the velocity is kept; default 0.9. */
  readonly momentum?: number;
  /** Whether to look ahead (Nesterov); default false. */
  readonly useNesterov?: boolean;
}

/**
 * Gradient descent with momentum: v = momentum · v + g, p - lr · v; with `useNesterov`
 * p - lr · (g + momentum · v).
 *
 * @throws {ValueError} if there are no parameters, one is given twice or is no floating leaf, or a number
 * is out of range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { optim, tensor } from "../mod.ts";
 *
 * const p = tensor([4], { requiresGrad: true });
 * const optimizer = new optim.Momentum({ parameters: [p], learningRate: 1, momentum: 0.5 });
 * for (let i = 0; i < 2; i++) {
 *   p.sum().backward();
 *   await optimizer.step();
 *   optimizer.clearGrad();
 * }
 * assertEquals(await p.toArray(), [4 - 1 - 1.5]);
 * ```
 */
export class Momentum extends Optimizer {
  /** The state tensors of each parameter. */
  override readonly slotNames: readonly string[] = ["velocity"];
  readonly #momentum: number;
  readonly #nesterov: boolean;

  /** With `momentum` and `useNesterov`. */
  constructor(options: MomentumOptions) {
    super(options);
    const { momentum = 0.9, useNesterov = false } = options;
    checkRange("Momentum", { momentum }, Infinity);
    [this.#momentum, this.#nesterov] = [momentum, useNesterov];
  }
  /** One update of a parameter. */
  override update(
    p: Tensor,
    g: Tensor,
    [velocity]: readonly Tensor[],
    { learningRate, decay }: UpdateContext,
  ): void {
    const numbers = [learningRate, this.#momentum, decay.coefficient];
    const attrs = { decay: decay.kind, nesterov: this.#nesterov };
    engine.callInto(MOMENTUM_STEP, [p, g, velocity, ...numbers], attrs, [p, velocity]);
  }
}
