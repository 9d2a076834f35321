// Clipping of gradients before the update, without reading them back to the host. Formulas as in Paddle:
// a factor is clipNorm / max(norm, clipNorm), with no epsilon. Not here: when it runs (optimizer.ts).
import { ValueError } from "../core/errors.ts";
import { composite, engine, type Operand } from "../core/op.ts";
import type { Tensor } from "../core/tensor.ts";
import { add, clip, div, maximum, mul, sqrt, square, sum } from "../ops/mod.ts";
import { wide } from "./step_ops.ts";

/** A rule for `gradClip`. Extend it for a rule of your own. */
export abstract class GradClip {
  /** The clipped gradients, as new tensors; those given must stay as they are. */
  abstract clip(grads: readonly Tensor[]): Tensor[];
}

/**
 * Keeps each element between two bounds.
 *
 * @throws {ValueError} if a bound is NaN, or `min` exceeds `max`.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { optim, tensor } from "../mod.ts";
 *
 * const [g] = new optim.ClipGradByValue(1).clip([tensor([-3, 0.5, 2])]);
 * assertEquals(await g.toArray(), [-1, 0.5, 1]);
 * ```
 */
export class ClipGradByValue extends GradClip {
  readonly #min: number;
  readonly #max: number;

  /** Between `min` (default -max) and `max`. */
  constructor(max: number, min: number = -max) {
    super();
    if (!(min <= max)) {
      throw new ValueError(`Cannot clip to ${min} … ${max}: min must not exceed max`);
    }
    [this.#min, this.#max] = [min, max];
  }
  /** The clipped gradients, as new tensors. */
  override clip(grads: readonly Tensor[]): Tensor[] {
    return grads.map((g) => clip(g, this.#min, this.#max));
  }
}

function positive(name: string, clipNorm: number): number {
  if (Number.isFinite(clipNorm) && clipNorm > 0) return clipNorm;
  throw new ValueError(
    `Cannot make a ${name} with clipNorm ${clipNorm}: it must be a finite number above 0`,
  );
}

const CLIP_BY_NORM = composite({
  name: "clipByNorm",
  vjp: null,
  body: ([g, clipNorm]) => {
    const x = wide(g as Tensor);
    return mul(x, div(clipNorm, maximum(sqrt(sum(square(x))), clipNorm)));
  },
});

/**
 * Scales each gradient whose 2-norm exceeds clipNorm to that norm, each for itself.
 *
 * @throws {ValueError} if clipNorm is not a finite number above 0.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { optim, tensor } from "../mod.ts";
 *
 * const [a, b] = new optim.ClipGradByNorm(5).clip([tensor([6, 8]), tensor([1])]);
 * assertEquals([await a.toArray(), await b.toArray()], [[3, 4], [1]]);
 * ```
 */
export class ClipGradByNorm extends GradClip {
  readonly #clipNorm: number;

  /** To that norm. */
  constructor(clipNorm: number) {
    super();
    this.#clipNorm = positive("ClipGradByNorm", clipNorm);
  }
  /** The clipped gradients, as new tensors. */
  override clip(grads: readonly Tensor[]): Tensor[] {
    return grads.map((g) => engine.call(CLIP_BY_NORM, [g, this.#clipNorm]));
  }
}

/** Gradients that one call folds: places bind a limited number of buffers to a kernel. */
const CHUNK = 6;

const ADD_SQUARES = composite({
  name: "addSquares",
  vjp: null,
  body: ([total, ...grads]) =>
    grads.map((g) => sum(square(wide(g as Tensor)))).reduce<Operand>(add, total) as Tensor,
});

const CLIP_FACTOR = composite({
  name: "clipFactor",
  vjp: null,
  body: ([total, clipNorm]) => div(clipNorm, maximum(sqrt(total as Tensor), clipNorm)),
});

/**
 * Scales all gradients by one factor, so that their common 2-norm is at most clipNorm. A gradient that
 * is not finite makes all of them so.
 *
 * @throws {ValueError} if clipNorm is not a finite number above 0.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { optim, tensor } from "../mod.ts";
 *
 * const [a, b] = new optim.ClipGradByGlobalNorm(5).clip([tensor([6]), tensor([8])]);
 * assertEquals([await a.toArray(), await b.toArray()], [[3], [4]]);
 * ```
 */
export class ClipGradByGlobalNorm extends GradClip {
  readonly #clipNorm: number;

  /** To that norm. */
  constructor(clipNorm: number) {
    super();
    this.#clipNorm = positive("ClipGradByGlobalNorm", clipNorm);
  }
  /** The clipped gradients, as new tensors. */
  override clip(grads: readonly Tensor[]): Tensor[] {
    if (grads.length === 0) return [];
    let total: Operand = 0;
    for (let i = 0; i < grads.length; i += CHUNK) {
      total = engine.call(ADD_SQUARES, [total, ...grads.slice(i, i + CHUNK)]);
    }
    const factor = engine.call(CLIP_FACTOR, [total, this.#clipNorm]);
    return grads.map((g) => mul(g, factor));
  }
}
