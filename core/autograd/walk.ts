// Walking back through the gradient graph: backward(), grad(), hooks.
import { describe } from "../describe.ts";
import type { DType } from "../dtype.ts";
import { DTypeError, GradError, PlaceError, ShapeError } from "../errors.ts";
import { expectFunction, expectOptions, expectTensors, tensorsOf } from "../operands.ts";
import type { Place } from "../place.ts";
import { sameShape, type Shape, showShape, tryBroadcast } from "../shape.ts";
import { op as ops } from "../slots.ts";
import { keepStorage, type Storage } from "../storage.ts";
import { Tensor } from "../tensor.ts";
import { Arena } from "./arena.ts";
import { setGradEnabled } from "./mode.ts";
import { type Edge, edgeOf, type GradHook, type GradNode, type LeafNode } from "./node.ts";

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
  out: { readonly shape: Shape; readonly dtype: DType; readonly place: Place },
): Tensor {
  if (!(g instanceof Tensor)) {
    throw new GradError(
      `Cannot use the gradient of ${name}: it must be a tensor or null: got ${describe(g)}`,
    );
  }
  if (g.place !== out.place) {
    throw new PlaceError(
      `Cannot use the gradient of ${name}: it must be on ${out.place}, where the operand is: got ` +
        `${g.place}; use .to("${out.place}")`,
    );
  }
  let x = g;
  if (!sameShape(x.shape, out.shape)) {
    if (!sameShape(tryBroadcast(x.shape, out.shape) ?? [], x.shape)) {
      throw new GradError(
        `Cannot use the gradient of ${name}: an operand of shape ${showShape(out.shape)} ` +
          `does not broadcast to it: got a gradient of shape ${showShape(g.shape)}`,
      );
    }
    x = sumTo(x, out.shape);
  }
  return x.dtype === out.dtype ? x : ops.cast(x, out.dtype);
}

/** A gradient after the hooks of its tensor. */
function hooked(name: string, hooks: readonly GradHook[], grad: Tensor): Tensor {
  let g = grad;
  // A copy, since a hook may remove itself.
  for (const hook of [...hooks]) {
    const other = hook(g);
    if (other === undefined) continue;
    if (!(other instanceof Tensor)) {
      throw new GradError(
        `Cannot use what a hook on a result of ${name} gave: it must be a tensor or nothing: got ` +
          `${describe(other)}; put its body in braces, so that it returns nothing`,
      );
    }
    if (!sameShape(other.shape, g.shape) || other.dtype !== g.dtype || other.place !== g.place) {
      throw new GradError(
        `Cannot use what a hook on a result of ${name} gave: it must be like the gradient: got ` +
          `${other.dtype} ${showShape(other.shape)} on ${other.place} for ${g.dtype} ${
            showShape(g.shape)
          } on ${g.place}`,
      );
    }
    g = other;
  }
  return g;
}

/** A tensor that a walk begins at. */
interface Root {
  readonly edge: Edge;
  /** Makes its gradient. */
  seed(): Tensor;
}

interface WalkOptions {
  readonly createGraph: boolean;
  readonly retainGraph: boolean;
}

/** The nodes that the roots lead to, oldest first, and those of them that lead to something wanted. */
function reach(
  roots: readonly { readonly edge: Edge }[],
  watched: ReadonlyMap<GradNode, ReadonlySet<number>> | null,
): { order: readonly GradNode[]; useful: ReadonlySet<GradNode> } {
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
  return { order, useful };
}

/**
 * Walks back from the roots. `sink` receives the final gradient of every leaf and of every watched
 * (node, output), and gives the arena's part in what it keeps away; only nodes that lead to something wanted are run.
 */
function walk(
  roots: readonly Root[],
  watched: ReadonlyMap<GradNode, ReadonlySet<number>> | null,
  options: WalkOptions,
  sink: (node: GradNode, index: number, grad: Tensor, arena: Arena | null) => void,
): void {
  const { order, useful } = reach(roots, watched);
  const pending = new Map<GradNode, (Tensor | null)[]>();
  // Gradients of gradients hold on to what they come from.
  const arena = options.createGraph ? null : new Arena();
  const give = (edge: Edge, grad: Tensor): void => {
    let slots = pending.get(edge.node);
    if (slots === undefined) {
      slots = new Array<Tensor | null>(edge.node.outs.length).fill(null);
      pending.set(edge.node, slots);
    }
    const old = slots[edge.index];
    const total = old === null ? grad : ops.add(old, grad);
    slots[edge.index] = total;
    arena?.hold(total);
    if (old !== null) arena?.drop(old);
  };
  const was = setGradEnabled(options.createGraph);
  try {
    for (const r of roots) give(r.edge, r.seed());
    for (let i = order.length - 1; i >= 0; i--) {
      const node = order[i];
      const slots = pending.get(node);
      pending.delete(node);
      if (slots === undefined || !useful.has(node)) continue;
      const read = [...slots];
      runHooks(node, slots, arena);
      const wanted = watched?.get(node);
      for (let k = 0; k < slots.length; k++) {
        const g = slots[k];
        if (g !== null && (watched === null ? node.isLeaf : wanted?.has(k))) {
          sink(node, k, g, arena);
        }
      }
      if (!node.isLeaf && node.edges.some((e) => e !== null && useful.has(e.node))) {
        const results = applied(node, slots, arena);
        if (!options.retainGraph) node.release();
        for (let k = 0; k < node.edges.length; k++) {
          const edge = node.edges[k];
          const g = results[k];
          if (edge === null || g === null || g === undefined || !useful.has(edge.node)) continue;
          give(edge, fit(node.name, g, edge.node.outs[edge.index]));
        }
      }
      if (arena === null) continue;
      for (const g of read) if (g !== null) arena.drop(g);
      arena.sweep();
    }
  } finally {
    setGradEnabled(was);
    arena?.close();
  }
}

/** The gradients of a node's operands. */
function applied(
  node: GradNode,
  slots: readonly (Tensor | null)[],
  arena: Arena | null,
): readonly (Tensor | null)[] {
  const grads = slots.map((g, k) =>
    g ?? ops.zeros(node.outs[k].shape, { dtype: node.outs[k].dtype, place: node.outs[k].place })
  );
  if (arena === null || !node.isForeign) return node.apply(grads);
  for (const g of grads) arena.give(g);
  return arena.outside(() => node.apply(grads));
}

/** Lets hooks see, and replace, the gradients of a node's outputs. */
function runHooks(node: GradNode, slots: (Tensor | null)[], arena: Arena | null): void {
  if (node.hooks === null) return;
  for (const [index, hooks] of node.hooks) {
    const g = slots[index];
    if (g === null || hooks.length === 0) continue;
    arena?.give(g);
    const run = () => hooked(node.name, hooks, g);
    slots[index] = arena === null ? run() : arena.outside(run);
  }
}

/** Where a walk begins: with the gradient given, or with ones. */
function rootOf(call: string, x: Tensor, grad: Tensor | undefined): Root {
  if (!x.requiresGrad) {
    throw new GradError(
      `Cannot ${call} from a tensor of shape ${showShape(x.shape)}: it does not require grad; ` +
        "make an input with {requiresGrad: true}, and record outside noGrad()",
    );
  }
  const edge = edgeOf(x)!;
  if (grad === undefined) {
    if (x.numel !== 1) {
      throw new GradError(
        `Cannot ${call} from shape ${
          showShape(x.shape)
        } without a gradient: only a scalar has an implied one; ` +
          "reduce it with sum() or mean(), or pass a gradient of its shape",
      );
    }
    return { edge, seed: () => ops.ones(x.shape, { dtype: x.dtype, place: x.place }) };
  }
  expectTensors(call, grad);
  if (grad.place !== x.place) {
    throw new PlaceError(
      `Cannot ${call} from a tensor on ${x.place} with a gradient on ${grad.place}: places must be ` +
        `equal; move it with .to("${x.place}")`,
    );
  }
  if (!sameShape(grad.shape, x.shape)) {
    throw new ShapeError(
      `Cannot ${call} from ${showShape(x.shape)} with a gradient of ${
        showShape(grad.shape)
      }: shapes must be equal`,
    );
  }
  return { edge, seed: () => grad.dtype === x.dtype ? grad : ops.cast(grad, x.dtype) };
}

/** Takes storages out of the open scopes, since something outside now holds them. */
export function keepAlive(x: Tensor): void {
  if (x.impl.storage !== null) keepStorage(x.impl.storage);
}

/** The work of setting `Tensor.grad`. */
export function setGrad(x: Tensor, grad: Tensor | null): void {
  if (grad !== null) {
    expectTensors("set the grad of a tensor", grad);
    const call = `Cannot set the grad of a tensor of shape ${showShape(x.shape)}`;
    if (!sameShape(grad.shape, x.shape)) {
      throw new ShapeError(`${call}: shapes must be equal: got ${showShape(grad.shape)}`);
    }
    if (grad.dtype !== x.dtype) {
      throw new DTypeError(
        `${call}: dtypes must be equal: got ${grad.dtype} for ${x.dtype}; cast it first`,
      );
    }
    if (grad.place !== x.place) {
      throw new PlaceError(
        `${call} on ${x.place}: places must be equal: got ${grad.place}; use .to("${x.place}")`,
      );
    }
    keepAlive(grad);
  }
  x.impl.grad = grad;
}

/**
 * A gradient to be given away: dense, in a buffer that is not among those `given`, since an in-place change of one
 * would show in the other.
 */
function ofItsOwn(g: Tensor, given: Set<Storage | null>): Tensor {
  const storage = g.impl.storage;
  if (storage === null) return g;
  const own = given.has(storage) || !g.isContiguous ? ops.clone(g) : g;
  given.add(own.impl.storage);
  return own;
}

/** The work of `Tensor.backward`. */
export function backward(
  x: Tensor,
  grad: Tensor | undefined,
  options: { readonly retainGraph?: boolean },
): void {
  expectOptions("backward", options);
  const { retainGraph = false } = options;
  const root = rootOf("backward", x, grad);
  const given = new Set<Storage | null>([grad?.impl.storage ?? null]);
  walk(
    [root],
    null,
    { createGraph: false, retainGraph },
    (node, _i, g, arena) => {
      const leaf = (node as LeafNode).tensor;
      // It may have been frozen since.
      if (!leaf.requiresGrad) return;
      const old = leaf.grad;
      const total = ofItsOwn(old === null ? g : ops.add(old, g), given);
      arena?.give(total);
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
 * import { grad, tensor } from "../../mod.ts";
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
  const outs = tensorsOf("grad", outputs);
  const ins = tensorsOf("grad", inputs);
  expectOptions("grad", options);
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
  const roots = outs.map((x, i) => rootOf("grad", x, options.gradOutputs?.[i]));
  const found = new Map<GradNode, Map<number, Tensor>>();
  walk(
    roots,
    watched,
    { createGraph, retainGraph: options.retainGraph ?? createGraph },
    (node, k, g, arena) => {
      arena?.give(g);
      let slots = found.get(node);
      if (slots === undefined) found.set(node, slots = new Map());
      slots.set(k, g);
    },
  );
  const given = new Set<Storage | null>(options.gradOutputs?.map((g) => g?.impl.storage ?? null));
  const was = setGradEnabled(createGraph);
  try {
    return edges.map((e, i) => {
      const g = found.get(e.node)?.get(e.index);
      if (g !== undefined) return ofItsOwn(g, given);
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
  } finally {
    setGradEnabled(was);
  }
}

/** Adds a hook that sees (and may replace) the gradient of a tensor; gives the function that removes it. */
export function registerHook(x: Tensor, hook: GradHook): () => void {
  expectFunction("registerHook", hook);
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
