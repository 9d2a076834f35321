// The gradient graph: nodes, saved tensors with versions, the backward walk. Works on ops only, so
// gradients differentiate again and trace. Not here: gradient rules (beside each op).
import { type DType, isDifferentiable } from "./dtype.ts";
import { GradError, ShapeError } from "./errors.ts";
import type { Attrs, Op, Operand } from "./op.ts";
import type { Place } from "./place.ts";
import { sameShape, type Shape, showShape } from "./shape.ts";
import { op as ops } from "./slots.ts";
import type { Storage } from "./storage.ts";
import { openScopes } from "./storage.ts";
import { Tensor } from "./tensor.ts";

/** Where a gradient goes: an output of a node. */
export interface Edge {
  readonly node: GradNode;
  readonly index: number;
}

/** Called with a gradient; may give another in its place. */
export type GradHook = (grad: Tensor) => Tensor | void;

let nextSeq = 1;
let gradEnabled = true;

/** Whether operations are being recorded. */
export function isGradEnabled(): boolean {
  return gradEnabled;
}

/** Switches recording; gives the former state. Prefer {@linkcode noGrad}. */
export function setGradEnabled(on: boolean): boolean {
  const was = gradEnabled;
  gradEnabled = on;
  return was;
}

function withGrad<T>(on: boolean, fn: () => T): T {
  const was = setGradEnabled(on);
  let pending = false;
  try {
    const result = fn();
    if (result instanceof Promise) {
      pending = true;
      return result.finally(() => setGradEnabled(was)) as T;
    }
    return result;
  } finally {
    if (!pending) setGradEnabled(was);
  }
}

/**
 * Runs `fn` without recording gradients. If `fn` is async, recording stays off until it settles.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { noGrad, tensor } from "../mod.ts";
 *
 * const x = tensor([1, 2], { requiresGrad: true });
 * assertEquals(noGrad(() => x.mul(2)).requiresGrad, false);
 * ```
 */
export function noGrad<T>(fn: () => T): T {
  return withGrad(false, fn);
}

/**
 * Runs `fn` with recording on, inside a `noGrad` too.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { enableGrad, noGrad, tensor } from "../mod.ts";
 *
 * const x = tensor([1, 2], { requiresGrad: true });
 * assertEquals(noGrad(() => enableGrad(() => x.mul(2))).requiresGrad, true);
 * ```
 */
export function enableGrad<T>(fn: () => T): T {
  return withGrad(true, fn);
}

/** A step of the gradient graph. */
export abstract class GradNode {
  readonly isLeaf: boolean = false;
  /** Order of making: a node comes after all nodes its edges lead to. */
  readonly seq: number = nextSeq++;
  /** Hooks by output index. */
  hooks: Map<number, GradHook[]> | null = null;
  /** Name of the op, for errors. */
  abstract readonly name: string;
  /** Where the gradients of the operands go; null where none is needed. */
  abstract readonly edges: readonly (Edge | null)[];
  /** Shapes, dtypes and place of the outputs, for missing gradients. */
  abstract readonly outs: readonly {
    readonly shape: Shape;
    readonly dtype: DType;
    readonly place: Place;
  }[];
  /** Gradients of the operands from those of the outputs. */
  abstract apply(grads: readonly Tensor[]): readonly (Tensor | null)[];
  /** Forgets what was saved. */
  release(): void {}
}

/** The end of a path: a tensor that gathers its gradient. */
export class LeafNode extends GradNode {
  override readonly isLeaf = true;
  /** Ends come before everything that uses them, whenever they were made. */
  override readonly seq = 0;
  readonly name = "leaf";
  readonly edges: readonly null[] = [];
  readonly outs: readonly { readonly shape: Shape; readonly dtype: DType; readonly place: Place }[];
  /** The leaf; tensors made by `detach` or views of it are not it. */
  readonly tensor: Tensor;

  /** Made when a leaf first takes part in a recorded op. */
  constructor(tensor: Tensor) {
    super();
    this.tensor = tensor;
    this.outs = [tensor];
  }
  override apply(): readonly null[] {
    return [];
  }
}

/** A tensor kept for the backward walk, with the version that it must still have. */
class Saved {
  #tensor: Tensor | null;
  readonly #storage: Storage | null;
  readonly #version: number;

  constructor(x: Tensor) {
    // An alias, so that disposing of the original does not take the memory away under us.
    this.#tensor = aliasOf(x);
    this.#storage = x.impl.storage;
    this.#version = this.#storage?.version ?? 0;
  }

  unpack(name: string): Tensor {
    const x = this.#tensor;
    if (x === null) {
      throw new GradError(
        `Cannot backward through ${name} a second time: what it saved was released by the first; ` +
          "call backward({retainGraph: true}) or grad(…, {retainGraph: true}) the first time",
      );
    }
    if (this.#storage !== null && this.#storage.version !== this.#version) {
      throw new GradError(
        `Cannot backward through ${name}: a ${x.dtype} tensor of shape ${
          showShape(x.shape)
        } that it saved was ` +
          `changed in place afterwards (version ${this.#storage.version}, saved at ${this.#version}); ` +
          "clone() it before the change, or use the form that is not in place",
      );
    }
    return x;
  }

  release(): void {
    this.#tensor?.dispose();
    this.#tensor = null;
  }
}

/** A second tensor on the same storage with the same place in the graph. */
export function aliasOf(x: Tensor): Tensor {
  const impl = x.impl;
  const y = new Tensor({
    storage: impl.storage,
    shape: x.shape,
    strides: impl.strides,
    offset: impl.offset,
    dtype: x.dtype,
    place: x.place,
    traced: impl.traced,
  });
  const edge = edgeOf(x);
  y.impl.requiresGrad = impl.requiresGrad;
  y.impl.history = impl.history;
  if (edge !== null) {
    y.impl.node = edge.node;
    y.impl.nodeIndex = edge.index;
  }
  return y;
}

/** Where the gradient of a tensor goes, or null if it needs none. */
export function edgeOf(x: Tensor): Edge | null {
  const impl = x.impl;
  if (!impl.requiresGrad) return null;
  if (impl.node === null) impl.node = new LeafNode(x);
  else if (
    impl.storage !== null && !impl.node.isLeaf && impl.history !== impl.storage.history
  ) {
    throw new GradError(
      `Cannot record an op on this ${x.dtype} tensor of shape ${
        showShape(x.shape)
      }: its elements were changed in place ` +
        "through another view while gradients were recorded, so its own history is no longer true; " +
        "take the view again from the changed tensor",
    );
  }
  return { node: impl.node, index: impl.nodeIndex };
}

/** The node of a recorded op call. */
class OpNode extends GradNode {
  readonly name: string;
  readonly edges: readonly (Edge | null)[];
  readonly outs: readonly { readonly shape: Shape; readonly dtype: DType; readonly place: Place }[];
  readonly #op: Op;
  readonly #attrs: Attrs;
  readonly #inputs: readonly (Saved | number | bigint | boolean)[];
  #outputs: readonly Saved[];
  readonly #shapes: readonly Shape[];
  readonly #dtypes: readonly DType[];

  constructor(
    op: Op,
    operands: readonly Operand[],
    attrs: Attrs,
    edges: readonly (Edge | null)[],
    outputs: readonly Tensor[],
  ) {
    super();
    this.name = op.name;
    this.#op = op;
    this.#attrs = attrs;
    this.edges = edges;
    this.outs = outputs.map((o) => ({ shape: o.shape, dtype: o.dtype, place: o.place }));
    const saves = op.saves ?? "in";
    const keep = saves === "in" || saves === "both";
    this.#inputs = keep ? operands.map((x) => (x instanceof Tensor ? new Saved(x) : x)) : [];
    this.#outputs = [];
    this.#shapes = operands.map((x) => (x instanceof Tensor ? x.shape : []));
    this.#dtypes = operands.map((x) => (x instanceof Tensor ? x.dtype : "float32"));
  }

  /** Saves the outputs, once they point at this node. */
  saveOutputs(outputs: readonly Tensor[]): void {
    const saves = this.#op.saves ?? "in";
    if (saves === "out" || saves === "both") this.#outputs = outputs.map((o) => new Saved(o));
  }

  override apply(grads: readonly Tensor[]): readonly (Tensor | null)[] {
    const unpack = (
      x: Saved | number | bigint | boolean,
    ) => (x instanceof Saved ? x.unpack(this.name) : x);
    return this.#op.vjp!(grads, {
      inputs: this.#inputs.map(unpack),
      outputs: this.#outputs.map((x) => x.unpack(this.name)),
      attrs: this.#attrs,
      shapes: this.#shapes,
      dtypes: this.#dtypes,
      needs: this.edges.map((e) => e !== null),
    });
  }

  override release(): void {
    for (const x of this.#inputs) if (x instanceof Saved) x.release();
    for (const x of this.#outputs) x.release();
  }
}

/** A node made of functions: composites with derived gradients, and users' own. */
export class FunctionNode extends GradNode {
  readonly name: string;
  readonly edges: readonly (Edge | null)[];
  readonly outs: readonly { readonly shape: Shape; readonly dtype: DType; readonly place: Place }[];
  readonly #saved: readonly Saved[];
  readonly #apply: (
    grads: readonly Tensor[],
    saved: readonly Tensor[],
  ) => readonly (Tensor | null)[];

  /** `saved` are checked and handed to `apply`. */
  constructor(
    name: string,
    operands: readonly Operand[],
    outputs: readonly Tensor[],
    saved: readonly Tensor[],
    apply: (grads: readonly Tensor[], saved: readonly Tensor[]) => readonly (Tensor | null)[],
  ) {
    super();
    this.name = name;
    this.edges = operands.map((x) => (x instanceof Tensor ? edgeOf(x) : null));
    this.outs = outputs.map((o) => ({ shape: o.shape, dtype: o.dtype, place: o.place }));
    this.#saved = saved.map((x) => new Saved(x));
    this.#apply = apply;
  }
  override apply(grads: readonly Tensor[]): readonly (Tensor | null)[] {
    return this.#apply(grads, this.#saved.map((x) => x.unpack(this.name)));
  }
  override release(): void {
    for (const x of this.#saved) x.release();
  }
}

/** Whether a call with these operands is to be recorded. */
export function needsGrad(operands: readonly Operand[]): boolean {
  if (!gradEnabled) return false;
  for (let i = 0; i < operands.length; i++) {
    const x = operands[i];
    if (typeof x === "object" && x.impl.requiresGrad) return true;
  }
  return false;
}

/** Points differentiable outputs at the node. */
export function attach(node: GradNode, outputs: readonly Tensor[]): void {
  for (let i = 0; i < outputs.length; i++) {
    if (!isDifferentiable(outputs[i].dtype)) continue;
    const impl = outputs[i].impl;
    impl.node = node;
    impl.nodeIndex = i;
    impl.requiresGrad = true;
    if (impl.storage !== null) impl.history = impl.storage.history;
  }
}

/** Records a call of an op that has a gradient rule. Call only if {@linkcode needsGrad}. */
export function record(
  op: Op,
  operands: readonly Operand[],
  attrs: Attrs,
  outputs: readonly Tensor[],
): void {
  if (op.vjp === null || !outputs.some((o) => isDifferentiable(o.dtype))) return;
  const edges = operands.map((x) => (x instanceof Tensor ? edgeOf(x) : null));
  const node = new OpNode(op, operands, attrs, edges, outputs);
  attach(node, outputs);
  node.saveOutputs(outputs);
}

/** Refuses an in-place change that would make recorded gradients wrong. */
export function checkInPlace(name: string, target: Tensor, recording: boolean): void {
  if (!gradEnabled) return;
  const leaf = target.isLeaf && target.requiresGrad
    ? target
    : target.impl.base !== null && target.impl.base.isLeaf && target.impl.base.requiresGrad
    ? target.impl.base
    : null;
  if (leaf !== null) {
    throw new GradError(
      `Cannot ${name} in place on ${leaf === target ? "" : "a view of "}a leaf of shape ${
        showShape(leaf.shape)
      } that requires grad: ` +
        "its gradient would be lost; wrap the change in noGrad(() => …), or use the form that is not in place",
    );
  }
  if (recording && !isDifferentiable(target.dtype)) {
    throw new GradError(
      `Cannot ${name} in place on a ${target.dtype} tensor with operands that require grad: no gradient passes through it; ` +
        "detach() them",
    );
  }
}

/** Gives targets of an in-place change the history recorded on `fresh`; other views become stale. */
export function attachInPlace(targets: readonly Tensor[], fresh: readonly Tensor[]): void {
  targets.forEach((t, i) => {
    const impl = t.impl;
    const from = fresh[i].impl;
    impl.node = from.node;
    impl.nodeIndex = from.nodeIndex;
    impl.requiresGrad = from.requiresGrad;
    if (impl.storage !== null) impl.history = ++impl.storage.history;
  });
}

/** Makes a leaf require its gradient, or stop. */
export function setRequiresGrad(x: Tensor, on: boolean): void {
  if (on && !isDifferentiable(x.dtype)) {
    throw new GradError(
      `Cannot require the gradient of a ${x.dtype} tensor: only floating dtypes have one; cast it first`,
    );
  }
  if (!x.isLeaf) {
    if (on) return;
    throw new GradError("Cannot turn requiresGrad off for a tensor that an op made: use detach()");
  }
  x.impl.requiresGrad = on;
  if (!on) x.impl.node = null;
}

/** Sums a gradient over the axes that broadcasting added or stretched. */
export function sumTo(g: Tensor, shape: Shape): Tensor {
  if (sameShape(g.shape, shape)) return g;
  const lead = g.shape.length - shape.length;
  const axes: number[] = [];
  for (let i = 0; i < g.shape.length; i++) {
    if (i < lead || (shape[i - lead] === 1 && g.shape[i] !== 1)) axes.push(i);
  }
  const summed = axes.length > 0 ? ops.sum(g, axes, { keepdim: true }) : g;
  return sameShape(summed.shape, shape) ? summed : ops.reshape(summed, shape);
}

function fit(
  name: string,
  g: Tensor,
  out: { readonly shape: Shape; readonly dtype: DType },
): Tensor {
  let x = g;
  if (!sameShape(x.shape, out.shape)) {
    if (x.shape.length < out.shape.length) {
      throw new GradError(
        `Cannot use the gradient of ${name}: it has shape ${showShape(g.shape)}, its operand ${
          showShape(out.shape)
        }`,
      );
    }
    x = sumTo(x, out.shape);
  }
  return x.dtype === out.dtype ? x : ops.cast(x, out.dtype);
}

function addGrads(a: Tensor, b: Tensor): Tensor {
  return ops.add(a, b);
}

interface WalkOptions {
  readonly createGraph: boolean;
  readonly retainGraph: boolean;
}

/**
 * Walks back from the roots. `sink` receives the final gradient of every leaf and of every watched
 * (node, output); only nodes that lead to something wanted are run.
 */
function walk(
  roots: readonly { readonly edge: Edge; readonly grad: Tensor }[],
  watched: ReadonlyMap<GradNode, ReadonlySet<number>> | null,
  options: WalkOptions,
  sink: (node: GradNode, index: number, grad: Tensor) => void,
): void {
  const order: GradNode[] = [];
  const seen = new Set<GradNode>();
  const stack: GradNode[] = roots.map((r) => r.edge.node);
  while (stack.length > 0) {
    const node = stack.pop()!;
    if (seen.has(node)) continue;
    seen.add(node);
    order.push(node);
    for (const e of node.edges) if (e !== null && !seen.has(e.node)) stack.push(e.node);
  }
  order.sort((a, b) => a.seq - b.seq);
  const useful = new Set<GradNode>();
  for (const node of order) {
    const wanted = watched === null ? node.isLeaf : watched.has(node);
    if (wanted || node.edges.some((e) => e !== null && useful.has(e.node))) useful.add(node);
  }
  const pending = new Map<GradNode, (Tensor | null)[]>();
  const give = (edge: Edge, grad: Tensor): void => {
    let slots = pending.get(edge.node);
    if (slots === undefined) {
      slots = new Array<Tensor | null>(edge.node.outs.length).fill(null);
      pending.set(edge.node, slots);
    }
    const old = slots[edge.index];
    slots[edge.index] = old === null ? grad : addGrads(old, grad);
  };
  for (const r of roots) give(r.edge, r.grad);
  const was = setGradEnabled(options.createGraph);
  try {
    for (let i = order.length - 1; i >= 0; i--) {
      const node = order[i];
      const slots = pending.get(node);
      pending.delete(node);
      if (slots === undefined || !useful.has(node)) continue;
      if (node.hooks !== null) {
        for (const [index, hooks] of node.hooks) {
          for (const hook of hooks) {
            const g = slots[index];
            if (g !== null) slots[index] = hook(g) ?? g;
          }
        }
      }
      const wanted = watched?.get(node);
      for (let k = 0; k < slots.length; k++) {
        const g = slots[k];
        if (g !== null && (watched === null ? node.isLeaf : wanted?.has(k))) sink(node, k, g);
      }
      if (node.isLeaf || !node.edges.some((e) => e !== null && useful.has(e.node))) continue;
      const grads = slots.map((g, k) =>
        g ?? ops.zeros(node.outs[k].shape, { dtype: node.outs[k].dtype, place: node.outs[k].place })
      );
      const results = node.apply(grads);
      if (!options.retainGraph) node.release();
      for (let k = 0; k < node.edges.length; k++) {
        const edge = node.edges[k];
        const g = results[k];
        if (edge === null || g === null || g === undefined || !useful.has(edge.node)) continue;
        give(edge, fit(node.name, g, edge.node.outs[edge.index]));
      }
    }
  } finally {
    setGradEnabled(was);
  }
}

function seedGrad(call: string, x: Tensor, grad: Tensor | undefined): Tensor {
  if (!x.requiresGrad) {
    throw new GradError(
      `Cannot ${call} from a tensor of shape ${showShape(x.shape)}: it does not require grad; ` +
        "make an input with {requiresGrad: true}, and record outside noGrad()",
    );
  }
  if (grad === undefined) {
    if (x.numel !== 1) {
      throw new GradError(
        `Cannot ${call} from shape ${
          showShape(x.shape)
        } without a gradient: only a scalar has an implied one; ` +
          "reduce it with sum() or mean(), or pass a gradient of its shape",
      );
    }
    return ops.ones(x.shape, { dtype: x.dtype, place: x.place });
  }
  if (!sameShape(grad.shape, x.shape)) {
    throw new ShapeError(
      `Cannot ${call} from ${showShape(x.shape)} with a gradient of ${
        showShape(grad.shape)
      }: shapes must be equal`,
    );
  }
  return grad.dtype === x.dtype ? grad : ops.cast(grad, x.dtype);
}

/** Takes storages out of the open scopes, since something outside now holds them. */
export function keepAlive(x: Tensor): void {
  const storage = x.impl.storage;
  if (storage !== null) { for (const scope of openScopes()) scope.delete(storage); }
}

/** The work of `Tensor.backward`. */
export function backward(x: Tensor, grad: Tensor | undefined, retainGraph: boolean): void {
  const seed = seedGrad("backward", x, grad);
  const given = new Set<Storage | null>([grad?.impl.storage ?? null]);
  walk(
    [{ edge: edgeOf(x)!, grad: seed }],
    null,
    { createGraph: false, retainGraph },
    (node, _i, g) => {
      const leaf = (node as LeafNode).tensor;
      const old = leaf.grad;
      let total = old === null ? g : addGrads(old, g);
      // Two leaves must not share one buffer: an in-place change of one gradient would show in the other.
      const storage = total.impl.storage;
      if (storage !== null && (given.has(storage) || !total.isContiguous)) total = ops.clone(total);
      given.add(total.impl.storage);
      keepAlive(total);
      leaf.grad = total;
    },
  );
}

/** Options of {@linkcode grad}. */
export interface GradOptions {
  /** Gradients of the outputs; needed for those that are not scalars. */
  readonly gradOutputs?: readonly (Tensor | undefined)[];
  /** Record the computation of the gradients, so that they can be differentiated. */
  readonly createGraph?: boolean;
  /** Keep what was saved for another walk. Default: `createGraph`. */
  readonly retainGraph?: boolean;
  /** Give zeros for inputs that the outputs do not depend on, instead of an error. */
  readonly allowUnused?: boolean;
}

/**
 * Gradients of the sum of `outputs` with respect to `inputs`, without touching anyone's `.grad`.
 *
 * @param outputs Tensors that depend on the inputs.
 * @param inputs Tensors that require grad, leaves or not.
 * @returns One tensor for each input, of its shape and dtype.
 * @throws {GradError} if an output does not require grad, or an input is not reached (see `allowUnused`).
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { grad, tensor } from "../mod.ts";
 *
 * const x = tensor([3], { requiresGrad: true });
 * const [dx] = grad([x.mul(x)], [x], { createGraph: true });
 * const [ddx] = grad([dx], [x]);
 * assertEquals([await dx.toArray(), await ddx.toArray()], [[6], [2]]);
 * ```
 */
export function grad(
  outputs: Tensor | readonly Tensor[],
  inputs: Tensor | readonly Tensor[],
  options: GradOptions = {},
): Tensor[] {
  const outs = outputs instanceof Tensor ? [outputs] : outputs;
  const ins = inputs instanceof Tensor ? [inputs] : inputs;
  const createGraph = options.createGraph ?? false;
  const watched = new Map<GradNode, Set<number>>();
  const edges = ins.map((x, i) => {
    const edge = edgeOf(x);
    if (edge === null) {
      throw new GradError(
        `Cannot take grad with respect to input ${i} of shape ${
          showShape(x.shape)
        }: it does not require grad; ` +
          "make it with {requiresGrad: true} before it is used",
      );
    }
    const set = watched.get(edge.node) ?? new Set<number>();
    set.add(edge.index);
    watched.set(edge.node, set);
    return edge;
  });
  const roots = outs.map((x, i) => {
    const seed = seedGrad("grad", x, options.gradOutputs?.[i]);
    return { edge: edgeOf(x)!, grad: seed };
  });
  const found = new Map<GradNode, Map<number, Tensor>>();
  walk(
    roots,
    watched,
    { createGraph, retainGraph: options.retainGraph ?? createGraph },
    (node, k, g) => {
      let slots = found.get(node);
      if (slots === undefined) found.set(node, slots = new Map());
      slots.set(k, g);
    },
  );
  return edges.map((e, i) => {
    const g = found.get(e.node)?.get(e.index);
    if (g !== undefined) return g;
    if (options.allowUnused) {
      return ops.zeros(ins[i].shape, { dtype: ins[i].dtype, place: ins[i].place });
    }
    throw new GradError(
      `Cannot take grad with respect to input ${i} of shape ${
        showShape(ins[i].shape)
      }: the outputs do not depend on it; ` +
        "pass {allowUnused: true} to get zeros",
    );
  });
}

/** Adds a hook that sees (and may replace) the gradient of a tensor; gives the function that removes it. */
export function registerHook(x: Tensor, hook: GradHook): () => void {
  const edge = edgeOf(x);
  if (edge === null) {
    throw new GradError(
      "Cannot registerHook on a tensor that does not require grad: set requiresGrad first",
    );
  }
  const map = edge.node.hooks ??= new Map();
  const list = map.get(edge.index) ?? [];
  list.push(hook);
  map.set(edge.index, list);
  return () => {
    const i = list.indexOf(hook);
    if (i >= 0) list.splice(i, 1);
  };
}

/** What the two functions of a custom function share. */
export class FunctionContext {
  /** Tensors that backward will need; use inside forward. */
  saved: readonly Tensor[] = [];
  /** Anything else. */
  readonly store: Map<string, unknown> = new Map();

  /** Keeps tensors for backward; their versions are checked. */
  saveForBackward(...tensors: readonly Tensor[]): void {
    this.saved = tensors;
  }
}

/** A function with a gradient of its own (Paddle's PyLayer). */
export interface CustomFunction<Args extends readonly Operand[]> {
  /** Computes the outputs; nothing inside is recorded. */
  forward(ctx: FunctionContext, ...inputs: Args): Tensor | readonly Tensor[];
  /** Gradients of the inputs (null for none) from those of the outputs; `ctx.saved` holds what forward saved. */
  backward(
    ctx: FunctionContext,
    ...grads: readonly Tensor[]
  ): Tensor | null | readonly (Tensor | null)[];
  /** The name in errors. */
  readonly name?: string;
}

/**
 * Makes a function from a forward and a backward of one's own.
 *
 * @returns A function of the same inputs; it gives one tensor, or as many as forward gives.
 * @throws {GradError} at backward, if backward gives another number of gradients than there are inputs.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { customFunction, type Tensor, tensor } from "../mod.ts";
 *
 * const cube = customFunction<[Tensor]>({
 *   forward(ctx, x) {
 *     ctx.saveForBackward(x);
 *     return x.mul(x).mul(x);
 *   },
 *   backward(ctx, g) {
 *     const [x] = ctx.saved;
 *     return g.mul(x).mul(x).mul(3);
 *   },
 * });
 * const x = tensor([2], { requiresGrad: true });
 * (cube(x) as Tensor).sum().backward();
 * assertEquals(await x.grad!.toArray(), [12]);
 * ```
 */
export function customFunction<Args extends readonly Operand[]>(
  fn: CustomFunction<Args>,
): (...inputs: Args) => Tensor | readonly Tensor[] {
  const name = fn.name ?? "customFunction";
  return (...inputs: Args) => {
    const ctx = new FunctionContext();
    const result = noGrad(() => fn.forward(ctx, ...inputs));
    const list = result instanceof Tensor ? [result] : result;
    if (!needsGrad(inputs)) return result;
    const outs = list.map((o) => (inputs.includes(o) || o.requiresGrad ? o.detach() : o));
    const isOutput = ctx.saved.map((s) => list.indexOf(s));
    const node = new FunctionNode(
      name,
      inputs,
      outs,
      ctx.saved.map((s, i) => (isOutput[i] >= 0 ? outs[isOutput[i]] : s)),
      (grads, saved) => {
        ctx.saved = saved;
        const back = fn.backward(ctx, ...grads);
        const gs = back === null || back instanceof Tensor ? [back] : back;
        if (gs.length !== inputs.length) {
          throw new GradError(
            `Cannot backward through ${name}: backward must give one gradient (or null) for each of the ` +
              `${inputs.length} inputs: got ${gs.length}`,
          );
        }
        return gs;
      },
    );
    attach(node, outs);
    return result instanceof Tensor ? outs[0] : outs;
  };
}
