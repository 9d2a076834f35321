// Steps of the gradient graph: nodes, edges, saved tensors with their versions. Not here: recording calls
// (record.ts), walking back (walk.ts).
import type { DType } from "../dtype.ts";
import { GradError } from "../errors.ts";
import type { Attrs, Op, Operand } from "../op.ts";
import type { Place } from "../place.ts";
import { type Shape, showShape } from "../shape.ts";
import type { Storage } from "../storage.ts";
import { isGradEnabled } from "./mode.ts";
import { Tensor } from "../tensor.ts";

/** Where a gradient goes: an output of a node. */
export interface Edge {
  readonly node: GradNode;
  readonly index: number;
}

/** Called with a gradient; may give another in its place. */
export type GradHook = (grad: Tensor) => Tensor | void;
let nextSeq = 1;

/** A step of the gradient graph. */
export abstract class GradNode {
  readonly isLeaf: boolean = false;
  /** Whether its gradient is code of others, who may hold on to what they see and make. */
  get isForeign(): boolean {
    return false;
  }
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
    // Nothing has changed since, so it is true, though the change that made it may have counted up afterwards.
    if (this.#storage !== null) x.impl.history = this.#storage.history;
    return x;
  }

  release(): void {
    this.#tensor?.dispose();
    this.#tensor = null;
  }
}

/** The same elements, cut off from the graph. */
export function detached(x: Tensor): Tensor {
  const { storage, strides, offset, traced } = x.impl;
  const y = new Tensor({
    storage,
    shape: x.shape,
    strides,
    offset,
    dtype: x.dtype,
    place: x.place,
    traced,
  });
  y.impl.history = DETACHED;
  return y;
}

/** A second tensor on the same storage with the same place in the graph. */
export function aliasOf(x: Tensor): Tensor {
  const impl = x.impl;
  const edge = edgeOf(x);
  const y = detached(x);
  y.impl.requiresGrad = impl.requiresGrad;
  y.impl.history = impl.history;
  if (edge !== null) {
    y.impl.node = edge.node;
    y.impl.nodeIndex = edge.index;
  }
  return y;
}

/** The history of tensors that follow none: detached ones. */
export const DETACHED = -1;

/** Whether a recorded change through another tensor has given the elements a history that `x` does not know. */
export function isStale({ impl }: Tensor): boolean {
  const { storage, history } = impl;
  if (storage === null || history === storage.history || history === DETACHED) return false;
  return !impl.requiresGrad || (impl.node !== null && !impl.node.isLeaf);
}

/** Refuses a tensor whose history is no longer true. */
export function checkHistory(x: Tensor): void {
  if (!isStale(x)) return;
  throw new GradError(
    `Cannot record an op on this ${x.dtype} tensor of shape ${
      showShape(x.shape)
    }: its elements were ` +
      "changed in place through another view while gradients were recorded, so its own history is no longer " +
      "true; go on with the tensor that was changed and take views of it again, or detach() this one",
  );
}

/** Where the gradient of a tensor goes, or null if it needs none. */
export function edgeOf(x: Tensor): Edge | null {
  const impl = x.impl;
  checkHistory(x);
  if (!impl.requiresGrad) return null;
  if (impl.node === null) impl.node = new LeafNode(x);
  return { node: impl.node, index: impl.nodeIndex };
}

/** An operand in a node: kept, a number, or not read by the gradients that are needed. */
type SavedOperand = Saved | number | bigint | boolean | undefined;

function saved(
  op: Op,
  edges: readonly (Edge | null)[],
  x: Operand,
  i: number,
): SavedOperand {
  if (!(x instanceof Tensor)) return x;
  const read = edges.some((e, k) => e !== null && (op.reads?.[k]?.includes(i) ?? true));
  return read ? new Saved(x) : undefined;
}

/** The node of a recorded op call. */
export class OpNode extends GradNode {
  readonly name: string;
  readonly edges: readonly (Edge | null)[];
  readonly outs: readonly { readonly shape: Shape; readonly dtype: DType; readonly place: Place }[];
  readonly #op: Op;
  readonly #attrs: Attrs;
  readonly #inputs: readonly SavedOperand[];
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
    this.#inputs = keep ? operands.map((x, i) => saved(op, edges, x, i)) : [];
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
    const unpack = (x: SavedOperand) => (x instanceof Saved ? x.unpack(this.name) : x);
    return this.#op.vjp!(grads, {
      // A rule that touches what it does not list in `reads` meets undefined, and fails.
      inputs: this.#inputs.map(unpack) as Operand[],
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

/** A gradient as a function of the outputs' gradients and of tensors that a node keeps. */
export interface KeptGradient {
  readonly saved: readonly Tensor[];
  apply(grads: readonly Tensor[], saved: readonly Tensor[]): readonly (Tensor | null)[];
}

/** A node made of functions: composites with derived gradients, and users' own. */
export class FunctionNode extends GradNode {
  readonly name: string;
  readonly edges: readonly (Edge | null)[];
  readonly outs: readonly { readonly shape: Shape; readonly dtype: DType; readonly place: Place }[];
  #saved: readonly Saved[];
  readonly #apply: KeptGradient["apply"];
  readonly #again: readonly Saved[];
  readonly #applyAgain: KeptGradient["apply"] | null;

  /**
   * `saved` are checked and handed to `apply`. Where they are results of the call itself they have no
   * history; then a gradient that will be differentiated comes from `again`, which keeps operands alone.
   */
  constructor(
    name: string,
    operands: readonly Operand[],
    outputs: readonly Tensor[],
    saved: readonly Tensor[],
    apply: KeptGradient["apply"],
    again?: KeptGradient,
  ) {
    super();
    this.name = name;
    this.edges = operands.map((x) => (x instanceof Tensor ? edgeOf(x) : null));
    this.outs = outputs.map((o) => ({ shape: o.shape, dtype: o.dtype, place: o.place }));
    this.#saved = saved.map((x) => new Saved(x));
    this.#apply = apply;
    this.#again = again?.saved.map((x) => new Saved(x)) ?? [];
    this.#applyAgain = again?.apply ?? null;
  }

  /** Saves tensors in the place of those given before: outputs, once they point at this node. */
  save(tensors: readonly Tensor[]): void {
    this.#saved = tensors.map((x) => new Saved(x));
  }

  override apply(grads: readonly Tensor[]): readonly (Tensor | null)[] {
    if (this.#applyAgain !== null && isGradEnabled()) {
      return this.#applyAgain(grads, this.#again.map((x) => x.unpack(this.name)));
    }
    return this.#apply(grads, this.#saved.map((x) => x.unpack(this.name)));
  }

  override release(): void {
    for (const x of this.#saved) x.release();
    for (const x of this.#again) x.release();
  }
}
