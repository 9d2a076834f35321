// Recurrent networks over time. A step is a product with the hidden state and one kernel for the cell; a step
// back is the same, and the gradient of the weight is one product for all steps. Not public: the layers in nn
// are. Formulas of cells are in recurrent_cells.ts; the product with the inputs, which is one for all steps, is
// the caller's.
import { attach, FunctionNode, needsGrad, noGrad } from "../core/autograd.ts";
import { type Attrs, composite, engine } from "../core/op.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { contractible, MATMUL } from "./contraction.ts";
import { pullback } from "./pullback.ts";
import {
  carried,
  CELL,
  CELL_GRAD,
  type CellAttrs,
  type CellName,
  cellShape,
} from "./recurrent_cells.ts";

export { type CellName, cellShape } from "./recurrent_cells.ts";

interface StepAttrs extends CellAttrs {
  /** Whether a bias is added to the product with the hidden state. */
  readonly biased: boolean;
}

/** Takes operands off the front of a list. */
function taker(operands: readonly unknown[]): (n: number) => Tensor[] {
  let next = 0;
  return (n) => operands.slice(next, next += n) as Tensor[];
}

const BATCH = 2;
const SIZE = 3;

const STEP = composite({
  name: "recurrentStep",
  amp: "white",
  body: (operands, attrs) => {
    const { biased, ...a } = attrs as unknown as StepAttrs;
    const take = taker(operands);
    const [weight, x] = take(2);
    const states = take(cellShape(a.cell).states);
    const product = engine.call(MATMUL, [states[0], op.transpose(weight, 0, 1)]);
    const z = biased ? op.add(product, take(1)[0]) : product;
    const held = carried(a).map((state) => states[state]);
    return engine.callMany(CELL, [z, x, ...held, ...take(a.masked ? 1 : 0)], { ...a });
  },
  samples: () =>
    (["lstm", "gru", "tanh"] as const).flatMap((cell) =>
      [false, true].map((masked) => {
        const { gates, states } = cellShape(cell);
        const biased = cell === "gru";
        return {
          inputs: [
            { shape: [gates * SIZE, SIZE], range: [-1, 1] },
            { shape: [BATCH, gates * SIZE] },
            ...Array.from({ length: states }, () => ({ shape: [BATCH, SIZE] })),
            ...(biased ? [{ shape: [gates * SIZE] }] : []),
            ...(masked ? [{ values: [1, 0], shape: [BATCH, 1], dtype: "bool" as const }] : []),
          ],
          attrs: { cell, size: SIZE, masked, biased, keep: true },
        };
      })
    ),
});

interface StepBackAttrs extends CellAttrs {
  /** Whether it is the first one back: gradients of its states are given and not those of the next step. */
  readonly last: boolean;
  /** How many operands the cell's gradient reads before the gradients. */
  readonly known: number;
}

/**
 * A step back. Operands: the gradient of the output; those of the states, or of the next step's product and of
 * what it carried, with the weight between; what the cell's gradient reads; the mask.
 */
const STEP_BACK = composite({
  name: "recurrentStepBack",
  body: (operands, attrs) => {
    const { last, known, cell, size, masked } = attrs as unknown as StepBackAttrs;
    const { states } = cellShape(cell);
    const take = taker(operands);
    const [output] = take(1);
    const g = last ? take(states) : throughStep(take, { cell, masked });
    g[0] = op.add(g[0], output);
    const given = [...take(known), ...g, ...take(masked ? 1 : 0)];
    return engine.callMany(CELL_GRAD, given, { cell, size, masked, keptGrad: false });
  },
  vjp: null,
});

/** Gradients of the states that a step began with, from those of its product, the weight, and what it carried. */
function throughStep(
  take: (n: number) => Tensor[],
  a: Pick<CellAttrs, "cell" | "masked">,
): Tensor[] {
  const held = carried(a);
  const [z, weight] = take(2);
  const own = take(held.length);
  const product = engine.call(MATMUL, [z, weight]);
  return Array.from({ length: cellShape(a.cell).states }, (_, state) => {
    const at = held.indexOf(state);
    if (state > 0) return own[at];
    return at < 0 ? product : op.add(product, own[at]);
  });
}

/** What a sequence is run with. */
export interface Recurrence {
  readonly cell: CellName;
  /** From the last step to the first. */
  readonly reverse?: boolean;
  /** [gates · size], added to the product with the hidden state; the GRU's cannot be added before. */
  readonly bias?: Tensor;
  /** [time, batch], bool: where a row takes the step; elsewhere it keeps its states. */
  readonly mask?: Tensor;
}

/** All steps: hidden states [time · batch, size], the last states, and what the way back reads. */
interface Run {
  readonly hidden: Tensor;
  readonly states: readonly Tensor[];
  /** By time: what the cell kept, then the states beyond the hidden one. */
  readonly kept: readonly (readonly Tensor[])[];
}

const timesOf = (time: number, reverse: boolean | undefined): number[] =>
  Array.from({ length: time }, (_, i) => (reverse ? time - 1 - i : i));

const rowsOf = (x: Tensor, t: number, batch: number): Tensor =>
  op.slice(x, { axes: [0], starts: [t * batch], ends: [(t + 1) * batch] });

function run(
  [x, weight, ...rest]: readonly Tensor[],
  { cell, reverse, bias, mask }: Recurrence,
  keep: boolean,
): Run {
  const [time, batch, width] = x.shape;
  const count = cellShape(cell).states;
  let states = rest.slice(0, count);
  const more = rest.slice(count);
  const steps = op.reshape(x, [time * batch, width]);
  const biases = bias === undefined ? [] : [more[0]];
  const masks = mask === undefined ? null : more[more.length - 1];
  const attrs: Attrs = {
    cell,
    size: weight.shape[1],
    masked: masks !== null,
    biased: biases.length > 0,
    keep,
  };
  const hidden = new Array<Tensor>(time);
  const kept = new Array<readonly Tensor[]>(time);
  for (const t of timesOf(time, reverse)) {
    const taken = masks === null ? [] : [rowsOf(masks, t, batch)];
    const operands = [weight, rowsOf(steps, t, batch), ...states, ...biases, ...taken];
    const outs = engine.callMany(STEP, operands, attrs);
    states = outs.slice(0, count);
    hidden[t] = states[0];
    kept[t] = [...outs.slice(count), ...states.slice(1)];
  }
  const all = op.concat(hidden);
  for (const h of hidden) if (h !== states[0]) h.dispose();
  return { hidden: all, states, kept };
}

/** Gradients of the operands of `recurrent` from those of what it gives, and what a run kept. */
function runBack(
  [gHidden, ...gStates]: readonly Tensor[],
  saved: readonly Tensor[],
  { cell, reverse, bias, mask }: Recurrence,
  time: number,
  needs: readonly boolean[],
): (Tensor | null)[] {
  const { states, apart, reads, readsAfter, keeps } = cellShape(cell);
  const masked = mask !== undefined;
  const take = taker(saved);
  const [weight, hidden] = take(2);
  const first = take(states);
  const [masks] = take(masked ? 1 : 0);
  const kept = Array.from({ length: time }, () => take((keeps ? 1 : 0) + states - 1));
  const [batch, size] = first[0].shape;
  const times = timesOf(time, reverse);
  /** A state after step `t`, or before all. */
  const stateAt = (state: number, t: number | undefined): Tensor => {
    if (t === undefined) return first[state];
    return state === 0 ? rowsOf(hidden, t, batch) : kept[t][kept[t].length - states + state];
  };
  const zs = new Array<Tensor>(time);
  const xs = new Array<Tensor>(time);
  let next: readonly Tensor[] = gStates;
  for (let i = time - 1; i >= 0; i--) {
    const t = times[i];
    const known = [
      ...(keeps ? [kept[t][0]] : []),
      ...reads.map((state) => stateAt(state, times[i - 1])),
      ...readsAfter.map((state) => stateAt(state, t)),
    ];
    const operands = [
      rowsOf(gHidden, t, batch),
      ...next,
      ...known,
      ...(masked ? [rowsOf(masks, t, batch)] : []),
    ];
    const attrs = { cell, size, masked, last: i === time - 1, known: known.length };
    const [z, ...more] = engine.callMany(STEP_BACK, operands, attrs);
    zs[t] = z;
    xs[t] = apart ? more.shift()! : z;
    next = [z, weight, ...more];
  }
  const gz = op.concat(zs);
  const gx = apart ? op.concat(xs) : gz;
  const [needsX, needsWeight, ...needsRest] = needs;
  const weightGrad = (): Tensor => {
    const length = (time - 1) * batch;
    const others = op.slice(hidden, {
      axes: [0],
      starts: [reverse ? batch : 0],
      ends: [(reverse ? batch : 0) + length],
    });
    const before = op.concat(reverse ? [others, first[0]] : [first[0], others]);
    return engine.call(MATMUL, [op.transpose(gz, 0, 1), before]);
  };
  const gFirst = throughStep(taker(next), { cell, masked });
  const biased = bias !== undefined;
  return [
    needsX ? op.reshape(gx, [time, batch, gx.shape[1]]) : null,
    needsWeight ? weightGrad() : null,
    ...gFirst,
    ...(biased ? [needsRest[states] ? op.sum(gz, 0) : null] : []),
    ...(masked ? [null] : []),
  ];
}

/**
 * Runs a cell over time.
 *
 * @param x What the inputs add to the gates: [time, batch, gates · size]; at least one step.
 * @param weight [gates · size, size], of the hidden state.
 * @param states The states to begin with, [batch, size].
 * @returns The hidden state after each step, [time, batch, size], and the last states.
 */
export function recurrent(
  x: Tensor,
  weight: Tensor,
  states: readonly Tensor[],
  how: Recurrence,
): { readonly hidden: Tensor; readonly states: readonly Tensor[] } {
  const { bias, mask } = how;
  const [time, batch] = x.shape;
  const size = weight.shape[1];
  const floats = contractible(
    "run a recurrent layer on",
    ...[x, weight, ...states, ...(bias === undefined ? [] : [bias])],
  );
  const masks = mask === undefined ? [] : [op.reshape(mask, [time * batch, 1])];
  const inputs = [...floats, ...masks];
  const keep = needsGrad(inputs);
  const done = noGrad(() => run(inputs, how, keep));
  const last = done.states;
  const outs = [done.hidden, ...last];
  if (keep) {
    const needs = inputs.map((each) => each.requiresGrad);
    const first = inputs.slice(2, 2 + states.length);
    const saved = [inputs[1], done.hidden, ...first, ...masks, ...done.kept.flat()];
    const node = new FunctionNode(
      how.cell,
      inputs,
      outs,
      saved,
      (grads, kept) => runBack(grads, kept, how, time, needs),
      {
        saved: inputs,
        apply: (grads, operands) =>
          pullback(
            (xs) => {
              const again = run(xs as Tensor[], how, true);
              return [again.hidden, ...again.states];
            },
            operands,
            grads,
          ),
      },
    );
    attach(node, outs);
  }
  return { hidden: op.reshape(done.hidden, [time, batch, size]), states: last };
}

/** One step with gradients by the usual ways, for cells that are called one by one. */
export function recurrentStep(
  x: Tensor,
  weight: Tensor,
  states: readonly Tensor[],
  how: Pick<Recurrence, "cell" | "bias">,
): Tensor[] {
  const { cell, bias } = how;
  const given = [weight, x, ...states, ...(bias === undefined ? [] : [bias])];
  const operands = contractible("run a recurrent cell on", ...given);
  const attrs = {
    cell,
    size: weight.shape[1],
    masked: false,
    biased: bias !== undefined,
    keep: needsGrad(operands),
  };
  return engine.callMany(STEP, operands, attrs).slice(0, states.length);
}
