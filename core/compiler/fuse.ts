// Which ops share a kernel. Walks a graph once, in order, keeping elementwise results as expressions and
// reductions as stages of the kernel that they are computed in; writes to memory only what some later
// kernel, call or output needs. Follows an op's kind, never its name. Turning the resulting drafts
// into steps is schedule.ts.
import { InternalError } from "../errors.ts";
import * as k from "../ir/expr.ts";
import type { Expr } from "../ir/expr.ts";
import {
  type Graph,
  type GraphNode,
  type GraphOperand,
  type GraphValue,
  isValue,
} from "../ir/graph.ts";
import type { ElementwiseOp, Meta, ReduceOp, ScanOp, ViewOp } from "../op.ts";
import { contiguousStrides, isContiguous, sameShape, type Shape, sizeOf } from "../shape.ts";
import {
  type BufferRep,
  type CallDraft,
  type Draft,
  type DraftStage,
  exprSize,
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

/** Geometry of the graph's inputs: what they are views of. */
export interface InputGeometry {
  readonly strides: readonly number[];
  /** Elements from the first to the end of its storage, at least. */
  readonly span: number;
}

/** Options of the compiler. */
export interface FuseOptions {
  /** All known numbers become run-time arguments, so that one kernel serves them all. */
  readonly liftNumbers: boolean;
}

type Rep = BufferRep | LazyRep | ScalarRep;

/** Larger expressions are written to memory rather than carried on. */
const MAX_EXPR = 400;

interface Aligned {
  readonly xs: readonly Expr[];
  readonly axes: readonly number[];
  readonly group: Group | null;
}

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

class Fuser {
  readonly #graph: Graph;
  readonly #target: CompilerTarget;
  readonly #options: FuseOptions;
  readonly #reps = new Map<GraphValue, Rep>();
  readonly #buffers = new Map<GraphValue, BufferRep>();
  readonly #bufferLazies = new Map<BufferRep, LazyRep>();
  readonly #axisSizes: number[] = [];
  readonly #loads: LoadRec[] = [];
  readonly #args: ArgSource[] = [];
  readonly #drafts: Draft[] = [];
  readonly #sources: Source[] = [];
  readonly #renames = new Map<string, Map<Expr, Expr>>();
  readonly #uses = new Map<GraphValue, number>();
  #nextStage = 0;

  constructor(
    graph: Graph,
    inputs: readonly (InputGeometry | null)[],
    target: CompilerTarget,
    options: FuseOptions,
  ) {
    this.#graph = graph;
    this.#target = target;
    this.#options = options;
    graph.inputs.forEach((v, i) => {
      const geometry = inputs[i];
      if (geometry === null) {
        this.#reps.set(v, { kind: "scalar", input: i });
        return;
      }
      const source: Source = {
        slot: this.#sources.length,
        dtype: v.dtype,
        size: geometry.span,
        producer: null,
      };
      this.#sources.push(source);
      this.#setBuffer(v, {
        kind: "buffer",
        source,
        shape: v.shape,
        strides: geometry.strides,
        offset: 0,
        dtype: v.dtype,
      });
    });
    for (const node of graph.nodes) {
      for (const x of node.inputs) if (isValue(x)) this.#uses.set(x, (this.#uses.get(x) ?? 0) + 1);
    }
    for (const v of graph.outputs) this.#uses.set(v, (this.#uses.get(v) ?? 0) + 1);
  }

  run(): Fused {
    for (const node of this.#graph.nodes) {
      if (node.outputs.every((v) => !this.#uses.has(v))) continue;
      this.#visit(node);
    }
    const outputs = this.#graph.outputs.map((v) => this.#materialize(v));
    return {
      drafts: this.#drafts.filter((d) =>
        d.kind === "call" || (d.mergedInto === null && d.outputs.length > 0)
      ),
      axisSizes: this.#axisSizes,
      loads: this.#loads,
      args: this.#args,
      outputs,
      sources: this.#sources,
    };
  }

  #visit(node: GraphNode): void {
    const op = node.op;
    switch (op.kind) {
      case "elementwise":
        return this.#elementwise(node, op);
      case "reduce":
        return this.#reduce(node, op);
      case "scan":
        return this.#scan(node, op);
      case "view":
        return this.#view(node, op);
      case "kernel":
      case "composite":
        return this.#call(node);
      default:
        op satisfies never;
    }
  }

  // --- values -----------------------------------------------------------------------------------

  #meta = (x: GraphOperand): Meta =>
    isValue(x) ? { shape: x.shape, dtype: x.dtype, scalar: x.weak ? true : undefined } : {
      shape: [],
      dtype: typeof x.scalar === "number"
        ? "float32"
        : typeof x.scalar === "bigint"
        ? "int64"
        : "bool",
      scalar: true,
      value: x.scalar,
    };

  #setBuffer(v: GraphValue, rep: BufferRep): void {
    this.#reps.set(v, rep);
    this.#buffers.set(v, rep);
  }

  #setLazy(v: GraphValue, expr: Expr, axes: readonly number[], group: Group | null): void {
    this.#reps.set(v, { kind: "lazy", expr, shape: v.shape, dtype: v.dtype, axes, group });
    if (exprSize(expr) > MAX_EXPR) this.#materialize(v);
  }

  #axis(size: number): number {
    this.#axisSizes.push(size);
    return this.#axisSizes.length - 1;
  }

  #load(rec: LoadRec): Expr {
    this.#loads.push(rec);
    return k.leaf("load", k.computeType(rec.dtype), this.#loads.length - 1);
  }

  /** A buffer as an expression that loads it, over axes of its own. */
  #loadOf(b: BufferRep): LazyRep {
    const known = this.#bufferLazies.get(b);
    if (known !== undefined) return known;
    const strides = new Map<number, number>();
    const axes = b.shape.map((n, i) => {
      if (n === 1 || b.strides[i] === 0) return -1;
      const a = this.#axis(n);
      strides.set(a, b.strides[i]);
      return a;
    });
    const expr = this.#load({
      source: b.source,
      dtype: b.dtype,
      offset: b.offset,
      strides,
      own: null,
    });
    const lazy: LazyRep = { kind: "lazy", expr, shape: b.shape, dtype: b.dtype, axes, group: null };
    this.#bufferLazies.set(b, lazy);
    return lazy;
  }

  #resolve(lazy: LazyRep): LazyRep {
    let rep = lazy;
    while (rep.group !== null && rep.group.mergedInto !== null) {
      const { group, axes } = rep.group.mergedInto;
      rep = {
        ...rep,
        expr: this.#rename([rep.expr], axes)[0],
        axes: rep.axes.map((a) => axes.get(a) ?? a),
        group,
      };
    }
    return rep;
  }

  #lazy(v: GraphValue): LazyRep {
    const rep = this.#reps.get(v);
    if (rep === undefined || rep.kind === "scalar") {
      throw new InternalError(`Cannot lower graph value %${v.id}: it has no tensor representation`);
    }
    if (rep.kind === "buffer") return this.#loadOf(rep);
    const resolved = this.#resolve(rep);
    if (resolved !== rep) this.#reps.set(v, resolved);
    return resolved;
  }

  /** Rewrites axes of expressions; loads are read along the new axes. */
  #rename(roots: readonly Expr[], map: ReadonlyMap<number, number>): Expr[] {
    let identity = true;
    for (const [a, b] of map) if (a !== b) identity = false;
    if (identity) return [...roots];
    const key = [...map].map(([a, b]) => `${a}>${b}`).sort().join(",");
    let memo = this.#renames.get(key);
    if (memo === undefined) this.#renames.set(key, memo = new Map());
    return k.rewrite(roots, (e) => {
      if (e.op === "load") {
        const rec = this.#loads[e.index!];
        const strides = new Map<number, number>();
        for (const [a, s] of rec.strides) {
          const to = map.get(a) ?? a;
          strides.set(to, (strides.get(to) ?? 0) + s);
        }
        return this.#load({ ...rec, strides });
      }
      if (e.op === "coord" || e.op === "size") {
        const to = map.get(e.index!);
        return to === undefined ? e : k.leaf(e.op, e.dtype, to);
      }
      return e;
    }, memo);
  }

  // --- dependencies ------------------------------------------------------------------------------

  #inputsOf(d: Draft): Source[] {
    if (d.kind === "call") {
      const own = d.inputs.flatMap((x) => ("kind" in x ? [x.source] : []));
      return d.epilogue === null ? own : [...own, ...this.#inputsOf(d.epilogue)];
    }
    const roots = d.outputs.map((o) => o.expr);
    for (const s of d.scan === null ? d.stages : [d.scan, ...d.stages]) roots.push(...s.lift);
    return [...loadIds(roots)].map((i) => this.#loads[i].source);
  }

  /** Whether `d` needs something that `on` makes. */
  #dependsOn(d: Draft | null, on: Draft, seen: Set<Draft> = new Set()): boolean {
    if (d === null || seen.has(d)) return false;
    const real = this.#final(d);
    if (real === on) return true;
    seen.add(d);
    return this.#inputsOf(real).some((s) => this.#dependsOn(s.producer, on, seen));
  }

  #final(d: Draft): Draft {
    let g = d;
    while (g.kind === "group" && g.mergedInto !== null) g = g.mergedInto.group;
    return g;
  }

  #wouldCycle(exprs: readonly Expr[], group: Group): boolean {
    for (const id of loadIds(exprs)) {
      if (this.#dependsOn(this.#loads[id].source.producer, group)) return true;
    }
    return false;
  }

  // --- writing to memory -------------------------------------------------------------------------

  #source(dtype: BufferRep["dtype"], size: number, producer: Draft): Source {
    const source: Source = { slot: this.#sources.length, dtype, size, producer };
    this.#sources.push(source);
    return source;
  }

  #group(outer: readonly number[], inner: readonly number[]): Group {
    const group: Group = {
      kind: "group",
      id: this.#drafts.length,
      outer,
      inner,
      stages: [],
      outputs: [],
      scan: null,
      mergedInto: null,
    };
    this.#drafts.push(group);
    return group;
  }

  /** Makes a value lie in a buffer. Axes along which it does not vary get stride 0. */
  #materialize(v: GraphValue): BufferRep {
    const known = this.#buffers.get(v);
    if (known !== undefined) return known;
    const lazy = this.#lazy(v);
    const axes = lazy.axes.filter((a) => a >= 0);
    const dense = lazy.shape.map((n, i) => (lazy.axes[i] >= 0 ? n : 1));
    const strides = contiguousStrides(dense).map((s, i) => (lazy.axes[i] >= 0 ? s : 0));
    let group = lazy.group;
    let expr = lazy.expr;
    let outAxes: readonly number[] = axes;
    if (group === null) {
      const host = this.#hostFor(expr, axes, dense);
      if (host !== null) {
        group = host.group;
        expr = this.#rename([expr], host.map)[0];
        outAxes = axes.map((a) => host.map.get(a) ?? a);
      } else group = this.#group(axes, []);
    }
    const source = this.#source(v.dtype, sizeOf(dense), group);
    group.outputs.push({ expr, axes: outAxes, source });
    const rep: BufferRep = {
      kind: "buffer",
      source,
      shape: v.shape,
      strides,
      offset: 0,
      dtype: v.dtype,
    };
    this.#buffers.set(v, rep);
    // A value inside a reducing kernel stays an expression for others in that kernel.
    if (lazy.group === null) this.#reps.set(v, rep);
    return rep;
  }

  /** A plain kernel of the same extent that reads some of the same buffers: the value may be one more output. */
  #hostFor(
    expr: Expr,
    axes: readonly number[],
    dense: Shape,
  ): { group: Group; map: Map<number, number> } | null {
    const sources = new Set([...loadIds([expr])].map((i) => this.#loads[i].source));
    const sizes = dense.filter((_, i) => dense[i] !== 1);
    for (const d of this.#drafts) {
      if (
        d.kind !== "group" || d.mergedInto !== null || d.scan !== null || d.inner.length > 0 ||
        d.outputs.length === 0
      ) continue;
      const first = d.outputs[0];
      if (
        first.axes.length !== axes.length ||
        !sameShape(first.axes.map((a) => this.#axisSizes[a]), sizes)
      ) continue;
      if (!this.#inputsOf(d).some((s) => sources.has(s)) || this.#wouldCycle([expr], d)) continue;
      if (d.outputs.length >= 8 || d.outputs.reduce((n, o) => n + exprSize(o.expr), 0) > MAX_EXPR) {
        continue;
      }
      return { group: d, map: new Map(axes.map((a, i) => [a, first.axes[i]])) };
    }
    return null;
  }

  // --- alignment ---------------------------------------------------------------------------------

  /** Brings operands to one iteration space in which the output has shape `out`. */
  #align(values: readonly (GraphValue | null)[], out: Shape, cover: boolean): Aligned {
    for (;;) {
      const reps = values.map((v) => (v === null ? null : this.#lazy(v)));
      const result = this.#tryAlign(values, reps, out, cover);
      if (result !== null) return result;
    }
  }

  /** One attempt; null after something was written to memory to make the next attempt simpler. */
  #tryAlign(
    values: readonly (GraphValue | null)[],
    reps: readonly (LazyRep | null)[],
    out: Shape,
    cover: boolean,
  ): Aligned | null {
    const covered = (r: LazyRep) => r.axes.reduce((n, a) => n + (a >= 0 ? 1 : 0), 0);
    const order = reps.flatMap((r, i) => (r === null ? [] : [{ r, i }]));
    order.sort((x, y) =>
      Number(y.r.group !== null) - Number(x.r.group !== null) || covered(y.r) - covered(x.r) ||
      x.i - y.i
    );
    const oax = new Array<number>(out.length).fill(-1);
    const xs = new Array<Expr>(reps.length);
    const group = order.length > 0 ? order[0].r.group : null;
    const spare = (size: number): number => {
      if (group === null) return this.#axis(size);
      return group.inner.find((a) => this.#axisSizes[a] === size && !oax.includes(a)) ?? -1;
    };
    for (const [nth, { r, i }] of order.entries()) {
      const lead = out.length - r.shape.length;
      const map = new Map<number, number>();
      for (let j = 0; j < r.shape.length; j++) {
        const a = r.axes[j];
        if (a < 0) continue;
        if (oax[lead + j] < 0) {
          const own = nth === 0 || (group === null && !oax.includes(a));
          const to = own ? a : spare(out[lead + j]);
          if (to < 0) return this.#giveUp(values[order[0].i]!);
          oax[lead + j] = to;
        }
        map.set(a, oax[lead + j]);
      }
      if (r.group !== null && nth > 0) {
        if (r.group === group) {
          for (const [a, b] of map) if (a !== b) return this.#giveUp(values[i]!);
        } else {
          const full = this.#mergeMap(group!, r.group, map);
          if (full === null) return this.#giveUp(values[i]!);
          xs[i] = this.#rename([r.expr], full)[0];
          this.#merge(group!, r.group, full);
          continue;
        }
      }
      xs[i] = this.#rename([r.expr], map)[0];
    }
    if (cover) {
      for (let j = 0; j < out.length; j++) {
        if (oax[j] >= 0 || out[j] === 1) continue;
        const a = spare(out[j]);
        if (a < 0) return this.#giveUp(values[order[0].i]!);
        oax[j] = a;
      }
    }
    if (group !== null) {
      const inside = group.inner.filter((a) => oax.includes(a)).length;
      const allIn = oax.every((a) => a < 0 || group.inner.includes(a) || group.outer.includes(a));
      const free = order.filter((o) => o.r.group === null).map((o) => xs[o.i]);
      if (
        !allIn || (inside !== 0 && inside !== group.inner.length) || this.#wouldCycle(free, group)
      ) {
        return this.#giveUp(values[order[0].i]!);
      }
    }
    return { xs, axes: oax, group };
  }

  /** Writes a value that stands in the way to memory, as what it is from then on. */
  #giveUp(v: GraphValue): null {
    const rep = this.#materialize(v);
    this.#reps.set(v, rep);
    return null;
  }

  /** How the axes of `from` would be named in `into`, or null if they cannot be one kernel. */
  #mergeMap(
    into: Group,
    from: Group,
    known: ReadonlyMap<number, number>,
  ): Map<number, number> | null {
    if (from.scan !== null || into.scan !== null) return null;
    if (from.outer.length !== into.outer.length || from.inner.length !== into.inner.length) {
      return null;
    }
    const map = new Map(known);
    for (const a of from.outer) {
      const b = map.get(a);
      if (b === undefined || !into.outer.includes(b)) return null;
    }
    const used = new Set(map.values());
    for (const a of from.inner) {
      const b = map.get(a) ??
        into.inner.find((x) => !used.has(x) && this.#axisSizes[x] === this.#axisSizes[a]);
      if (b === undefined || !into.inner.includes(b)) return null;
      map.set(a, b);
      used.add(b);
    }
    if (this.#dependsOn(into, from) || this.#dependsOn(from, into)) return null;
    return map;
  }

  #merge(into: Group, from: Group, map: ReadonlyMap<number, number>): void {
    const re = (es: readonly Expr[]) => this.#rename(es, map);
    for (const s of from.stages) {
      into.stages.push({ id: s.id, init: s.init, lift: re(s.lift), combine: s.combine });
    }
    for (const o of from.outputs) {
      into.outputs.push({
        expr: re([o.expr])[0],
        axes: o.axes.map((a) => map.get(a) ?? a),
        source: o.source,
      });
    }
    into.stages.sort((a, b) => a.id - b.id);
    from.mergedInto = { group: into, axes: map };
    from.stages = [];
    from.outputs = [];
  }

  // --- numbers -----------------------------------------------------------------------------------

  #number(value: number | bigint | boolean, type: Expr["dtype"]): Expr {
    const v = Number(value);
    const plain = Number.isInteger(v) ? Math.abs(v) <= 2 : v === 0.5;
    if (plain && !this.#options.liftNumbers) return k.constant(value, type);
    this.#args.push({ value: convertScalar(value, type) });
    return k.leaf("arg", type, this.#args.length - 1);
  }

  #scalarInput(input: number, type: Expr["dtype"]): Expr {
    this.#args.push({ input, type });
    return k.leaf("arg", type, this.#args.length - 1);
  }

  #env(axes: readonly number[], node: GraphNode): LowerEnv {
    const out = node.outputs[0].shape;
    return {
      coord: (
        j,
      ) => (axes[j] < 0 || axes[j] === undefined
        ? k.constant(0, "int32")
        : k.leaf("coord", "int32", axes[j])),
      size: (j) =>
        axes[j] >= 0 ? k.leaf("size", "int32", axes[j]) : this.#number(out[j] ?? 1, "int32"),
      at: (i, coords) => {
        const x = node.inputs[i];
        if (!isValue(x)) {
          throw new InternalError(
            `Cannot gather from operand ${i} of ${node.op.name}: it is a number`,
          );
        }
        const b = this.#materialize(x);
        this.#loads.push({
          source: b.source,
          dtype: b.dtype,
          offset: b.offset,
          strides: new Map(),
          own: b.strides,
        });
        return k.gather(this.#loads.length - 1, k.computeType(b.dtype), coords);
      },
      number: (value, dtype) => this.#number(value, dtype),
    };
  }

  // --- kinds of nodes ----------------------------------------------------------------------------

  #elementwise(node: GraphNode, op: ElementwiseOp): void {
    const out = node.outputs[0];
    const metas = node.inputs.map(this.#meta);
    const types = operandTypes(op.dtype(op.name, metas, node.attrs).compute, node.inputs.length);
    const indexed = op.indexed ?? [];
    const tensors = node.inputs.map((x, i) =>
      isValue(x) && !indexed.includes(i) && this.#reps.get(x)!.kind !== "scalar" ? x : null
    );
    for (const i of indexed) this.#materialize(node.inputs[i] as GraphValue);
    const cover = op.shape !== undefined || indexed.length > 0;
    let aligned = this.#align(tensors, out.shape, cover);
    if (indexed.length > 0 && aligned.group !== null) {
      const group = aligned.group;
      const late = indexed.some((i) => {
        const b = this.#buffers.get(node.inputs[i] as GraphValue)!;
        return this.#dependsOn(b.source.producer, group);
      });
      if (late) {
        for (const v of tensors) if (v !== null) this.#giveUp(v);
        aligned = this.#align(tensors, out.shape, cover);
      }
    }
    const xs = node.inputs.map((x, i) => {
      if (indexed.includes(i)) return null;
      if (tensors[i] !== null) return aligned.xs[i];
      const type = k.computeType(types[i]);
      if (!isValue(x)) return this.#number(x.scalar, type);
      return this.#scalarInput((this.#reps.get(x) as ScalarRep).input, type);
    });
    const expr = lowerElementwise(op, xs, metas, node.attrs, this.#env(aligned.axes, node));
    this.#setLazy(out, expr, aligned.axes, aligned.group);
  }

  /** The operand of a fold, free of other kernels, varying along every axis in `need`. */
  #foldOperand(v: GraphValue, need: readonly number[], mayBeBound: boolean): LazyRep {
    let lazy = this.#lazy(v);
    const missing = (r: LazyRep) => need.some((i) => r.axes[i] < 0 && r.shape[i] !== 1);
    if (lazy.group !== null && (!mayBeBound || missing(lazy))) {
      this.#giveUp(v);
      lazy = this.#lazy(v);
    }
    if (!missing(lazy)) return lazy;
    const axes = lazy.axes.map((a, i) =>
      a < 0 && need.includes(i) && lazy.shape[i] !== 1 ? this.#axis(lazy.shape[i]) : a
    );
    return { ...lazy, axes };
  }

  #reduce(node: GraphNode, op: ReduceOp): void {
    const v = node.inputs[0] as GraphValue;
    const axes = node.attrs.axes as readonly number[];
    let lazy = this.#foldOperand(v, axes, true);
    const folded = (r: LazyRep) => axes.map((i) => r.axes[i]).filter((a) => a >= 0);
    let group = lazy.group;
    if (group !== null) {
      const inner = folded(lazy);
      const same = inner.length === group.inner.length && inner.every((a) =>
        group!.inner.includes(a)
      ) &&
        group.outer.every((a) => lazy.axes.includes(a));
      if (!same) {
        this.#giveUp(v);
        lazy = this.#foldOperand(v, axes, false);
        group = null;
      }
    }
    const inner = folded(lazy);
    if (group === null) {
      const outer = lazy.axes.filter((a) => a >= 0 && !inner.includes(a));
      group = this.#drafts.find((d): d is Group =>
        d.kind === "group" && d.mergedInto === null && d.scan === null && d.stages.length > 0 &&
        sameSet(d.inner, inner) && sameSet(d.outer, outer) && !this.#wouldCycle([lazy.expr], d)
      ) ?? this.#group(outer, inner);
    }
    const spaceAxes = lazy.axes;
    const metas = node.inputs.map(this.#meta);
    const fold = lowerFold(op, [lazy.expr], metas, node.attrs, axes, this.#env(spaceAxes, node));
    const stage: DraftStage = {
      id: this.#nextStage++,
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
    node.outputs.forEach((out, i) => this.#setLazy(out, values[i], outAxes, group));
  }

  #scan(node: GraphNode, op: ScanOp): void {
    const v = node.inputs[0] as GraphValue;
    const axis = node.attrs.axis as number;
    const all = v.shape.map((_, i) => i);
    const lazy = this.#foldOperand(v, all, false);
    const axes = lazy.axes.map((a) => a);
    if (axes.length > 0 && axes[axis] < 0) axes[axis] = this.#axis(1);
    const inner = axes.length > 0 ? [axes[axis]] : [this.#axis(1)];
    const outer = axes.filter((a, i) => a >= 0 && i !== axis);
    const group = this.#group(outer, inner);
    const metas = node.inputs.map(this.#meta);
    const fold = lowerFold(
      op,
      [lazy.expr],
      metas,
      node.attrs,
      v.shape.length > 0 ? [axis] : [],
      this.#env(axes, node),
    );
    group.scan = { id: this.#nextStage++, init: fold.init, lift: fold.lift, combine: fold.combine };
    const values = fold.post(fold.init.map((e, i) => k.leaf("left", e.dtype, i)));
    const dense = axes.filter((a) => a >= 0);
    node.outputs.forEach((out, i) => {
      const source = this.#source(out.dtype, sizeOf(out.shape), group);
      group.outputs.push({ expr: values[i], axes: dense, source });
      this.#setBuffer(out, {
        kind: "buffer",
        source,
        shape: out.shape,
        strides: contiguousStrides(out.shape),
        offset: 0,
        dtype: out.dtype,
      });
    });
  }

  #view(node: GraphNode, op: ViewOp): void {
    const v = node.inputs[0] as GraphValue;
    const out = node.outputs[0];
    const rep = this.#reps.get(v)!;
    if (rep.kind === "lazy") {
      const lazy = this.#lazy(v);
      const axes = this.#viewAxes(node, op, lazy);
      if (axes !== null) return this.#setLazy(out, lazy.expr, axes, lazy.group);
      const pushed = lazy.group === null ? this.#pushView(node, op, lazy) : null;
      if (pushed !== null) {
        this.#reps.set(out, pushed);
        return;
      }
    }
    const from = this.#materialize(v);
    const geometry = op.view(from, out.shape, node.attrs);
    if (geometry !== null) {
      return this.#setBuffer(out, {
        kind: "buffer",
        source: from.source,
        shape: out.shape,
        strides: geometry.strides,
        offset: geometry.offset,
        dtype: out.dtype,
      });
    }
    const dense = this.#copy(from);
    const again = op.view(dense, out.shape, node.attrs);
    if (again === null) throw new InternalError(`Cannot view a dense tensor by ${op.name}`);
    this.#setBuffer(out, {
      ...dense,
      shape: out.shape,
      strides: again.strides,
      offset: again.offset,
    });
  }

  /** The axes of a lazy value after a view that only drops, adds or permutes axes; else null. */
  #viewAxes(node: GraphNode, op: ViewOp, lazy: LazyRep): readonly number[] | null {
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
  #pushView(node: GraphNode, op: ViewOp, lazy: LazyRep): LazyRep | null {
    const out = node.outputs[0].shape;
    let ok = true;
    k.walk([lazy.expr], (e) => {
      if (e.op === "coord" || e.op === "size" || e.op === "gather") ok = false;
    });
    if (!ok || sizeOf(out) > sizeOf(lazy.shape)) return null;
    const geometry = new Map<number, NonNullable<ReturnType<ViewOp["view"]>>>();
    for (const id of loadIds([lazy.expr])) {
      const rec = this.#loads[id];
      const strides = lazy.axes.map((a) => (a < 0 ? 0 : rec.strides.get(a) ?? 0));
      const g = op.view({ shape: lazy.shape, strides, offset: rec.offset }, out, node.attrs);
      if (g === null) return null;
      geometry.set(id, g);
    }
    const axes = out.map((n) => (n === 1 ? -1 : this.#axis(n)));
    const [expr] = k.rewrite([lazy.expr], (e) => {
      if (e.op !== "load") return e;
      const g = geometry.get(e.index!)!;
      const strides = new Map<number, number>();
      axes.forEach((a, i) => {
        if (a >= 0 && g.strides[i] !== 0) strides.set(a, g.strides[i]);
      });
      return this.#load({ ...this.#loads[e.index!], strides, offset: g.offset });
    });
    return { kind: "lazy", expr, shape: out, dtype: lazy.dtype, axes, group: null };
  }

  /** A dense copy of a buffer. */
  #copy(from: BufferRep): BufferRep {
    const lazy = this.#loadOf(from);
    const axes = lazy.axes.map((
      a,
      i,
    ) => (a < 0 && from.shape[i] !== 1 ? this.#axis(from.shape[i]) : a));
    const dense = axes.filter((a) => a >= 0);
    const group = this.#group(dense, []);
    const source = this.#source(from.dtype, sizeOf(from.shape), group);
    group.outputs.push({ expr: lazy.expr, axes: dense, source });
    return { ...from, source, strides: contiguousStrides(from.shape), offset: 0 };
  }

  #call(node: GraphNode): void {
    const op = node.op;
    if (op.kind !== "kernel" && op.kind !== "composite") {
      throw new InternalError(`Cannot call ${op.name} as a kernel`);
    }
    const values = node.inputs.filter(isValue);
    const how = this.#target.override(
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
      const rep = this.#reps.get(x)!;
      if (rep.kind === "scalar") return { input: rep.input, type: "float64" };
      const b = this.#materialize(x);
      return dense && !isContiguous(b.shape, b.strides) ? this.#copy(b) : b;
    });
    const draft: CallDraft = {
      kind: "call",
      id: this.#drafts.length,
      node,
      inputs,
      outputs: [],
      takesEpilogue: op.kind === "kernel" && op.epilogue === true && how?.epilogue === true,
      epilogue: null,
    };
    this.#drafts.push(draft);
    draft.outputs = node.outputs.map((out) => this.#source(out.dtype, sizeOf(out.shape), draft));
    node.outputs.forEach((out, i) => {
      this.#setBuffer(out, {
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
