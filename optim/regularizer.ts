// What is added to gradients so that weights stay small. Not here: AdamW's decay, which acts on the weight itself.
import { describe } from "../core/describe.ts";
import { ValueError } from "../core/errors.ts";

/** A decay as an update op takes it. */
export interface Decay {
  readonly kind: "none" | "l1" | "l2";
  readonly coefficient: number;
}

/** A decay rule for `weightDecay`; a plain number is {@linkcode L2Decay}. */
export abstract class WeightDecay {
  /** The factor. */
  readonly coefficient: number;
  /** Which term is added. */
  abstract readonly kind: "l1" | "l2";

  /** With a finite factor of at least 0. */
  constructor(coefficient: number) {
    if (!(Number.isFinite(coefficient) && coefficient >= 0)) {
      throw new ValueError(
        `Cannot decay weights by ${coefficient}: weightDecay must be a finite number of at least 0`,
      );
    }
    this.coefficient = coefficient;
  }
}

/**
 * Adds coefficient · sign(p) to gradients: weights go to zero.
 *
 * @throws {ValueError} if the coefficient is negative or not finite.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { optim, tensor, zerosLike } from "../mod.ts";
 *
 * const p = tensor([2, -2], { requiresGrad: true });
 * p.grad = zerosLike(p);
 * const weightDecay = new optim.L1Decay(0.5);
 * await new optim.SGD({ parameters: [p], learningRate: 1, weightDecay }).step();
 * assertEquals(await p.toArray(), [1.5, -1.5]);
 * ```
 */
export class L1Decay extends WeightDecay {
  /** Which term is added. */
  override readonly kind = "l1";
}

/**
 * Adds coefficient · p to gradients: weights shrink.
 *
 * @throws {ValueError} if the coefficient is negative or not finite.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { optim, tensor, zerosLike } from "../mod.ts";
 *
 * const p = tensor([2, -4], { requiresGrad: true });
 * p.grad = zerosLike(p);
 * const weightDecay = new optim.L2Decay(0.5);
 * await new optim.SGD({ parameters: [p], learningRate: 1, weightDecay }).step();
 * assertEquals(await p.toArray(), [1, -2]);
 * ```
 */
export class L2Decay extends WeightDecay {
  /** Which term is added. */
  override readonly kind = "l2";
}

/** The decay that a user's option means. */
export function decayOf(option: number | WeightDecay | undefined): Decay {
  if (option === undefined) return { kind: "none", coefficient: 0 };
  const decay = typeof option === "number" ? new L2Decay(option) : option;
  if (!(decay instanceof WeightDecay)) {
    throw new ValueError(
      `Cannot optimize with weightDecay ${
        describe(option)
      }: it must be a number, an L1Decay or an L2Decay`,
    );
  }
  const { kind, coefficient } = decay;
  return { kind: coefficient === 0 ? "none" : kind, coefficient };
}
