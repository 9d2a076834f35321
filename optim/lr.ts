/**
 * Learning rate schedules. Each is a pure function of the step, by Paddle's formulas; a scheduler is that
 * function and a counter, so the counter alone is its state. Call `step()` after `optimizer.step()`, once
 * an epoch or once a batch, as the numbers of the schedule are meant. Deliberately not here: schedules
 * that look at losses.
 *
 * @module
 */

import { expectList, expectOptions } from "../core/operands.ts";
import { describe } from "../core/describe.ts";
import { StateError, ValueError } from "../core/errors.ts";

/** The state of a scheduler, ready for JSON. */
export interface SchedulerState {
  /** How many times `step()` was called. */
  readonly lastEpoch: number;
  /** The learning rate there, to look at. */
  readonly lastLr: number;
}

function check(
  what: string,
  value: number,
  rule: "finite" | "rate" | "positive" | "count" | "size",
): number {
  const whole = Number.isInteger(value);
  const [holds, text] = {
    finite: [Number.isFinite(value), "a finite number"],
    rate: [Number.isFinite(value) && value >= 0, "a finite number of at least 0"],
    positive: [Number.isFinite(value) && value > 0, "a finite number above 0"],
    count: [whole && value >= 0, "a whole number of at least 0"],
    size: [whole && value > 0, "a whole number of at least 1"],
  }[rule] as [boolean, string];
  if (!holds) {
    throw new ValueError(
      `Cannot make a scheduler with ${what} ${describe(value)}: it must be ${text}`,
    );
  }
  return value;
}

/**
 * A learning rate that changes. Extend it and write `rateAt` for a schedule of your own.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, optim } from "../mod.ts";
 *
 * class Halves extends optim.lr.LRScheduler {
 *   rateAt(step: number): number {
 *     return this.baseLr * 0.5 ** step;
 *   }
 * }
 * const learningRate = new Halves(0.8);
 * const parameters = new nn.Linear(1, 1).parameters();
 * const optimizer = new optim.SGD({ parameters, learningRate });
 * learningRate.step();
 * assertEquals(optimizer.getLr(), 0.4);
 * ```
 */
export abstract class LRScheduler {
  /** The rate that the schedule starts from. */
  readonly baseLr: number;
  #step = 0;

  /** From a finite rate of at least 0. */
  constructor(learningRate: number) {
    this.baseLr = check("learningRate", learningRate, "rate");
  }

  /** The rate at a step, 0 being the first; it must depend on nothing else that changes. */
  abstract rateAt(step: number): number;

  /** How many steps have been made. */
  get lastEpoch(): number {
    return this.#step;
  }

  /**
   * The rate for the coming optimizer step.
   *
   * @throws {ValueError} if the schedule gives a rate that is negative or not finite.
   */
  get lastLr(): number {
    const rate = this.rateAt(this.#step);
    if (Number.isFinite(rate) && rate >= 0) return rate;
    throw new ValueError(
      `Cannot use the learning rate ${rate} that ${this.constructor.name} gives at step ${this.#step}: ` +
        "it must be a finite number of at least 0",
    );
  }

  /** The same as `lastLr`. */
  getLr(): number {
    return this.lastLr;
  }

  /** Goes to the next step, or to the given one. */
  step(epoch?: number): void {
    this.#step = epoch === undefined ? this.#step + 1 : check("epoch", epoch, "count");
  }

  /** The state, as a plain object that survives JSON. */
  stateDict(): SchedulerState {
    return { lastEpoch: this.#step, lastLr: this.lastLr };
  }

  /** Takes up a state of `stateDict()`. Throws a `StateError` if it is none. */
  setStateDict(state: SchedulerState): void {
    const step = state?.lastEpoch;
    if (!Number.isInteger(step) || step < 0) {
      throw new StateError(
        `Cannot setStateDict of ${this.constructor.name}: lastEpoch must be a whole number of at least 0: ` +
          `got ${step}`,
      );
    }
    this.#step = step;
  }
}

/**
 * learningRate · gamma^⌊t / stepSize⌋.
 *
 * @throws {ValueError} if stepSize is not a positive whole number, or another number is out of range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { optim } from "../mod.ts";
 *
 * const schedule = new optim.lr.StepDecay(0.8, 2, { gamma: 0.5 });
 * assertEquals([0, 1, 2, 3, 4].map((t) => schedule.rateAt(t)), [0.8, 0.8, 0.4, 0.4, 0.2]);
 * ```
 */
export class StepDecay extends LRScheduler {
  readonly #stepSize: number;
  readonly #gamma: number;

  /** `gamma`: default 0.1. */
  constructor(learningRate: number, stepSize: number, options: { readonly gamma?: number } = {}) {
    super(learningRate);
    expectOptions("make a StepDecay", options);
    this.#stepSize = check("stepSize", stepSize, "size");
    this.#gamma = check("gamma", options.gamma ?? 0.1, "rate");
  }
  /** The rate at a step, 0 being the first. */
  override rateAt(step: number): number {
    return this.baseLr * this.#gamma ** Math.floor(step / this.#stepSize);
  }
}

/**
 * learningRate · gamma^(how many milestones have been reached).
 *
 * @throws {ValueError} if the milestones are not ascending whole numbers, or another number is out of range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { optim } from "../mod.ts";
 *
 * const schedule = new optim.lr.MultiStepDecay(0.8, [1, 3], { gamma: 0.5 });
 * assertEquals([0, 1, 2, 3].map((t) => schedule.rateAt(t)), [0.8, 0.4, 0.4, 0.2]);
 * ```
 */
export class MultiStepDecay extends LRScheduler {
  readonly #milestones: readonly number[];
  readonly #gamma: number;

  /** `gamma`: default 0.1. */
  constructor(
    learningRate: number,
    milestones: readonly number[],
    options: { readonly gamma?: number } = {},
  ) {
    super(learningRate);
    expectOptions("make a MultiStepDecay", options);
    expectList("make a MultiStepDecay", "milestones", milestones);
    for (const [i, t] of milestones.entries()) {
      check("milestone", t, "count");
      if (i > 0 && t <= milestones[i - 1]) {
        throw new ValueError(
          `Cannot make a MultiStepDecay with milestones [${
            milestones.join(", ")
          }]: they must ascend`,
        );
      }
    }
    this.#milestones = [...milestones];
    this.#gamma = check("gamma", options.gamma ?? 0.1, "rate");
  }
  /** The rate at a step, 0 being the first. */
  override rateAt(step: number): number {
    return this.baseLr * this.#gamma ** this.#milestones.filter((t) => t <= step).length;
  }
}

/**
 * learningRate · gamma^t.
 *
 * @throws {ValueError} if a number is negative or not finite.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { optim } from "../mod.ts";
 *
 * assertEquals(new optim.lr.ExponentialDecay(0.8, 0.5).rateAt(3), 0.1);
 * ```
 */
export class ExponentialDecay extends LRScheduler {
  readonly #gamma: number;

  /** With the factor of each step. */
  constructor(learningRate: number, gamma: number) {
    super(learningRate);
    this.#gamma = check("gamma", gamma, "rate");
  }
  /** The rate at a step, 0 being the first. */
  override rateAt(step: number): number {
    return this.baseLr * this.#gamma ** step;
  }
}

/** Options of {@linkcode PolynomialDecay}. */
export interface PolynomialDecayOptions {
  /** The rate at the end; default 0.0001. */
  readonly endLr?: number;
  /** The exponent; default 1. */
  readonly power?: number;
  /** Whether to start again, each time with a decay as long as all before; default false. */
  readonly cycle?: boolean;
}

/**
 * endLr + (learningRate - endLr) · (1 - t / decaySteps)^power, then endLr.
 *
 * @throws {ValueError} if a number is out of range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { optim } from "../mod.ts";
 *
 * const schedule = new optim.lr.PolynomialDecay(1, 4, { endLr: 0 });
 * assertEquals([0, 1, 4, 9].map((t) => schedule.rateAt(t)), [1, 0.75, 0, 0]);
 * ```
 */
export class PolynomialDecay extends LRScheduler {
  readonly #decaySteps: number;
  readonly #endLr: number;
  readonly #power: number;
  readonly #cycle: boolean;

  /** Over `decaySteps` steps. */
  constructor(learningRate: number, decaySteps: number, options: PolynomialDecayOptions = {}) {
    super(learningRate);
    expectOptions("make a PolynomialDecay", options);
    this.#decaySteps = check("decaySteps", decaySteps, "size");
    this.#endLr = check("endLr", options.endLr ?? 0.0001, "rate");
    this.#power = check("power", options.power ?? 1, "positive");
    this.#cycle = options.cycle ?? false;
  }
  /** The rate at a step, 0 being the first. */
  override rateAt(step: number): number {
    const rounds = this.#cycle ? Math.max(1, Math.ceil(step / this.#decaySteps)) : 1;
    const length = this.#decaySteps * rounds;
    const done = Math.min(step, length) / length;
    return this.#endLr + (this.baseLr - this.#endLr) * (1 - done) ** this.#power;
  }
}

/**
 * etaMin + (learningRate - etaMin) · (1 + cos(π t / tMax)) / 2 (Loshchilov & Hutter 2016, without
 * restarts); it goes on past tMax, rising again.
 *
 * @throws {ValueError} if tMax is not a positive whole number, or another number is out of range.
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { optim } from "../mod.ts";
 *
 * const schedule = new optim.lr.CosineAnnealingDecay(0.8, 10);
 * assertAlmostEquals(schedule.rateAt(5), 0.4, 1e-12);
 * ```
 */
export class CosineAnnealingDecay extends LRScheduler {
  readonly #tMax: number;
  readonly #etaMin: number;

  /** `tMax`: the step of the lowest rate, `etaMin` (default 0). */
  constructor(learningRate: number, tMax: number, options: { readonly etaMin?: number } = {}) {
    super(learningRate);
    expectOptions("make a CosineAnnealingDecay", options);
    this.#tMax = check("tMax", tMax, "size");
    this.#etaMin = check("etaMin", options.etaMin ?? 0, "rate");
  }
  /** The rate at a step, 0 being the first. */
  override rateAt(step: number): number {
    const share = (1 + Math.cos(Math.PI * step / this.#tMax)) / 2;
    return this.#etaMin + (this.baseLr - this.#etaMin) * share;
  }
}

/**
 * learningRate · fn(t).
 *
 * @throws {ValueError} when used, if the product is negative or not finite.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { optim } from "../mod.ts";
 *
 * assertEquals(new optim.lr.LambdaDecay(0.8, (t) => 1 / (t + 1)).rateAt(3), 0.2);
 * ```
 */
export class LambdaDecay extends LRScheduler {
  readonly #fn: (step: number) => number;

  /** With the factor at each step. */
  constructor(learningRate: number, fn: (step: number) => number) {
    super(learningRate);
    if (typeof fn !== "function") {
      throw new ValueError(
        `Cannot make a LambdaDecay with ${describe(fn)}: it takes the function from step to factor`,
      );
    }
    this.#fn = fn;
  }
  /** The rate at a step, 0 being the first. */
  override rateAt(step: number): number {
    return this.baseLr * this.#fn(step);
  }
}

/**
 * A straight rise from startLr to endLr, then another schedule (whose own step 0 is the first after the
 * rise) or a constant.
 *
 * @throws {ValueError} if a number is out of range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { optim } from "../mod.ts";
 *
 * const after = new optim.lr.StepDecay(1, 1, { gamma: 0.5 });
 * const schedule = new optim.lr.LinearWarmup(after, 2, { startLr: 0, endLr: 1 });
 * assertEquals([0, 1, 2, 3].map((t) => schedule.rateAt(t)), [0, 0.5, 1, 0.5]);
 * ```
 */
export class LinearWarmup extends LRScheduler {
  readonly #after: number | LRScheduler;
  readonly #warmupSteps: number;
  readonly #startLr: number;
  readonly #endLr: number;

  /** Over `warmupSteps` steps; the given schedule is read, not stepped. */
  constructor(
    learningRate: number | LRScheduler,
    warmupSteps: number,
    options: { readonly startLr: number; readonly endLr: number },
  ) {
    super(learningRate instanceof LRScheduler ? learningRate.baseLr : learningRate);
    expectOptions("make a LinearWarmup", options);
    this.#after = learningRate;
    this.#warmupSteps = check("warmupSteps", warmupSteps, "count");
    this.#startLr = check("startLr", options.startLr, "rate");
    this.#endLr = check("endLr", options.endLr, "rate");
  }
  /** The rate at a step, 0 being the first. */
  override rateAt(step: number): number {
    if (step < this.#warmupSteps) {
      return this.#startLr + (this.#endLr - this.#startLr) * step / this.#warmupSteps;
    }
    const after = this.#after;
    return typeof after === "number" ? after : after.rateAt(step - this.#warmupSteps);
  }
}
