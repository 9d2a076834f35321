// Cells of recurrent networks, called step by step. Not here: formulas (ops/recurrent_cells.ts), layers that run
// over time (recurrent.ts).
import type { DType } from "../core/dtype.ts";
import { ShapeError, ValueError } from "../core/errors.ts";
import { expectOptions, expectTensors } from "../core/operands.ts";
import { showShape } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { zeros } from "../ops/mod.ts";
import { type CellName, cellShape, recurrentStep } from "../ops/recurrent.ts";
import { checkSizes } from "./basic.ts";
import * as F from "./functional.ts";
import { type Initializer, Uniform } from "./initializer.ts";
import { Layer } from "./layer.ts";
import type { Parameter } from "./parameter.ts";
import { fields } from "./print.ts";

/** Hidden state and cell state of an LSTM. */
export type LSTMStates = readonly [h: Tensor, c: Tensor];

/** What the parameters of a recurrent layer or cell are like. */
export interface RecurrentWeightOptions {
  /** Whether there are biases; default true. */
  readonly bias?: boolean;
  /** First values of the weights; default uniforms within ±1 / √hiddenSize. */
  readonly weightInit?: Initializer;
  /** First values of the biases; default uniforms within ±1 / √hiddenSize. */
  readonly biasInit?: Initializer;
  /** Dtype of the parameters; default: the default dtype. */
  readonly dtype?: DType;
}

/** Options of {@linkcode SimpleRNNCell}. */
export interface SimpleRNNCellOptions extends RecurrentWeightOptions {
  /** "tanh" (default) or "relu". */
  readonly activation?: "tanh" | "relu";
}

/** The activation, checked. */
export function activationOf(layer: string, activation: "tanh" | "relu" = "tanh"): CellName {
  if (activation === "tanh" || activation === "relu") return activation;
  throw new ValueError(
    `Cannot make a ${layer} with activation "${activation}": it must be "tanh" or "relu"`,
  );
}

/** Parameters of one cell. */
export interface CellParameters {
  readonly weightIh: Parameter;
  readonly weightHh: Parameter;
  readonly biasIh: Parameter | null;
  readonly biasHh: Parameter | null;
}

/** Makes the parameters of a cell for a layer. */
export function cellParameters(
  owner: Layer<never, unknown>,
  cell: CellName,
  [inputSize, hiddenSize]: readonly [number, number],
  { bias = true, weightInit, biasInit, dtype }: RecurrentWeightOptions,
): CellParameters {
  const rows = cellShape(cell).gates * hiddenSize;
  const bound = 1 / Math.sqrt(hiddenSize);
  const usual = new Uniform({ low: -bound, high: bound });
  const weight = (columns: number) =>
    owner.createParameter([rows, columns], { initializer: weightInit ?? usual, dtype });
  const vector = () => owner.createParameter([rows], { initializer: biasInit ?? usual, dtype });
  return {
    weightIh: weight(inputSize),
    weightHh: weight(hiddenSize),
    biasIh: bias ? vector() : null,
    biasHh: bias ? vector() : null,
  };
}

/** What inputs add to the gates, and the bias that only the step itself can add. */
export function projected(
  cell: CellName,
  x: Tensor,
  { weightIh, biasIh, biasHh }: CellParameters,
): { readonly x: Tensor; readonly bias?: Tensor } {
  const weight = weightIh.transpose(0, 1);
  if (biasIh === null || biasHh === null) return { x: F.linear(x, weight) };
  // A GRU resets a part of the product with the hidden state, its bias included.
  if (cellShape(cell).apart) return { x: F.linear(x, weight, biasIh), bias: biasHh };
  return { x: F.linear(x, weight, biasIh.add(biasHh)) };
}

/** Zeros like the states of a cell. */
export function zeroStates(cell: CellName, shape: readonly number[], like: Tensor): Tensor[] {
  const { dtype, place } = like;
  return Array.from({ length: cellShape(cell).states }, () => zeros(shape, { dtype, place }));
}

/** Throws unless there are as many states as the cell has. */
export function expectStates(call: string, cell: CellName, states: readonly Tensor[]): void {
  const count = cellShape(cell).states;
  if (!Array.isArray(states) || states.length !== count) {
    throw new ValueError(`Cannot ${call}: the states must be ${count === 1 ? "h" : "[h, c]"}`);
  }
  expectTensors(call, ...states);
}

/** A cell with its parameters. */
abstract class Cell<States, Out> extends Layer<[Tensor, States?], Out> {
  /** [gates · hiddenSize, inputSize]. */
  weightIh: Parameter;
  /** [gates · hiddenSize, hiddenSize]. */
  weightHh: Parameter;
  /** [gates · hiddenSize], or null. */
  biasIh: Parameter | null;
  /** [gates · hiddenSize], or null. */
  biasHh: Parameter | null;
  readonly #cell: CellName;

  constructor(
    [name, cell]: readonly [string, CellName],
    inputSize: number,
    hiddenSize: number,
    options: RecurrentWeightOptions,
  ) {
    super();
    expectOptions(`make a ${name}`, options);
    checkSizes(name, { inputSize, hiddenSize });
    this.#cell = cell;
    const made = cellParameters(this, cell, [inputSize, hiddenSize], options);
    this.weightIh = made.weightIh;
    this.weightHh = made.weightHh;
    this.biasIh = made.biasIh;
    this.biasHh = made.biasHh;
  }

  /** New states from old ones. */
  protected step(x: Tensor, states: readonly Tensor[] | undefined): Tensor[] {
    const [inputSize, hiddenSize] = [this.weightIh.shape[1], this.weightHh.shape[1]];
    expectTensors(this.constructor.name, x);
    if (states !== undefined) expectStates(this.constructor.name, this.#cell, states);
    const call = `Cannot ${this.constructor.name} on ${showShape(x.shape)}`;
    if (x.rank !== 2 || x.shape[1] !== inputSize) {
      throw new ShapeError(`${call}: the input must be [batch, ${inputSize}]`);
    }
    const shape = [x.shape[0], hiddenSize];
    for (const state of states ?? []) {
      if (state.rank === 2 && state.shape[0] === shape[0] && state.shape[1] === hiddenSize) {
        continue;
      }
      throw new ShapeError(
        `${call} with a state of shape ${showShape(state.shape)}: it must be ${showShape(shape)}`,
      );
    }
    const cell = this.#cell;
    const before = states ?? zeroStates(cell, shape, this.weightHh);
    const { x: gates, bias } = projected(cell, x, this);
    return recurrentStep(gates, this.weightHh, before, { cell, bias });
  }

  /** The options, for printing. */
  override extraRepr(): string {
    const [inputSize, hiddenSize] = [this.weightIh.shape[1], this.weightHh.shape[1]];
    return fields({
      inputSize,
      hiddenSize,
      activation: this.#cell === "relu" ? "relu" : undefined,
      bias: this.biasIh === null ? false : undefined,
    });
  }
}

/**
 * One step of a simple recurrent network (Elman 1990): h' = tanh(W_ih x + b_ih + W_hh h + b_hh).
 *
 * Called with x [batch, inputSize] and, if it is not the first step, h [batch, hiddenSize]; gives h' twice, as
 * output and as state.
 *
 * @throws {ValueError} if a size is not a positive whole number, or there is no such activation.
 * @throws {ShapeError} when called, if a shape does not fit.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const cell = new nn.SimpleRNNCell(1, 1, { activation: "relu", bias: false });
 * cell.setStateDict({ weightIh: tensor([[2]]), weightHh: tensor([[10]]) });
 * const [, h] = cell.call(tensor([[1]]));
 * const [out] = cell.call(tensor([[3]]), h);
 * assertEquals(await out.toArray(), [[26]]);
 * ```
 */
export class SimpleRNNCell extends Cell<Tensor, [out: Tensor, h: Tensor]> {
  /** From `inputSize` values to `hiddenSize`. */
  constructor(inputSize: number, hiddenSize: number, options: SimpleRNNCellOptions = {}) {
    const cell = activationOf("SimpleRNNCell", options?.activation);
    super(["SimpleRNNCell", cell], inputSize, hiddenSize, options);
  }
  /** One step. */
  override forward(x: Tensor, h?: Tensor): [out: Tensor, h: Tensor] {
    const [next] = this.step(x, h && [h]);
    return [next, next];
  }
}

/**
 * One step of a long short-term memory (Hochreiter & Schmidhuber 1997) with forget gates. The rows of the
 * weights are those of the input gate, the forget gate, the cell and the output gate, as in Paddle and
 * PyTorch.
 *
 * Called with x [batch, inputSize] and, if it is not the first step, states [h, c], both [batch, hiddenSize];
 * gives the output, which is the new h, and the new states.
 *
 * @throws {ValueError} if a size is not a positive whole number.
 * @throws {ShapeError} when called, if a shape does not fit.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, randn, type Tensor } from "../mod.ts";
 *
 * const cell = new nn.LSTMCell(3, 5);
 * let states: nn.LSTMStates | undefined;
 * let out: Tensor | undefined;
 * for (let t = 0; t < 4; t++) [out, states] = cell.call(randn([2, 3]), states);
 * assertEquals(out?.shape, [2, 5]);
 * assertEquals(cell.namedParameters().map(([name, p]) => [name, p.shape]), [
 *   ["weightIh", [20, 3]],
 *   ["weightHh", [20, 5]],
 *   ["biasIh", [20]],
 *   ["biasHh", [20]],
 * ]);
 * ```
 */
export class LSTMCell extends Cell<LSTMStates, [out: Tensor, states: LSTMStates]> {
  /** From `inputSize` values to `hiddenSize`. */
  constructor(inputSize: number, hiddenSize: number, options: RecurrentWeightOptions = {}) {
    super(["LSTMCell", "lstm"], inputSize, hiddenSize, options);
  }
  /** One step. */
  override forward(x: Tensor, states?: LSTMStates): [out: Tensor, states: LSTMStates] {
    const [h, c] = this.step(x, states);
    return [h, [h, c]];
  }
}

/**
 * One step of a gated recurrent unit (Cho et al. 2014): h' = z h + (1 - z) tanh(W x + b + r (U h + b')), with
 * the reset gate r behind the product. The rows of the weights are those of the reset gate, the update gate z
 * and the new state, as in Paddle and PyTorch.
 *
 * Called with x [batch, inputSize] and, if it is not the first step, h [batch, hiddenSize]; gives h' twice, as
 * output and as state.
 *
 * @throws {ValueError} if a size is not a positive whole number.
 * @throws {ShapeError} when called, if a shape does not fit.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, randn } from "../mod.ts";
 *
 * const cell = new nn.GRUCell(3, 5);
 * const [, h] = cell.call(randn([2, 3]));
 * const [out] = cell.call(randn([2, 3]), h);
 * assertEquals([out.shape, cell.weightHh.shape], [[2, 5], [15, 5]]);
 * ```
 */
export class GRUCell extends Cell<Tensor, [out: Tensor, h: Tensor]> {
  /** From `inputSize` values to `hiddenSize`. */
  constructor(inputSize: number, hiddenSize: number, options: RecurrentWeightOptions = {}) {
    super(["GRUCell", "gru"], inputSize, hiddenSize, options);
  }
  /** One step. */
  override forward(x: Tensor, h?: Tensor): [out: Tensor, h: Tensor] {
    const [next] = this.step(x, h && [h]);
    return [next, next];
  }
}
