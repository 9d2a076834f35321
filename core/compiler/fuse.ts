// Which ops share a kernel. Walks a graph once, in order, keeping elementwise results as expressions and
// reductions as stages of the kernel that they are computed in; writes to memory only what some later
// kernel, call or output needs. Follows an op's kind, never its name. Turning the resulting drafts
// into steps is schedule.ts.
import { InternalError } from "../errors.ts";
import * as k from "../ir/expr.ts";
import type { Expr } from "../ir/expr.ts";
import { type Graph, type GraphNode, type GraphValue, isValue } from "../ir/graph.ts";
import type { ElementwiseOp, ReduceOp, ScanOp, ViewOp } from "../op.ts";
import {
  contiguousStrides,
  isContiguous,
  requirePositions,
  sameShape,
  type Shape,
  sizeOf,
} from "../shape.ts";
import { Aligner } from "./align.ts";
import {
  type BufferRep,
  type CallDraft,
  type Draft,
  type DraftStage,
  type Group,
  type LazyRep,
  loadIds,
  type LoadRec,
  type ScalarRep,
  type Source,
} from "./draft.ts";
import {
  convertScalar,
  lowerElementwise,
  type LowerEnv,
  lowerFold,
  operandTypes,
} from "./lower.ts";
import type { ArgSource, CompilerTarget } from "./plan.ts";
import type { FuseOptions, InputGeometry } from "./values.ts";

export type { FuseOptions, InputGeometry } from "./values.ts";

/** What fusion leaves to scheduling. */
export interface Fused {
  readonly drafts: readonly Draft[];
  readonly axisSizes: readonly number[];
  readonly loads: readonly LoadRec[];
  readonly args: readonly ArgSource[];
  readonly outputs: readonly BufferRep[];
  readonly sources: readonly Source[];
}

/** Forms the kernels of a graph. */
export function fuse(
  graph: Graph,
  inputs: readonly (InputGeometry | null)[],
  target: CompilerTarget,
  options: FuseOptions,
): Fused {
  return new Fuser(graph, inputs, target, options).run();
}

class Fuser extends Aligner {
  run(): Fused {
    for (const node of this.graph.nodes) {
      if (node.outputs.every((v) => !this.uses.has(v))) continue;
      this.visit(node);
    }
    const outputs = this.graph.outputs.map((v) => this.output(v));
    return {
      drafts: this.drafts.filter((d) =>
        d.kind === "call" || (d.mergedInto === null && d.outputs.length > 0)
      ),
      axisSizes: this.axisSizes,
      loads: this.loads,
      args: this.args,
      outputs,
      sources: this.sources,
    };
  }

  /** An output in memory: dense, unless it is a view of an input, since it may be changed in place. */
  protected output(v: GraphValue): BufferRep {
    const rep = this.reps.get(v);
    if (rep?.kind === "lazy" && rep.group === null && !this.buffers.has(v)) {
      const axes = rep.axes.map((a, i) =>
        a < 0 && rep.shape[i] !== 1 ? this.axis(rep.shape[i]) : a
      );
      this.reps.set(v, { ...rep, axes });
    }
    const b = this.materialize(v);
    const stretched = b.shape.some((n, i) => n > 1 && b.strides[i] === 0);
    return stretched && b.source.producer !== null ? this.copy(b) : b;
  }

  protected visit(node: GraphNode): void {
    const op = node.op;
    switch (op.kind) {
      case "elementwise":
        return this.elementwise(node, op);
      case "reduce":
        return this.reduce(node, op);
      case "scan":
        return this.scan(node, op);
      case "view":
        return this.view(node, op);
      case "kernel":
      case "composite":
        return this.call(node);
      default:
        op satisfies never;
    }
  }

  // --- numbers -----------------------------------------------------------------------------------

  protected number(value: number | bigint | boolean, type: Expr["dtype"]): Expr {
    const v = Number(value);
    const plain = Number.isInteger(v) ? Math.abs(v) <= 2 : v === 0.5;
    if (plain && !this.options.liftNumbers) return k.constant(value, type);
    this.args.push({ value: convertScalar(value, type) });
    return k.leaf("arg", type, this.args.length - 1);
  }

  protected scalarInput(input: number, type: Expr["dtype"]): Expr {
    this.args.push({ input, type });
    return k.leaf("arg", type, this.args.length - 1);
  }

  protected env(axes: readonly number[], node: GraphNode): LowerEnv {
    const out = node.outputs[0].shape;
    return {
      coord: (j) => {
        if (axes[j] < 0 || axes[j] === undefined) return k.constant(0, "int32");
        requirePositions(node.op.name, out, this.axisSizes[axes[j]]);
        return k.leaf("coord", "int32", axes[j]);
      },
      size: (j) =>
        axes[j] >= 0 ? k.leaf("size", "int32", axes[j]) : this.number(out[j] ?? 1, "int32"),
      at: (i, coords) => {
        const x = node.inputs[i];
        if (!isValue(x)) {
          throw new InternalError(
            `Cannot gather from operand ${i} of ${node.op.name}: it is a number`,
          );
        }
        for (const n of x.shape) requirePositions(node.op.name, x.shape, n);
        const b = this.materialize(x);
        this.loads.push({
          source: b.source,
          dtype: b.dtype,
          offset: b.offset,
          strides: new Map(),
          own: b.strides,
        });
        return k.gather(this.loads.length - 1, k.computeType(b.dtype), coords);
      },
      number: (value, dtype) => this.number(value, dtype),
    };
  }

  // --- kinds of nodes ----------------------------------------------------------------------------

  protected elementwise(node: GraphNode, op: ElementwiseOp): void {
    const out = node.outputs[0];
    const metas = node.inputs.map(this.meta);
    const types = operandTypes(op.dtype(op.name, metas, node.attrs).compute, node.inputs.length);
    const indexed = op.indexed ?? [];
    const tensors = node.inputs.map((x, i) =>
      isValue(x) && !indexed.includes(i) && this.reps.get(x)!.kind !== "scalar" ? x : null
    );
    for (const i of indexed) this.materialize(node.inputs[i] as GraphValue);
    const cover = op.shape !== undefined || indexed.length > 0;
    let aligned = this.align(tensors, out.shape, cover);
    if (indexed.length > 0 && aligned.group !== null) {
      const group = aligned.group;
      const late = indexed.some((i) => {
        const b = this.buffers.get(node.inputs[i] as GraphValue)!;
        return this.dependsOn(b.source.producer, group);
      });
      if (late) {
        for (const v of tensors) if (v !== null) this.giveUp(v);
        aligned = this.align(tensors, out.shape, cover);
      }
    }
    const xs = node.inputs.map((x, i) => {
      if (indexed.includes(i)) return null;
      if (tensors[i] !== null) return aligned.xs[i];
      const type = k.computeType(types[i]);
      if (!isValue(x)) return this.number(x.scalar, type);
      return this.scalarInput((this.reps.get(x) as ScalarRep).input, type);
    });
    const expr = lowerElementwise(op, xs, metas, node.attrs, this.env(aligned.axes, node));
    this.setLazy(out, expr, aligned.axes, aligned.group);
  }

  /** The operand of a fold, free of other kernels, varying along every axis in `need`. */
  protected foldOperand(v: GraphValue, need: readonly number[], mayBeBound: boolean): LazyRep {
    let lazy = this.lazy(v);
    const missing = (r: LazyRep) => need.some((i) => r.axes[i] < 0 && r.shape[i] !== 1);
    if (lazy.group !== null && (!mayBeBound || missing(lazy))) {
      this.giveUp(v);
      lazy = this.lazy(v);
    }
    if (!missing(lazy)) return lazy;
    const axes = lazy.axes.map((a, i) =>
      a < 0 && need.includes(i) && lazy.shape[i] !== 1 ? this.axis(lazy.shape[i]) : a
    );
    return { ...lazy, axes };
  }

  protected reduce(node: GraphNode, op: ReduceOp): void {
    const v = node.inputs[0] as GraphValue;
    const axes = node.attrs.axes as readonly number[];
    let lazy = this.foldOperand(v, axes, true);
    const folded = (r: LazyRep) => axes.map((i) => r.axes[i]).filter((a) => a >= 0);
    let group = lazy.group;
    if (group !== null) {
      const inner = folded(lazy);
      const same = inner.length === group.inner.length && inner.every((a) =>
        group!.inner.includes(a)
      ) &&
        group.outer.every((a) => lazy.axes.includes(a)) && this.hasRoom(group, lazy.expr);
      if (!same) {
        this.giveUp(v);
        lazy = this.foldOperand(v, axes, false);
        group = null;
      }
    }
    const inner = folded(lazy);
    if (group === null) {
      const outer = lazy.axes.filter((a) => a >= 0 && !inner.includes(a));
      group = this.drafts.find((d): d is Group =>
        d.kind === "group" && d.mergedInto === null && d.scan === null && d.stages.length > 0 &&
        sameSet(d.inner, inner) && sameSet(d.outer, outer) && this.hasRoom(d, lazy.expr) &&
        !this.wouldCycle([lazy.expr], d)
      ) ?? this.group(outer, inner);
    }
    const spaceAxes = lazy.axes;
    const metas = node.inputs.map(this.meta);
    const fold = lowerFold(op, [lazy.expr], metas, node.attrs, axes, this.env(spaceAxes, node));
    const stage: DraftStage = {
      id: this.nextStage++,
      init: fold.init,
      lift: fold.lift,
      combine: fold.combine,
    };
    group.stages.push(stage);
    const state = fold.init.map((e, i) => k.leaf("result", e.dtype, i, stage.id));
    const values = fold.post(state);
    const keepdim = node.attrs.keepdim === true;
    const outAxes: number[] = [];
    lazy.axes.forEach((a, i) => {
      if (!axes.includes(i)) outAxes.push(a);
      else if (keepdim) outAxes.push(-1);
    });
    node.outputs.forEach((out, i) => this.setLazy(out, values[i], outAxes, group));
  }

  protected scan(node: GraphNode, op: ScanOp): void {
    const v = node.inputs[0] as GraphValue;
    const axis = node.attrs.axis as number;
    const all = v.shape.map((_, i) => i);
    const lazy = this.foldOperand(v, all, false);
    const axes = lazy.axes.map((a) => a);
    if (axes.length > 0 && axes[axis] < 0) axes[axis] = this.axis(1);
    const inner = axes.length > 0 ? [axes[axis]] : [this.axis(1)];
    const outer = axes.filter((a, i) => a >= 0 && i !== axis);
    const group = this.group(outer, inner);
    const metas = node.inputs.map(this.meta);
    const fold = lowerFold(
      op,
      [lazy.expr],
      metas,
      node.attrs,
      v.shape.length > 0 ? [axis] : [],
      this.env(axes, node),
    );
    group.scan = { id: this.nextStage++, init: fold.init, lift: fold.lift, combine: fold.combine };
    const values = fold.post(fold.init.map((e, i) => k.leaf("left", e.dtype, i)));
    const dense = axes.filter((a) => a >= 0);
    node.outputs.forEach((out, i) => {
      const source = this.source(out.dtype, sizeOf(out.shape), group);
      group.outputs.push({ expr: values[i], axes: dense, source });
      this.setBuffer(out, {
        kind: "buffer",
        source,
        shape: out.shape,
        strides: contiguousStrides(out.shape),
        offset: 0,
        dtype: out.dtype,
      });
    });
  }

  protected view(node: GraphNode, op: ViewOp): void {
    const v = node.inputs[0] as GraphValue;
    const out = node.outputs[0];
    const rep = this.reps.get(v)!;
    if (rep.kind === "lazy") {
      const lazy = this.lazy(v);
      const axes = this.viewAxes(node, op, lazy);
      if (axes !== null) return this.setLazy(out, lazy.expr, axes, lazy.group);
      const pushed = lazy.group === null ? this.pushView(node, op, lazy) : null;
      if (pushed !== null) {
        this.reps.set(out, pushed);
        return;
      }
    }
    const from = this.materialize(v);
    const geometry = op.view(from, out.shape, node.attrs);
    if (geometry !== null) {
      return this.setBuffer(out, {
        kind: "buffer",
        source: from.source,
        shape: out.shape,
        strides: geometry.strides,
        offset: geometry.offset,
        dtype: out.dtype,
      });
    }
    const dense = this.copy(from);
    const again = op.view(dense, out.shape, node.attrs);
    if (again === null) throw new InternalError(`Cannot view a dense tensor by ${op.name}`);
    this.setBuffer(out, {
      ...dense,
      shape: out.shape,
      strides: again.strides,
      offset: again.offset,
    });
  }

  /** The axes of a lazy value after a view that only drops, adds or permutes axes; else null. */
  protected viewAxes(node: GraphNode, op: ViewOp, lazy: LazyRep): readonly number[] | null {
    const out = node.outputs[0].shape;
    if (op.axes !== undefined) {
      return op.axes({ shape: lazy.shape, dtype: lazy.dtype }, node.attrs)
        .map((i, j) => (i < 0 || lazy.shape[i] !== out[j] ? -1 : lazy.axes[i]));
    }
    // A reshape that moves only axes of size 1.
    const from = lazy.shape.filter((n) => n !== 1);
    const to = out.filter((n) => n !== 1);
    if (op.name !== node.op.name || !sameShape(from, to) || !reshapes(op, lazy.shape, out, node)) {
      return null;
    }
    const kept = lazy.axes.filter((_, i) => lazy.shape[i] !== 1);
    let next = 0;
    return out.map((n) => (n === 1 ? -1 : kept[next++]));
  }

  /** A view of an elementwise result is the elementwise result of views. */
  protected pushView(node: GraphNode, op: ViewOp, lazy: LazyRep): LazyRep | null {
    const out = node.outputs[0].shape;
    let ok = true;
    k.walk([lazy.expr], (e) => {
      if (e.op === "coord" || e.op === "size" || e.op === "gather") ok = false;
    });
    if (!ok || sizeOf(out) > sizeOf(lazy.shape)) return null;
    const geometry = new Map<number, NonNullable<ReturnType<ViewOp["view"]>>>();
    for (const id of loadIds([lazy.expr])) {
      const rec = this.loads[id];
      const strides = lazy.axes.map((a) => (a < 0 ? 0 : rec.strides.get(a) ?? 0));
      const g = op.view({ shape: lazy.shape, strides, offset: rec.offset }, out, node.attrs);
      if (g === null) return null;
      geometry.set(id, g);
    }
    const axes = out.map((n) => (n === 1 ? -1 : this.axis(n)));
    const [expr] = k.rewrite([lazy.expr], (e) => {
      if (e.op !== "load") return e;
      const g = geometry.get(e.index!)!;
      const strides = new Map<number, number>();
      axes.forEach((a, i) => {
        if (a >= 0 && g.strides[i] !== 0) strides.set(a, g.strides[i]);
      });
      return this.load({ ...this.loads[e.index!], strides, offset: g.offset });
    });
    return { kind: "lazy", expr, shape: out, dtype: lazy.dtype, axes, group: null };
  }

  /** A dense copy of a buffer. */
  protected copy(from: BufferRep): BufferRep {
    const lazy = this.loadOf(from);
    const axes = lazy.axes.map((
      a,
      i,
    ) => (a < 0 && from.shape[i] !== 1 ? this.axis(from.shape[i]) : a));
    const dense = axes.filter((a) => a >= 0);
    const group = this.group(dense, []);
    const source = this.source(from.dtype, sizeOf(from.shape), group);
    group.outputs.push({ expr: lazy.expr, axes: dense, source });
    return { ...from, source, strides: contiguousStrides(from.shape), offset: 0 };
  }

  protected call(node: GraphNode): void {
    const op = node.op;
    if (op.kind !== "kernel" && op.kind !== "composite") {
      throw new InternalError(`Cannot call ${op.name} as a kernel`);
    }
    const values = node.inputs.filter(isValue);
    const how = this.target.override(
      op,
      values.map((v) => v.shape),
      values.map((v) => v.dtype),
      node.attrs,
    );
    const dense = how?.contiguous === true ||
      (how === null && op.kind === "kernel" && op.lower !== undefined);
    const inputs = node.inputs.map((x): BufferRep | ArgSource => {
      if (!isValue(x)) {
        return { value: typeof x.scalar === "boolean" ? Number(x.scalar) : x.scalar };
      }
      const rep = this.reps.get(x)!;
      if (rep.kind === "scalar") return { input: rep.input, type: "float64" };
      const b = this.materialize(x);
      return dense && !isContiguous(b.shape, b.strides) ? this.copy(b) : b;
    });
    const draft: CallDraft = {
      kind: "call",
      id: this.drafts.length,
      node,
      inputs,
      outputs: [],
      takesEpilogue: op.kind === "kernel" && op.epilogue === true && how?.epilogue === true,
      epilogue: null,
    };
    this.drafts.push(draft);
    draft.outputs = node.outputs.map((out) => this.source(out.dtype, sizeOf(out.shape), draft));
    node.outputs.forEach((out, i) => {
      this.setBuffer(out, {
        kind: "buffer",
        source: draft.outputs[i],
        shape: out.shape,
        strides: contiguousStrides(out.shape),
        offset: 0,
        dtype: out.dtype,
      });
    });
  }
}

/** Whether a view keeps the row-major order of elements, judged on a dense input. */
function reshapes(op: ViewOp, from: Shape, to: Shape, node: GraphNode): boolean {
  const g = op.view({ shape: from, strides: contiguousStrides(from), offset: 0 }, to, node.attrs);
  return g !== null && g.offset === 0 && isContiguous(to, g.strides) && sizeOf(from) === sizeOf(to);
}

function sameSet(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((x) => b.includes(x));
}
