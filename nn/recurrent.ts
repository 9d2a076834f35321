// Recurrent layers that run over time: several layers, one or both directions, sequences of different lengths.
// Not here: single steps (recurrent_cell.ts), the run itself (ops/recurrent.ts).
import { isFloat } from "../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../core/errors.ts";
import { expectList, expectOptions, expectTensors } from "../core/operands.ts";
import { sameShape, showShape } from "../core/shape.ts";
import { Tensor } from "../core/tensor.ts";
import { arange, concat, lessThan, stack, tensor, where } from "../ops/mod.ts";
import { type CellName, recurrent } from "../ops/recurrent.ts";
import { checkSizes } from "./basic.ts";
import * as F from "./functional.ts";
import { Layer } from "./layer.ts";
import type { Parameter } from "./parameter.ts";
import { fields } from "./print.ts";
import {
  activationOf,
  type CellParameters,
  cellParameters,
  expectStates,
  type LSTMStates,
  projected,
  type RecurrentWeightOptions,
  zeroStates,
} from "./recurrent_cell.ts";

/** Options of the recurrent layers. */
export interface RecurrentOptions extends RecurrentWeightOptions {
  /** Layers on top of each other; default 1. */
  readonly numLayers?: number;
  /** "forward" (default), or "bidirect" (also "bidirectional"): a second cell runs from the last step to the first. */
  readonly direction?: "forward" | "bidirect" | "bidirectional";
  /** Whether inputs and outputs are [time, batch, …]; default false: [batch, time, …]. */
  readonly timeMajor?: boolean;
  /** Probability with which outputs of all layers but the last are dropped in training; default 0. */
  readonly dropout?: number;
}

/** Options of {@linkcode SimpleRNN}. */
export interface SimpleRNNOptions extends RecurrentOptions {
  /** "tanh" (default) or "relu". */
  readonly activation?: "tanh" | "relu";
}

/** Options of calling a recurrent layer. */
export interface RecurrentCallOptions {
  /**
   * The length of each sequence of the batch, [batch] of integers. Steps behind it change no state, and their
   * outputs are zeros; the second direction begins at the last step of each.
   */
  readonly sequenceLength?: Tensor | readonly number[];
}

/** What the three layers share. `States` is what they are given and give. */
abstract class RecurrentLayer<States>
  extends Layer<[Tensor, States?, RecurrentCallOptions?], [out: Tensor, states: States]> {
  /** [gates · hiddenSize, size of the layer's input]; of layer k `weightIhLk`, of its second direction `weightIhLkReverse`. */
  [name: `weightIhL${string}`]: Parameter;
  /** [gates · hiddenSize, hiddenSize]. */
  [name: `weightHhL${string}`]: Parameter;
  /** [gates · hiddenSize], or null. */
  [name: `biasIhL${string}`]: Parameter | null;
  /** [gates · hiddenSize], or null. */
  [name: `biasHhL${string}`]: Parameter | null;
  readonly #cell: CellName;
  readonly #sizes: readonly [input: number, hidden: number];
  readonly #options: Required<Omit<RecurrentOptions, keyof RecurrentWeightOptions>>;

  constructor(
    [name, cell]: readonly [string, CellName],
    sizes: readonly [input: number, hidden: number],
    options: RecurrentOptions,
  ) {
    super();
    expectOptions(`make a ${name}`, options);
    const { numLayers = 1, direction = "forward", timeMajor = false, dropout = 0 } = options;
    checkSizes(name, { inputSize: sizes[0], hiddenSize: sizes[1], numLayers });
    if (!["forward", "bidirect", "bidirectional"].includes(direction)) {
      throw new ValueError(
        `Cannot make a ${name} with direction "${direction}": it must be "forward" or "bidirect"`,
      );
    }
    if (!(dropout >= 0 && dropout <= 1)) {
      throw new ValueError(`Cannot make a ${name} with dropout ${dropout}: it must be in 0 … 1`);
    }
    this.#cell = cell;
    this.#sizes = sizes;
    this.#options = { numLayers, direction, timeMajor, dropout };
    const [inputSize, hiddenSize] = sizes;
    for (let layer = 0; layer < numLayers; layer++) {
      const size = layer === 0 ? inputSize : hiddenSize * this.#directions;
      for (let d = 0; d < this.#directions; d++) {
        const made = cellParameters(this, cell, [size, hiddenSize], options);
        const end = `L${layer}${d === 0 ? "" : "Reverse"}` as const;
        this[`weightIh${end}`] = made.weightIh;
        this[`weightHh${end}`] = made.weightHh;
        this[`biasIh${end}`] = made.biasIh;
        this[`biasHh${end}`] = made.biasHh;
      }
    }
  }

  get #directions(): number {
    return this.#options.direction === "forward" ? 1 : 2;
  }

  #parametersOf(layer: number, d: number): CellParameters {
    const end = `L${layer}${d === 0 ? "" : "Reverse"}` as const;
    return {
      weightIh: this[`weightIh${end}`],
      weightHh: this[`weightHh${end}`],
      biasIh: this[`biasIh${end}`],
      biasHh: this[`biasHh${end}`],
    };
  }

  /** Runs all layers; states are [layers · directions, batch, hiddenSize], a tensor for each state of the cell. */
  protected run(
    x: Tensor,
    initial: readonly Tensor[] | undefined,
    options: RecurrentCallOptions = {},
  ): { out: Tensor; states: Tensor[] } {
    const name = this.constructor.name;
    expectTensors(name, x);
    if (initial !== undefined) expectStates(name, this.#cell, initial);
    expectOptions(name, options);
    const { numLayers, timeMajor, dropout } = this.#options;
    const steps = this.#checked(x, initial);
    const [time, batch] = steps.shape;
    const mask = this.#mask(options.sequenceLength, time, batch, x);
    const directions = this.#directions;
    const states: Tensor[][] = [];
    let out = steps;
    for (let layer = 0; layer < numLayers; layer++) {
      const outs: Tensor[] = [];
      const input = layer > 0 && dropout > 0 && this.training
        ? F.dropout(out, { p: dropout })
        : out;
      for (let d = 0; d < directions; d++) {
        const k = layer * directions + d;
        const begin = initial?.map((state) => state.at(k));
        const done = this.#direction(input, this.#parametersOf(layer, d), begin, d === 1, mask);
        outs.push(done.out);
        states.push(done.states);
      }
      out = outs.length === 1 ? outs[0] : concat(outs, 2);
    }
    return {
      out: timeMajor ? out : out.permute([1, 0, 2]),
      states: states[0].map((_, i) => stack(states.map((each) => each[i]), 0)),
    };
  }

  #direction(
    x: Tensor,
    parameters: CellParameters,
    begin: readonly Tensor[] | undefined,
    reverse: boolean,
    mask: Tensor | undefined,
  ): { out: Tensor; states: Tensor[] } {
    const cell = this.#cell;
    const { x: gates, bias } = projected(cell, x, parameters);
    const before = begin ??
      zeroStates(cell, [x.shape[1], this.#sizes[1]], parameters.weightHh);
    const { hidden, states } = recurrent(gates, parameters.weightHh, before, {
      cell,
      reverse,
      bias,
      mask,
    });
    const out = mask === undefined ? hidden : where(mask.unsqueeze(2), hidden, 0);
    return { out, states: [...states] };
  }

  /** The input as [time, batch, inputSize]; throws if a shape does not fit. */
  #checked(x: Tensor, initial: readonly Tensor[] | undefined): Tensor {
    const { numLayers, timeMajor } = this.#options;
    const [inputSize, hiddenSize] = this.#sizes;
    const call = `Cannot ${this.constructor.name} on ${showShape(x.shape)}`;
    const layout = `[${timeMajor ? "time, batch" : "batch, time"}, ${inputSize}]`;
    if (x.rank !== 3 || x.shape[2] !== inputSize) {
      throw new ShapeError(`${call}: the input must be ${layout}`);
    }
    const steps = timeMajor ? x : x.permute([1, 0, 2]);
    if (steps.shape[0] === 0) throw new ShapeError(`${call}: there must be at least one step`);
    const shape = [numLayers * this.#directions, steps.shape[1], hiddenSize];
    for (const state of initial ?? []) {
      if (sameShape(state.shape, shape)) continue;
      throw new ShapeError(
        `${call} with initial states of shape ${showShape(state.shape)}: they must be ` +
          `[layers · directions, batch, hiddenSize], here ${showShape(shape)}`,
      );
    }
    return steps;
  }

  #mask(
    lengths: Tensor | readonly number[] | undefined,
    time: number,
    batch: number,
    { place }: Tensor,
  ): Tensor | undefined {
    if (lengths === undefined) return undefined;
    const name = this.constructor.name;
    const call = `Cannot ${name} with sequenceLength`;
    if (!(lengths instanceof Tensor)) {
      for (const n of expectList(name, "sequenceLength", lengths)) {
        if (Number.isInteger(n) && n >= 0 && n <= time) continue;
        throw new ValueError(`${call} ${n}: it must be a whole number from 0 to ${time}`);
      }
    }
    const each = lengths instanceof Tensor
      ? lengths
      : tensor([...lengths], { dtype: "int32", place });
    if (isFloat(each.dtype) || each.dtype === "bool") {
      throw new DTypeError(`${call} of ${each.dtype}: lengths must be integers`);
    }
    if (!sameShape(each.shape, [batch])) {
      throw new ShapeError(
        `${call} of shape ${
          showShape(each.shape)
        }: there must be one length for each of the ${batch} ` +
          "sequences",
      );
    }
    const times = arange(0, time, { dtype: "int32", place }).unsqueeze(1);
    return lessThan(times, each.unsqueeze(0));
  }

  /** The options, for printing. */
  override extraRepr(): string {
    const [inputSize, hiddenSize] = this.#sizes;
    const { numLayers, direction, timeMajor, dropout } = this.#options;
    return fields({
      inputSize,
      hiddenSize,
      numLayers: numLayers === 1 ? undefined : numLayers,
      direction: direction === "forward" ? undefined : direction,
      timeMajor: timeMajor || undefined,
      dropout: dropout || undefined,
      activation: this.#cell === "relu" ? "relu" : undefined,
      bias: this.biasIhL0 === null ? false : undefined,
    });
  }
}

/**
 * A simple recurrent network (Elman 1990) over time: h' = tanh(W_ih x + b_ih + W_hh h + b_hh) at each step.
 *
 * Called with x [batch, time, inputSize] ([time, batch, inputSize] if time-major) and, if they are not zeros,
 * initial states [layers · directions, batch, hiddenSize]. Gives the outputs of the last layer, [batch, time,
 * directions · hiddenSize], and the last states, of the shape of the initial ones.
 *
 * Parameters of layer k are `weightIhLk`, `weightHhLk`, `biasIhLk`, `biasHhLk`, and those of its second
 * direction end in `Reverse`.
 *
 * @throws {ValueError} if a size or an option is out of its range.
 * @throws {ShapeError} when called, if a shape does not fit.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const layer = new nn.SimpleRNN(1, 1, { activation: "relu", bias: false });
 * layer.setStateDict({ weightIhL0: tensor([[1]]), weightHhL0: tensor([[10]]) });
 * const [out, last] = layer.call(tensor([[[1], [2], [3]]]));
 * assertEquals(await out.toArray(), [[[1], [12], [123]]]);
 * assertEquals(await last.toArray(), [[[123]]]);
 * ```
 */
export class SimpleRNN extends RecurrentLayer<Tensor> {
  /** From `inputSize` values to `hiddenSize` at each step. */
  constructor(inputSize: number, hiddenSize: number, options: SimpleRNNOptions = {}) {
    const cell = activationOf("SimpleRNN", options?.activation);
    super(["SimpleRNN", cell], [inputSize, hiddenSize], options);
  }
  /** Runs over time. */
  override forward(
    x: Tensor,
    initialStates?: Tensor,
    options?: RecurrentCallOptions,
  ): [out: Tensor, states: Tensor] {
    const { out, states } = this.run(x, initialStates && [initialStates], options);
    return [out, states[0]];
  }
}

/**
 * A long short-term memory (Hochreiter & Schmidhuber 1997) over time; see {@linkcode LSTMCell} for a step.
 *
 * Called with x [batch, time, inputSize] ([time, batch, inputSize] if time-major) and, if they are not zeros,
 * initial states [h, c], both [layers · directions, batch, hiddenSize]. Gives the outputs of the last layer,
 * [batch, time, directions · hiddenSize], and the last states [h, c], of the shape of the initial ones.
 *
 * Parameters are named as those of {@linkcode SimpleRNN}.
 *
 * @throws {ValueError} if a size or an option is out of its range.
 * @throws {ShapeError} when called, if a shape does not fit.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, randn } from "../mod.ts";
 *
 * const layer = new nn.LSTM(3, 4, { numLayers: 2, direction: "bidirect" });
 * const [out, [h, c]] = layer.call(randn([2, 5, 3]), undefined, { sequenceLength: [5, 2] });
 * assertEquals([out.shape, h.shape, c.shape], [[2, 5, 8], [4, 2, 4], [4, 2, 4]]);
 * assertEquals(await out.at(1, 4).abs().sum().item(), 0);
 * assertEquals(layer.weightIhL1Reverse.shape, [16, 8]);
 * ```
 */
export class LSTM extends RecurrentLayer<LSTMStates> {
  /** From `inputSize` values to `hiddenSize` at each step. */
  constructor(inputSize: number, hiddenSize: number, options: RecurrentOptions = {}) {
    super(["LSTM", "lstm"], [inputSize, hiddenSize], options);
  }
  /** Runs over time. */
  override forward(
    x: Tensor,
    initialStates?: LSTMStates,
    options?: RecurrentCallOptions,
  ): [out: Tensor, states: LSTMStates] {
    const { out, states: [h, c] } = this.run(x, initialStates, options);
    return [out, [h, c]];
  }
}

/**
 * A gated recurrent unit (Cho et al. 2014) over time; see {@linkcode GRUCell} for a step.
 *
 * Inputs, outputs, states and parameters are as those of {@linkcode SimpleRNN}.
 *
 * @throws {ValueError} if a size or an option is out of its range.
 * @throws {ShapeError} when called, if a shape does not fit.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, randn } from "../mod.ts";
 *
 * const layer = new nn.GRU(3, 4, { timeMajor: true });
 * const [out, last] = layer.call(randn([5, 2, 3]));
 * assertEquals([out.shape, last.shape], [[5, 2, 4], [1, 2, 4]]);
 * assertEquals(await out.at(4).toArray(), await last.at(0).toArray());
 * ```
 */
export class GRU extends RecurrentLayer<Tensor> {
  /** From `inputSize` values to `hiddenSize` at each step. */
  constructor(inputSize: number, hiddenSize: number, options: RecurrentOptions = {}) {
    super(["GRU", "gru"], [inputSize, hiddenSize], options);
  }
  /** Runs over time. */
  override forward(
    x: Tensor,
    initialStates?: Tensor,
    options?: RecurrentCallOptions,
  ): [out: Tensor, states: Tensor] {
    const { out, states } = this.run(x, initialStates && [initialStates], options);
    return [out, states[0]];
  }
}
