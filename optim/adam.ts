// Adam and AdamW. Not here: the arithmetic (step_ops.ts).
import { ValueError } from "../core/errors.ts";
import { engine } from "../core/op.ts";
import type { Tensor } from "../core/tensor.ts";
import { checkRange, Optimizer, type OptimizerOptions, type UpdateContext } from "./optimizer.ts";
import { type Decay, L1Decay } from "./regularizer.ts";
import { ADAM_STEP } from "./step_ops.ts";

/** Options of {@linkcode Adam}. */
export interface AdamOptions extends OptimizerOptions {
  /** How much of the mean of gradients is kept; default 0.9. */
  readonly beta1?: number;
  /** How much of the mean of their squares is kept; default 0.999. */
  readonly beta2?: number;
  /** Added to the root of the mean of squares; default 1e-8. */
  readonly epsilon?: number;
  /** Whether to divide by the greatest mean of squares so far (Reddi et al. 2018); default false. */
  readonly amsgrad?: boolean;
}

/** What Adam and AdamW share. */
abstract class AdamLike extends Optimizer {
  /** The state tensors of each parameter. */
  override readonly slotNames: readonly string[];
  readonly #beta1: number;
  readonly #beta2: number;
  readonly #epsilon: number;
  readonly #amsgrad: boolean;

  constructor(name: string, options: AdamOptions) {
    super(options);
    const { beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, amsgrad = false } = options;
    checkRange(name, { beta1, beta2 }, 1);
    checkRange(name, { epsilon }, Infinity);
    [this.#beta1, this.#beta2, this.#epsilon, this.#amsgrad] = [beta1, beta2, epsilon, amsgrad];
    this.slotNames = ["moment1", "moment2", ...(amsgrad ? ["moment2Max"] : [])];
  }

  protected adam(
    p: Tensor,
    g: Tensor,
    slots: readonly Tensor[],
    { learningRate, step }: UpdateContext,
    decay: { readonly kind: Decay["kind"] | "decoupled"; readonly coefficient: number },
  ): void {
    const [beta1, beta2] = [this.#beta1, this.#beta2];
    const numbers = [
      learningRate / (1 - beta1 ** step),
      beta1,
      1 - beta1,
      beta2,
      1 - beta2,
      this.#epsilon,
      1 / Math.sqrt(1 - beta2 ** step),
      decay.coefficient,
    ];
    const attrs = { decay: decay.kind, amsgrad: this.#amsgrad };
    engine.callInto(ADAM_STEP, [p, g, ...slots, ...numbers], attrs, [p, ...slots]);
  }
}

/**
 * Adam (Kingma & Ba 2015): m = β₁ m + (1 - β₁) g, v = β₂ v + (1 - β₂) g², p - lr · m̂ / (√v̂ + ε), where m̂
 * and v̂ are m / (1 - β₁ᵗ) and v / (1 - β₂ᵗ). Weight decay is added to the gradient; for decoupled decay use AdamW.
 *
 * @throws {ValueError} if there are no parameters, one is given twice or is no floating leaf, or a number
 * is out of range.
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { optim, tensor } from "../mod.ts";
 *
 * const p = tensor(3, { requiresGrad: true });
 * const optimizer = new optim.Adam({ parameters: [p], learningRate: 0.1 });
 * p.mul(5).backward();
 * await optimizer.step();
 * assertAlmostEquals(await p.item() as number, 2.9, 1e-6);
 * ```
 */
export class Adam extends AdamLike {
  /** With the options of Adam. */
  constructor(options: AdamOptions) {
    super("Adam", options);
  }
  /** One update of a parameter. */
  override update(p: Tensor, g: Tensor, slots: readonly Tensor[], context: UpdateContext): void {
    this.adam(p, g, slots, context, context.decay);
  }
}

/**
 * Adam with decoupled weight decay (Loshchilov & Hutter 2019): each step also takes lr · weightDecay · p from p,
 * whatever the gradient. The default weightDecay is 0.01, as in Paddle and PyTorch.
 *
 * @throws {ValueError} if there are no parameters, one is given twice or is no floating leaf, a number is
 * out of range, or weightDecay is not a number.
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { optim, tensor } from "../mod.ts";
 *
 * const p = tensor(3, { requiresGrad: true });
 * const optimizer = new optim.AdamW({ parameters: [p], learningRate: 0.1, weightDecay: 0.5 });
 * p.mul(5).backward();
 * await optimizer.step();
 * assertAlmostEquals(await p.item() as number, 3 - 0.1 - 0.1 * 0.5 * 3, 1e-6);
 * ```
 */
export class AdamW extends AdamLike {
  /** With the options of Adam. */
  constructor(options: AdamOptions) {
    super("AdamW", { ...options, weightDecay: options?.weightDecay ?? 0.01 });
    for (const each of [options, ...options.parameters]) {
      if ("weightDecay" in each && each.weightDecay instanceof L1Decay) {
        throw new ValueError(
          "Cannot make an AdamW with an L1Decay: its decay takes from the weight itself; use a number, or Adam",
        );
      }
    }
  }
  /** One update of a parameter. */
  override update(p: Tensor, g: Tensor, slots: readonly Tensor[], context: UpdateContext): void {
    const { kind, coefficient } = context.decay;
    this.adam(p, g, slots, context, {
      kind: kind === "none" ? "none" : "decoupled",
      coefficient: context.learningRate * coefficient,
    });
  }
}
