// The cells of recurrent networks: one step of time, element by element, from products already made. Each
// cell's formulas are written once, over expressions (one kernel each way) and over tensors (gradients of
// gradients). Not public. Products and loops over time are in recurrent.ts.
import type { DType } from "../core/dtype.ts";
import * as k from "../core/ir/expr.ts";
import type { Expr } from "../core/ir/expr.ts";
import { makeKernel } from "../core/ir/kernel.ts";
import {
  allOps,
  type Attrs,
  composite,
  type ElementwiseOp,
  engine,
  kernelOp,
  type LoweredKernel,
  type Meta,
  type Sample,
} from "../core/op.ts";
import type { Shape } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { pullback } from "./pullback.ts";

/** The cells there are; "tanh" and "relu" are the simple one with that activation. */
export type CellName = "lstm" | "gru" | "tanh" | "relu";

/** What formulas of cells are made of. */
interface Arithmetic<T> {
  add(a: T, b: T): T;
  sub(a: T | number, b: T): T;
  mul(a: T, b: T): T;
  sigmoid(x: T): T;
  tanh(x: T): T;
  relu(x: T): T;
  positive(x: T): T;
  where(condition: T, a: T | number, b: T | number): T;
}

const ON_TENSORS: Arithmetic<Tensor> = {
  add: (a, b) => op.add(a, b),
  sub: (a, b) => op.sub(a, b),
  mul: (a, b) => op.mul(a, b),
  sigmoid: (x) => op.sigmoid(x),
  tanh: (x) => op.tanh(x),
  relu: (x) => op.relu(x),
  positive: (x) => op.greaterThan(x, 0),
  where: (condition, a, b) => op.where(condition, a, b),
};

/** The expression that an op is defined by. */
const scalarOf = (name: string, x: Expr): Expr =>
  (allOps().get(name) as ElementwiseOp).scalar(
    [x],
    undefined as never, // unary ops read nothing but their operand
  );

const ON_EXPRS: Arithmetic<Expr> = {
  add: k.add,
  sub: k.sub,
  mul: k.mul,
  sigmoid: (x) => scalarOf("sigmoid", x),
  tanh: (x) => scalarOf("tanh", x),
  relu: (x) => scalarOf("relu", x),
  positive: (x) => k.gt(x, 0),
  where: k.where,
};

/** What a step back is computed from; gradients are those of the new states, and of what was kept. */
interface Back<T> {
  readonly kept: readonly T[];
  readonly before: readonly T[];
  readonly after: readonly T[];
  readonly g: readonly T[];
  readonly keptGrad: readonly T[] | null;
}

interface CellRule {
  /** Parts of `z` (the product of the hidden state) and of `x` (that of the input), each as wide as a state. */
  readonly gates: number;
  /** The hidden state, and for the LSTM the cell state. */
  readonly states: number;
  /** Values that a step keeps for its gradient. */
  readonly kept: number;
  /** Old states that a step reads, beside their product; its gradient reads them too. */
  readonly reads: readonly number[];
  /** New states that the gradient reads. */
  readonly readsAfter: readonly number[];
  /** Whether the gradients of `z` and `x` differ. */
  readonly apart: boolean;
  /** New states. */
  step<T>(
    a: Arithmetic<T>,
    z: readonly T[],
    x: readonly T[],
    before: readonly T[],
  ): { readonly after: readonly T[]; readonly kept: readonly T[] };
  /** Gradients of z, of x where they differ, and of the old states that were read. */
  back<T>(
    a: Arithmetic<T>,
    from: Back<T>,
  ): { readonly z: readonly T[]; readonly x?: readonly T[]; readonly before: readonly T[] };
}

/** y · (1 - y), the slope of the logistic function where its value is y, times g. */
const throughSigmoid = <T>(a: Arithmetic<T>, g: T, y: T): T => a.mul(g, a.mul(y, a.sub(1, y)));
/** 1 - y², the slope of tanh where its value is y, times g. */
const throughTanh = <T>(a: Arithmetic<T>, g: T, y: T): T => a.mul(g, a.sub(1, a.mul(y, y)));

/** `xs` and, where there are any, what to add to each. */
function plus<T>(a: Arithmetic<T>, xs: readonly T[], more: readonly T[] | null): readonly T[] {
  return more === null ? xs : xs.map((x, i) => a.add(x, more[i]));
}

/** Hochreiter & Schmidhuber 1997, with forget gates; parts in the order input, forget, cell, output. */
const LSTM: CellRule = {
  gates: 4,
  states: 2,
  kept: 4,
  reads: [1],
  readsAfter: [1],
  apart: false,
  step(a, z, x, [c]) {
    const [p, q, r, s] = z.map((part, i) => a.add(part, x[i]));
    const [input, forget, cell, output] = [a.sigmoid(p), a.sigmoid(q), a.tanh(r), a.sigmoid(s)];
    const next = a.add(a.mul(forget, c), a.mul(input, cell));
    return { after: [a.mul(output, a.tanh(next)), next], kept: [input, forget, cell, output] };
  },
  back(a, { kept, before: [c], after: [next], g: [gh, gc], keptGrad }) {
    const [input, forget, cell, output] = kept;
    const top = a.tanh(next);
    const total = a.add(gc, throughTanh(a, a.mul(gh, output), top));
    const own = [a.mul(total, cell), a.mul(total, c), a.mul(total, input), a.mul(gh, top)];
    const [p, q, r, s] = plus(a, own, keptGrad);
    return {
      z: [
        throughSigmoid(a, p, input),
        throughSigmoid(a, q, forget),
        throughTanh(a, r, cell),
        throughSigmoid(a, s, output),
      ],
      before: [a.mul(total, forget)],
    };
  },
};

/** Cho et al. 2014, with the reset gate behind the product, as in Paddle and PyTorch; parts reset, update, new. */
const GRU: CellRule = {
  gates: 3,
  states: 1,
  kept: 4,
  reads: [0],
  readsAfter: [],
  apart: true,
  step(a, z, x, [h]) {
    const reset = a.sigmoid(a.add(z[0], x[0]));
    const update = a.sigmoid(a.add(z[1], x[1]));
    const fresh = a.tanh(a.add(x[2], a.mul(reset, z[2])));
    const next = a.add(a.mul(update, a.sub(h, fresh)), fresh);
    return { after: [next], kept: [reset, update, fresh, z[2]] };
  },
  back(a, { kept: [reset, update, fresh, inner], before: [h], g: [g], keptGrad }) {
    const own = [a.mul(g, a.sub(h, fresh)), a.mul(g, a.sub(1, update))];
    const [ofUpdate, ofFresh] = plus(a, own, keptGrad && [keptGrad[1], keptGrad[2]]);
    const x2 = throughTanh(a, ofFresh, fresh);
    const [ofReset, z2] = plus(
      a,
      [a.mul(x2, inner), a.mul(x2, reset)],
      keptGrad && [keptGrad[0], keptGrad[3]],
    );
    const gates = [throughSigmoid(a, ofReset, reset), throughSigmoid(a, ofUpdate, update)];
    return { z: [...gates, z2], x: [...gates, x2], before: [a.mul(g, update)] };
  },
};

/** Elman 1990. */
const SIMPLE = {
  gates: 1,
  states: 1,
  kept: 0,
  reads: [],
  readsAfter: [0],
  apart: false,
} as const;

const TANH: CellRule = {
  ...SIMPLE,
  step: (a, [z], [x]) => ({ after: [a.tanh(a.add(z, x))], kept: [] }),
  back: (a, { after: [h], g: [g] }) => ({ z: [throughTanh(a, g, h)], before: [] }),
};

const RELU: CellRule = {
  ...SIMPLE,
  step: (a, [z], [x]) => ({ after: [a.relu(a.add(z, x))], kept: [] }),
  back: (a, { after: [h], g: [g] }) => ({ z: [a.where(a.positive(h), g, 0)], before: [] }),
};

const RULES: Readonly<Record<CellName, CellRule>> = {
  lstm: LSTM,
  gru: GRU,
  tanh: TANH,
  relu: RELU,
};

/** What there is to know of a cell from outside. */
export interface CellShape
  extends Pick<CellRule, "gates" | "states" | "apart" | "reads" | "readsAfter"> {
  /** Whether a step keeps values for its gradient. */
  readonly keeps: boolean;
}

/** The parts that a cell has. */
export function cellShape(cell: CellName): CellShape {
  return { ...RULES[cell], keeps: RULES[cell].kept > 0 };
}

/** Attrs of both ops. */
export interface CellAttrs {
  readonly cell: CellName;
  /** The size of a state. */
  readonly size: number;
  /** Whether a last operand [batch, 1] says which rows take the step; the others keep their states. */
  readonly masked: boolean;
  /** Forward: whether to give what the gradient needs. */
  readonly keep?: boolean;
  /** Backward: whether there is a gradient of what was kept. */
  readonly keptGrad?: boolean;
}

const cellAttrs = (attrs: Attrs): CellAttrs => attrs as unknown as CellAttrs;

/** Old states that are operands of a step, and that have gradients of their own. */
export function carried({ cell, masked }: Pick<CellAttrs, "cell" | "masked">): readonly number[] {
  const { states, reads } = RULES[cell];
  return masked ? Array.from({ length: states }, (_, i) => i) : reads;
}

// --- parts of rows ------------------------------------------------------------------------------------

/** Lists of a step's operands, each of which is several parts wide; a mask is 0 parts wide. */
interface Layout {
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
}

function forwardLayout(attrs: CellAttrs): Layout {
  const { gates, states, kept } = RULES[attrs.cell];
  return {
    inputs: [gates, gates, ...carried(attrs).map(() => 1), ...(attrs.masked ? [0] : [])],
    outputs: [...new Array<number>(states).fill(1), ...(attrs.keep && kept > 0 ? [kept] : [])],
  };
}

function backwardLayout(attrs: CellAttrs): Layout {
  const { gates, states, kept, reads, readsAfter, apart } = RULES[attrs.cell];
  const single = reads.length + readsAfter.length + states;
  return {
    inputs: [
      ...(kept > 0 ? [kept] : []),
      ...new Array<number>(single).fill(1),
      ...(attrs.keptGrad ? [kept] : []),
      ...(attrs.masked ? [0] : []),
    ],
    outputs: [gates, ...(apart ? [gates] : []), ...carried(attrs).map(() => 1)],
  };
}

/** One kernel over [batch, size] that reads and writes all parts. */
function lowerParts(
  { inputs, outputs }: Layout,
  size: number,
  metas: readonly Meta[],
  outs: readonly Meta[],
  compute: (inputs: readonly (readonly Expr[])[]) => readonly (readonly Expr[])[],
): LoweredKernel {
  const strides: Shape[] = [];
  const offsets: number[] = [];
  const ports: number[] = [];
  const dtypes: DType[] = [];
  /** Registers the parts of a buffer; gives the index of the first. */
  const part = (port: number, width: number, dtype: DType): number => {
    const first = ports.length;
    for (let i = 0; i < Math.max(width, 1); i++) {
      strides.push(width === 0 ? [1, 0] : [width * size, 1]);
      offsets.push(i * size);
      ports.push(port);
      dtypes.push(dtype);
    }
    return first;
  };
  const read = inputs.map((width, port) => {
    const first = part(port, width, metas[port].dtype);
    const type = k.computeType(metas[port].dtype);
    return Array.from({ length: Math.max(width, 1) }, (_, i) => k.leaf("load", type, first + i));
  });
  const loads = ports.length;
  const values = compute(read).flat();
  outputs.forEach((width, i) => part(inputs.length + i, width, outs[i].dtype));
  const stride = (i: number) => ({
    dtype: dtypes[i],
    outer: strides[i][1] === 0 ? "zero" as const : "unit" as const,
    inner: "zero" as const,
  });
  const kernel = makeKernel({
    outerRank: 2,
    innerRank: 0,
    inputs: Array.from({ length: loads }, (_, i) => stride(i)),
    outputs: values.map((_, value) => ({ ...stride(loads + value), stage: 0, value })),
    args: [],
    stages: [{ kind: "map", values }],
    index32: true,
  });
  const batch = metas[0].shape[0];
  return { kernel, launch: { sizes: [batch, size], strides, offsets, args: [] }, ports };
}

const metasOf = (widths: readonly number[], like: Meta, size: number): Meta[] =>
  widths.map((width) => ({ shape: [like.shape[0], width * size], dtype: like.dtype }));

// --- forward ------------------------------------------------------------------------------------------

/** Attrs of samples: every cell, with and without a mask. */
const SAMPLE_ATTRS: readonly CellAttrs[] = (["lstm", "gru", "tanh", "relu"] as const).flatMap(
  (cell) => [false, true].map((masked) => ({ cell, size: 3, masked })),
);

function samplesOf(attrs: CellAttrs, { inputs }: Layout, batch = 2): Sample {
  return {
    inputs: inputs.map((width) =>
      width === 0
        ? {
          values: Array.from({ length: batch }, (_, i) => i % 2),
          shape: [batch, 1],
          dtype: "bool",
        }
        : { shape: [batch, width * attrs.size], range: [-1.5, 1.5] }
    ),
    attrs: { ...attrs },
  };
}

/**
 * One step: `z` [batch, gates · size], `x` like it, the carried states, the mask; gives the new states and,
 * with `keep`, what its gradient needs.
 */
export const CELL: ReturnType<typeof kernelOp> = kernelOp({
  name: "recurrentCell",
  infer: ([z], attrs) => {
    const a = cellAttrs(attrs);
    return metasOf(forwardLayout(a).outputs, z, a.size);
  },
  lower: (metas, outs, attrs) => {
    const a = cellAttrs(attrs);
    const { states, reads } = RULES[a.cell];
    return lowerParts(forwardLayout(a), a.size, metas, outs, ([z, x, ...rest]) => {
      const held = carried(a);
      const old = (state: number) => rest[held.indexOf(state)][0];
      const { after, kept } = RULES[a.cell].step(ON_EXPRS, z, x, reads.map(old));
      const mask = a.masked ? rest.at(-1)![0] : null;
      const taken = (v: Expr, or: Expr | number) => mask === null ? v : k.where(mask, v, or);
      const next = Array.from({ length: states }, (_, i) => taken(after[i], mask ? old(i) : 0));
      return a.keep ? [next, kept.map((v) => taken(v, 0))] : [next];
    });
  },
  vjp: (gs, { inputs, outputs, attrs }) => {
    const a = cellAttrs(attrs);
    const { states, kept, reads, readsAfter, apart } = RULES[a.cell];
    const held = carried(a);
    const given = [
      ...(kept > 0 ? [outputs[states]] : []),
      ...reads.map((state) => inputs[2 + held.indexOf(state)]),
      ...readsAfter.map((state) => outputs[state]),
      ...gs,
      ...(a.masked ? [inputs[inputs.length - 1]] : []),
    ];
    const { cell, size, masked } = a;
    const how = { cell, size, masked, keptGrad: kept > 0 };
    const [z, ...more] = engine.callMany(CELL_GRAD, given, how);
    const x = apart ? more.shift()! : z;
    return [z, x, ...more, ...(masked ? [null] : [])];
  },
  saves: "both",
  samples: () =>
    SAMPLE_ATTRS.map((each) => {
      const attrs = { ...each, keep: true };
      return samplesOf(attrs, forwardLayout(attrs));
    }),
});

// --- backward -----------------------------------------------------------------------------------------

/** Parts of operands as the formula names them. */
function named<T>(a: CellAttrs, parts: readonly (readonly T[])[]): Back<T> & { mask: T | null } {
  const { kept, reads, readsAfter, states } = RULES[a.cell];
  let next = 0;
  const many = (n: number): readonly T[] => n > 0 ? parts[next++] : [];
  const singles = (n: number): T[] => Array.from({ length: n }, () => parts[next++][0]);
  return {
    kept: many(kept),
    before: singles(reads.length),
    after: singles(readsAfter.length),
    g: singles(states),
    keptGrad: a.keptGrad ? many(kept) : null,
    mask: a.masked ? singles(1)[0] : null,
  };
}

/** The parts of all outputs. */
function stepBack<T>(
  on: Arithmetic<T>,
  a: CellAttrs,
  parts: readonly (readonly T[])[],
): readonly (readonly T[])[] {
  const { mask, ...from } = named(a, parts);
  const { apart, reads } = RULES[a.cell];
  const { z, x, before } = RULES[a.cell].back(on, from);
  const taken = (v: T): T => mask === null ? v : on.where(mask, v, 0);
  const own = carried(a).map((state) => {
    const at = reads.indexOf(state);
    if (mask === null) return [before[at]];
    return [on.where(mask, at < 0 ? 0 : before[at], from.g[state])];
  });
  return [z.map(taken), ...(apart ? [x!.map(taken)] : []), ...own];
}

/** The same in ops on tensors, for gradients of it. */
const CELL_GRAD_IN_OPS = composite({
  name: "recurrentCellGradInOps",
  body: (operands, attrs) => {
    const a = cellAttrs(attrs);
    const { size } = a;
    const parts = backwardLayout(a).inputs.map((width, i) => {
      const x = operands[i] as Tensor;
      if (width <= 1) return [x];
      return Array.from(
        { length: width },
        (_, j) => op.slice(x, { axes: [1], starts: [j * size], ends: [(j + 1) * size] }),
      );
    });
    return stepBack(ON_TENSORS, a, parts).map((each) =>
      each.length === 1 ? each[0] : op.concat(each, 1)
    );
  },
});

/**
 * A step back: what was kept, the old and new states that the formula reads, gradients of the new states, with
 * `keptGrad` that of what was kept, the mask. Gives gradients of `z`, of `x` where they differ, and of the
 * carried states.
 */
export const CELL_GRAD: ReturnType<typeof kernelOp> = kernelOp({
  name: "recurrentCellGrad",
  infer: (metas, attrs) => {
    const a = cellAttrs(attrs);
    return metasOf(backwardLayout(a).outputs, metas[0], a.size);
  },
  lower: (metas, outs, attrs) => {
    const a = cellAttrs(attrs);
    return lowerParts(
      backwardLayout(a),
      a.size,
      metas,
      outs,
      (parts) => stepBack(ON_EXPRS, a, parts),
    );
  },
  vjp: (gs, { inputs, attrs }) =>
    pullback((xs) => engine.callMany(CELL_GRAD_IN_OPS, xs, attrs), inputs, gs),
  samples: () =>
    SAMPLE_ATTRS.flatMap((each) =>
      (RULES[each.cell].kept > 0 ? [false, true] : [false]).map((keptGrad) => {
        const attrs = { ...each, keptGrad };
        return samplesOf(attrs, backwardLayout(attrs));
      })
    ),
});
