// What all optimizers share: parameters and groups, the learning rate, clipping, state. Not here: the
// arithmetic of an update (step_ops.ts).
import { describe } from "../core/describe.ts";
import { keepAlive, noGrad } from "../core/autograd.ts";
import { isFloat } from "../core/dtype.ts";
import { StateError, ValueError } from "../core/errors.ts";
import { expectList, expectOptions } from "../core/operands.ts";
import { sameShape, showShape } from "../core/shape.ts";
import { Tensor } from "../core/tensor.ts";
import { checkpoint } from "../core/engine/memory.ts";
import { zeros } from "../ops/mod.ts";
import { GradClip } from "./clip.ts";
import { LRScheduler, type SchedulerState } from "./lr.ts";
import { type Decay, decayOf, type WeightDecay } from "./regularizer.ts";
import { stateDType } from "./step_ops.ts";

/** A tensor to optimize, or one with the name that its state is saved under. */
export type OptimizedTensor = Tensor | readonly [name: string, parameter: Tensor];

/** Parameters with numbers of their own. */
export interface ParameterGroup {
  /** What is optimized. */
  readonly params: readonly OptimizedTensor[];
  /** Multiplies the optimizer's learning rate, as in Paddle; default 1. */
  readonly learningRate?: number;
  /** Instead of the optimizer's. */
  readonly weightDecay?: number | WeightDecay;
}

/** What every optimizer takes. */
export interface OptimizerOptions {
  /** Floating leaf tensors, as from `model.parameters()` or `model.namedParameters()`; or groups of them. */
  readonly parameters: readonly OptimizedTensor[] | readonly ParameterGroup[];
  /** A finite number of at least 0, or a scheduler; default 0.001. */
  readonly learningRate?: number | LRScheduler;
  /** A number (added to gradients as in {@linkcode L2Decay}) or a rule. */
  readonly weightDecay?: number | WeightDecay;
  /** How gradients are clipped first. */
  readonly gradClip?: GradClip;
}

/** The state of an optimizer: JSON but for the tensors in `slots`. */
export interface OptimizerState {
  /** The class it is of. */
  readonly optimizer: string;
  /** The learning rate, or that of the scheduler at the time. */
  readonly learningRate: number;
  /** The scheduler's state, if there is one. */
  readonly scheduler?: SchedulerState;
  /** How often each parameter was updated, by its name (without one: its position). */
  readonly steps: Readonly<Record<string, number>>;
  /** The states of parameters, by `name.slot`. */
  readonly slots: Readonly<Record<string, Tensor>>;
}

/** What an update of one parameter is given. */
export interface UpdateContext {
  /** The learning rate, with the group's factor. */
  readonly learningRate: number;
  /** What is added to the gradient. */
  readonly decay: Decay;
  /** Which update of this parameter it is, from 1. */
  readonly step: number;
}

interface Entry {
  readonly name: string;
  readonly parameter: Tensor;
  readonly learningRate: number;
  readonly decay: Decay;
  step: number;
  slots: readonly Tensor[];
}

function checkRate(what: string, value: number): number {
  if (Number.isFinite(value) && value >= 0) return value;
  throw new ValueError(
    `Cannot optimize with ${what} ${describe(value)}: it must be a finite number of at least 0`,
  );
}

/** Throws unless a number lies between two bounds; the upper is not included. */
export function checkRange(
  name: string,
  values: Readonly<Record<string, number>>,
  high: number,
): void {
  for (const [what, x] of Object.entries(values)) {
    if (x >= 0 && x < high) continue;
    const rule = high === Infinity
      ? "a finite number of at least 0"
      : `in 0 … ${high}, ${high} excluded`;
    throw new ValueError(`Cannot make ${name} with ${what} ${x}: it must be ${rule}`);
  }
}

function isGroup(each: OptimizedTensor | ParameterGroup): each is ParameterGroup {
  return !(each instanceof Tensor) && !Array.isArray(each);
}

/**
 * Changes parameters by their gradients. Extend it for an optimizer of your own: say which state tensors a
 * parameter has, and how one is updated.
 *
 * Parameters without a gradient, and those that do not require one, are left as they are.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { optim, sign, type Tensor, tensor } from "../mod.ts";
 *
 * class SignDescent extends optim.Optimizer {
 *   readonly slotNames = [];
 *   update(p: Tensor, g: Tensor, _slots: readonly Tensor[], { learningRate }: optim.UpdateContext) {
 *     p.sub_(sign(g).mul(learningRate));
 *   }
 * }
 * const p = tensor([1, 2], { requiresGrad: true });
 * p.mul(p).sum().backward();
 * await new SignDescent({ parameters: [p], learningRate: 0.5 }).step();
 * assertEquals(await p.toArray(), [0.5, 1.5]);
 * ```
 */
export abstract class Optimizer {
  readonly #entries: readonly Entry[];
  readonly #gradClip: GradClip | undefined;
  #learningRate: number | LRScheduler;

  /**
   * @throws {ValueError} if there are no parameters, one is given twice, is no floating leaf, or a number
   * is out of range.
   */
  constructor(options: OptimizerOptions) {
    expectOptions(`make the optimizer ${this.constructor.name}`, options);
    const { learningRate = 0.001, weightDecay, gradClip } = options;
    if (!(learningRate instanceof LRScheduler)) checkRate("learningRate", learningRate);
    if (gradClip !== undefined && !(gradClip instanceof GradClip)) {
      throw new ValueError(
        `${this.#called()} with gradClip ${describe(gradClip)}: it must be a GradClip such as ` +
          "new ClipGradByGlobalNorm(1)",
      );
    }
    this.#learningRate = learningRate;
    this.#gradClip = gradClip;
    const entries: Entry[] = [];
    const add = (each: OptimizedTensor, group: Omit<ParameterGroup, "params">): void => {
      const [name, parameter] = each instanceof Tensor
        ? [String(entries.length), each]
        : expectList(`make the optimizer ${this.constructor.name}`, "a named parameter", each);
      if (typeof name !== "string" || !(parameter instanceof Tensor)) {
        throw new ValueError(
          `${this.#called()}: a named parameter is [name, tensor]: got [${describe(name)}, ` +
            `${describe(parameter)}]`,
        );
      }
      entries.push({
        name,
        parameter,
        learningRate: checkRate("a group's learningRate", group.learningRate ?? 1),
        decay: decayOf(group.weightDecay ?? weightDecay),
        step: 0,
        slots: [],
      });
    };
    if (!Array.isArray(options.parameters)) {
      throw new ValueError(
        `${this.#called()}: parameters must be an array; pass {parameters: model.parameters()}`,
      );
    }
    for (const each of options.parameters) {
      if (!isGroup(each)) add(each, {});
      else {
        const call = `make the optimizer ${this.constructor.name}`;
        expectOptions(call, each);
        for (const one of expectList(call, "params of a group", each.params)) add(one, each);
      }
    }
    this.#entries = entries;
    this.#checkEntries();
  }

  #called(): string {
    return `Cannot make the optimizer ${this.constructor.name}`;
  }

  #checkEntries(): void {
    const called = this.#called();
    if (this.#entries.length === 0) {
      throw new ValueError(
        `${called} without parameters: pass {parameters: model.parameters()}; parameters in #private ` +
          "fields are not found",
      );
    }
    const parameters = new Set<Tensor>();
    const names = new Set<string>();
    for (const { name, parameter } of this.#entries) {
      const what = `${called} with parameter "${name}" of shape ${showShape(parameter.shape)}`;
      if (parameters.has(parameter)) throw new ValueError(`${what}: it is given twice`);
      if (names.has(name)) throw new ValueError(`${what}: another has the same name`);
      if (!isFloat(parameter.dtype) || !parameter.isLeaf) {
        throw new ValueError(
          `${what}: it must be a leaf (made by the user, not by an op) of a floating dtype: ` +
            `got ${parameter.isLeaf ? parameter.dtype : "the result of an op"}`,
        );
      }
      parameters.add(parameter);
      names.add(name);
    }
  }

  /** The names of the state tensors of a parameter; each has its shape and begins with zeros. */
  abstract readonly slotNames: readonly string[];

  /** Changes a parameter and its state tensors in place; nothing is recorded meanwhile. */
  abstract update(
    parameter: Tensor,
    grad: Tensor,
    slots: readonly Tensor[],
    context: UpdateContext,
  ): void;

  /**
   * Updates all parameters that have a gradient. The update is done when the call returns; awaiting it
   * is what lets memory be given back, so do that in every loop.
   *
   * @throws {ValueError} if the learning rate is negative or not finite.
   * @throws {StateError} if a parameter has changed its dtype or place since its state was made.
   */
  async step(): Promise<void> {
    noGrad(() => this.#update());
    await checkpoint();
  }

  #update(): void {
    const rate = checkRate("learningRate", this.getLr());
    const ready: Entry[] = [];
    const grads: Tensor[] = [];
    for (const entry of this.#entries) {
      const { grad, requiresGrad } = entry.parameter;
      if (grad === null || !requiresGrad) continue;
      ready.push(entry);
      grads.push(grad);
    }
    const clipped = this.#gradClip?.clip(grads) ?? grads;
    ready.forEach((entry, i) => {
      const slots = this.#slotsOf(entry);
      const { parameter, decay } = entry;
      const step = entry.step + 1;
      this.update(parameter, clipped[i], slots, {
        learningRate: rate * entry.learningRate,
        decay,
        step,
      });
      entry.step = step;
      // Clipped gradients are of no further use to anyone.
      if (clipped[i] !== grads[i]) clipped[i].dispose();
    });
  }

  #slotsOf(entry: Entry): readonly Tensor[] {
    const { parameter, name } = entry;
    const { place, shape } = parameter;
    const dtype = stateDType(parameter);
    if (entry.slots.length === 0) {
      entry.slots = this.slotNames.map(() => {
        const slot = zeros(shape, { dtype, place });
        keepAlive(slot);
        return slot;
      });
    }
    for (const slot of entry.slots) {
      if (slot.place === place && slot.dtype === dtype) continue;
      throw new StateError(
        `Cannot step: parameter "${name}" is ${parameter.dtype} on ${place}, but its state was made as ` +
          `${slot.dtype} on ${slot.place}; make the optimizer after the model is converted or moved`,
      );
    }
    return entry.slots;
  }

  /** Clears the gradients of all parameters. */
  clearGrad(): void {
    for (const { parameter } of this.#entries) parameter.grad = null;
  }

  /** The same as `clearGrad`, PyTorch's word. */
  zeroGrad(): void {
    this.clearGrad();
  }

  /** The learning rate now, without the factors of groups. */
  getLr(): number {
    return typeof this.#learningRate === "number" ? this.#learningRate : this.#learningRate.lastLr;
  }

  /**
   * Changes the learning rate.
   *
   * @throws {ValueError} if it is negative or not finite, or the optimizer has a scheduler.
   */
  setLr(learningRate: number): void {
    if (this.#learningRate instanceof LRScheduler) {
      throw new ValueError(
        `Cannot setLr to ${learningRate}: the learning rate comes from a ${this.#learningRate.constructor.name}; ` +
          "step the scheduler, or make the optimizer with a number",
      );
    }
    this.#learningRate = checkRate("learningRate", learningRate);
  }

  /**
   * Step counts and state tensors (views of the live ones, so save or clone them before training goes on), with
   * the learning rate and the scheduler's state.
   *
   * @example
   * ```ts
   * import { assertEquals } from "jsr:@std/assert@1";
   * import { nn, ones, optim } from "../mod.ts";
   *
   * const model = new nn.Linear(2, 1);
   * const parameters = model.namedParameters();
   * const optimizer = new optim.Momentum({ parameters, learningRate: 0.1 });
   * model.call(ones([1, 2])).sum().backward();
   * await optimizer.step();
   * const { slots, ...rest } = optimizer.stateDict();
   * assertEquals(Object.keys(slots), ["weight.velocity", "bias.velocity"]);
   * assertEquals(rest, {
   *   optimizer: "Momentum",
   *   learningRate: 0.1,
   *   steps: { weight: 1, bias: 1 },
   * });
   *
   * const other = new optim.Momentum({ parameters: model.namedParameters() });
   * other.setStateDict({ slots, ...rest });
   * assertEquals(other.getLr(), 0.1);
   * ```
   */
  stateDict(): OptimizerState {
    const steps: Record<string, number> = {};
    const slots: Record<string, Tensor> = {};
    for (const entry of this.#entries) {
      if (entry.step === 0) continue;
      steps[entry.name] = entry.step;
      entry.slots.forEach((slot, i) => {
        slots[`${entry.name}.${this.slotNames[i]}`] = slot.detach();
      });
    }
    const scheduler = this.#learningRate instanceof LRScheduler
      ? { scheduler: this.#learningRate.stateDict() }
      : {};
    return {
      optimizer: this.constructor.name,
      learningRate: this.getLr(),
      ...scheduler,
      steps,
      slots,
    };
  }

  /**
   * Takes up a state of `stateDict()`, copying its tensors. All is checked before anything is changed;
   * parameters that it does not name start anew.
   *
   * @throws {StateError} if it is of another class, names parameters that are not here, or a tensor is
   * missing or has another shape; if it has a scheduler's state and this optimizer has no scheduler.
   */
  setStateDict(state: OptimizerState): void {
    const fail = (reason: string): never => {
      throw new StateError(`Cannot setStateDict of ${this.constructor.name}: ${reason}`);
    };
    if (typeof state !== "object" || state === null) fail(`it is ${describe(state)}`);
    if (state.optimizer !== this.constructor.name) fail(`it is the state of ${state.optimizer}`);
    const known = new Map(this.#entries.map((entry) => [entry.name, entry]));
    const unknown = Object.keys(state.steps).filter((name) => !known.has(name));
    if (unknown.length > 0) fail(`there are no parameters ${unknown.join(", ")}`);
    const expected = new Map<string, Entry>();
    for (const [name, step] of Object.entries(state.steps)) {
      if (!Number.isInteger(step) || step < 1) fail(`the steps of ${name} are ${step}`);
      for (const slot of this.slotNames) expected.set(`${name}.${slot}`, known.get(name)!);
    }
    const extra = Object.keys(state.slots).filter((key) => !expected.has(key));
    if (extra.length > 0) fail(`slots ${extra.join(", ")} belong to no parameter that was updated`);
    for (const [key, { parameter }] of expected) {
      const value = state.slots[key];
      if (value === undefined) fail(`slot ${key} is missing`);
      if (!sameShape(value.shape, parameter.shape)) {
        fail(
          `slot ${key} has shape ${showShape(value.shape)}, its parameter ${
            showShape(parameter.shape)
          }`,
        );
      }
    }
    const scheduler = this.#learningRate;
    if (scheduler instanceof LRScheduler) {
      if (state.scheduler !== undefined) scheduler.setStateDict(state.scheduler);
    } else if (state.scheduler !== undefined) {
      fail("it has a scheduler's state, but learningRate is a number here");
    } else this.setLr(state.learningRate);
    for (const entry of this.#entries) {
      entry.step = state.steps[entry.name] ?? 0;
      entry.slots = [];
      if (entry.step === 0) continue;
      const slots = this.#slotsOf(entry);
      noGrad(() => {
        slots.forEach((slot, i) => {
          slot.copy_(state.slots[`${entry.name}.${this.slotNames[i]}`].to(slot.place));
        });
      });
    }
  }
}
