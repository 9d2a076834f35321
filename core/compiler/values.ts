// The values of a graph while its kernels are formed: buffers and expressions, iteration axes, what depends on
// what, and writing a value to memory. Which values share a kernel is decided in align.ts and fuse.ts.
import { InternalError } from "../errors.ts";
import * as k from "../ir/expr.ts";
import type { Expr } from "../ir/expr.ts";
import { type Graph, type GraphOperand, type GraphValue, isValue } from "../ir/graph.ts";
import type { Meta } from "../op.ts";
import { contiguousStrides, sameShape, type Shape, sizeOf } from "../shape.ts";
import {
  type BufferRep,
  type Draft,
  exprSize,
  type Group,
  type LazyRep,
  loadIds,
  type LoadRec,
  type ScalarRep,
  type Source,
} from "./draft.ts";
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

/** How a value is represented. */
export type Rep = BufferRep | LazyRep | ScalarRep;

/** Larger expressions are written to memory rather than carried on: compiling takes longer than linearly. */
const MAX_EXPR = 400;
/** What the reductions of one kernel may come to. */
const MAX_STAGES = 4 * MAX_EXPR;

/** The table of values; the base of the fuser. */
export class Values {
  protected readonly graph: Graph;
  protected readonly target: CompilerTarget;
  protected readonly options: FuseOptions;
  protected readonly reps = new Map<GraphValue, Rep>();
  protected readonly buffers = new Map<GraphValue, BufferRep>();
  protected readonly bufferLazies = new Map<BufferRep, LazyRep>();
  protected readonly axisSizes: number[] = [];
  protected readonly loads: LoadRec[] = [];
  protected readonly args: ArgSource[] = [];
  protected readonly drafts: Draft[] = [];
  protected readonly sources: Source[] = [];
  protected readonly renames = new Map<string, Map<Expr, Expr>>();
  protected readonly uses = new Map<GraphValue, number>();
  protected nextStage = 0;

  constructor(
    graph: Graph,
    inputs: readonly (InputGeometry | null)[],
    target: CompilerTarget,
    options: FuseOptions,
  ) {
    this.graph = graph;
    this.target = target;
    this.options = options;
    graph.inputs.forEach((v, i) => {
      const geometry = inputs[i];
      if (geometry === null) {
        this.reps.set(v, { kind: "scalar", input: i });
        return;
      }
      const source: Source = {
        slot: this.sources.length,
        dtype: v.dtype,
        size: geometry.span,
        producer: null,
      };
      this.sources.push(source);
      this.setBuffer(v, {
        kind: "buffer",
        source,
        shape: v.shape,
        strides: geometry.strides,
        offset: 0,
        dtype: v.dtype,
      });
    });
    for (const node of graph.nodes) {
      for (const x of node.inputs) if (isValue(x)) this.uses.set(x, (this.uses.get(x) ?? 0) + 1);
    }
    for (const v of graph.outputs) this.uses.set(v, (this.uses.get(v) ?? 0) + 1);
  }

  // --- values -----------------------------------------------------------------------------------

  protected meta = (x: GraphOperand): Meta =>
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

  protected setBuffer(v: GraphValue, rep: BufferRep): void {
    this.reps.set(v, rep);
    this.buffers.set(v, rep);
  }

  protected setLazy(v: GraphValue, expr: Expr, axes: readonly number[], group: Group | null): void {
    this.reps.set(v, { kind: "lazy", expr, shape: v.shape, dtype: v.dtype, axes, group });
    if (group !== null) {
      // Should the value be written later, its kernel will need these: what joins others must know.
      for (const id of loadIds([expr])) group.pending.add(this.loads[id].source);
    }
    if (exprSize(expr) > MAX_EXPR) this.reps.set(v, this.materialize(v));
  }

  protected axis(size: number): number {
    this.axisSizes.push(size);
    return this.axisSizes.length - 1;
  }

  protected load(rec: LoadRec): Expr {
    this.loads.push(rec);
    return k.leaf("load", k.computeType(rec.dtype), this.loads.length - 1);
  }

  /** A buffer as an expression that loads it, over axes of its own. */
  protected loadOf(b: BufferRep): LazyRep {
    const known = this.bufferLazies.get(b);
    if (known !== undefined) return known;
    const strides = new Map<number, number>();
    const axes = b.shape.map((n, i) => {
      if (n === 1 || b.strides[i] === 0) return -1;
      const a = this.axis(n);
      strides.set(a, b.strides[i]);
      return a;
    });
    const expr = this.load({
      source: b.source,
      dtype: b.dtype,
      offset: b.offset,
      strides,
      own: null,
    });
    const lazy: LazyRep = { kind: "lazy", expr, shape: b.shape, dtype: b.dtype, axes, group: null };
    this.bufferLazies.set(b, lazy);
    return lazy;
  }

  protected resolve(lazy: LazyRep): LazyRep {
    let rep = lazy;
    while (rep.group !== null && rep.group.mergedInto !== null) {
      const { group, axes } = rep.group.mergedInto;
      rep = {
        ...rep,
        expr: this.rename([rep.expr], axes)[0],
        axes: rep.axes.map((a) => axes.get(a) ?? a),
        group,
      };
    }
    return rep;
  }

  protected lazy(v: GraphValue): LazyRep {
    const rep = this.reps.get(v);
    if (rep === undefined || rep.kind === "scalar") {
      throw new InternalError(`Cannot lower graph value %${v.id}: it has no tensor representation`);
    }
    if (rep.kind === "buffer") return this.loadOf(rep);
    const resolved = this.resolve(rep);
    if (resolved !== rep) this.reps.set(v, resolved);
    return resolved;
  }

  /** Rewrites axes of expressions; loads are read along the new axes. */
  protected rename(roots: readonly Expr[], map: ReadonlyMap<number, number>): Expr[] {
    let identity = true;
    for (const [a, b] of map) if (a !== b) identity = false;
    if (identity) return [...roots];
    const key = [...map].map(([a, b]) => `${a}>${b}`).sort().join(",");
    let memo = this.renames.get(key);
    if (memo === undefined) this.renames.set(key, memo = new Map());
    return k.rewrite(roots, (e) => {
      if (e.op === "load") {
        const rec = this.loads[e.index!];
        const strides = new Map<number, number>();
        for (const [a, s] of rec.strides) {
          const to = map.get(a) ?? a;
          strides.set(to, (strides.get(to) ?? 0) + s);
        }
        return this.load({ ...rec, strides });
      }
      if (e.op === "coord" || e.op === "size") {
        const to = map.get(e.index!);
        return to === undefined ? e : k.leaf(e.op, e.dtype, to);
      }
      return e;
    }, memo);
  }

  // --- dependencies ------------------------------------------------------------------------------

  protected inputsOf(d: Draft): Source[] {
    if (d.kind === "call") {
      const own = d.inputs.flatMap((x) => ("kind" in x ? [x.source] : []));
      return d.epilogue === null ? own : [...own, ...this.inputsOf(d.epilogue)];
    }
    const roots = d.outputs.map((o) => o.expr);
    for (const s of d.scan === null ? d.stages : [d.scan, ...d.stages]) roots.push(...s.lift);
    return [...d.pending, ...[...loadIds(roots)].map((i) => this.loads[i].source)];
  }

  /** Whether `d` needs something that `on` makes. */
  protected dependsOn(d: Draft | null, on: Draft, seen: Set<Draft> = new Set()): boolean {
    if (d === null || seen.has(d)) return false;
    const real = this.final(d);
    if (real === on) return true;
    seen.add(d);
    return this.inputsOf(real).some((s) => this.dependsOn(s.producer, on, seen));
  }

  protected final(d: Draft): Draft {
    let g = d;
    while (g.kind === "group" && g.mergedInto !== null) g = g.mergedInto.group;
    return g;
  }

  protected wouldCycle(exprs: readonly Expr[], group: Group): boolean {
    for (const id of loadIds(exprs)) {
      if (this.dependsOn(this.loads[id].source.producer, group)) return true;
    }
    return false;
  }

  // --- writing to memory -------------------------------------------------------------------------

  protected source(dtype: BufferRep["dtype"], size: number, producer: Draft): Source {
    const source: Source = { slot: this.sources.length, dtype, size, producer };
    this.sources.push(source);
    return source;
  }

  protected group(outer: readonly number[], inner: readonly number[]): Group {
    const group: Group = {
      kind: "group",
      id: this.drafts.length,
      outer,
      inner,
      stages: [],
      outputs: [],
      pending: new Set(),
      scan: null,
      mergedInto: null,
    };
    this.drafts.push(group);
    return group;
  }

  /** Whether a kernel has room for one more reduction, of `expr`. */
  protected hasRoom(group: Group, expr: Expr): boolean {
    const size = group.stages.reduce((n, s) => n + exprSize(...s.lift), exprSize(expr));
    return size <= MAX_STAGES;
  }

  /** Makes a value lie in a buffer. Axes along which it does not vary get stride 0. */
  protected materialize(v: GraphValue): BufferRep {
    const known = this.buffers.get(v);
    if (known !== undefined) return known;
    const lazy = this.lazy(v);
    const axes = lazy.axes.filter((a) => a >= 0);
    const dense = lazy.shape.map((n, i) => (lazy.axes[i] >= 0 ? n : 1));
    const strides = contiguousStrides(dense).map((s, i) => (lazy.axes[i] >= 0 ? s : 0));
    let group = lazy.group;
    let expr = lazy.expr;
    let outAxes: readonly number[] = axes;
    if (group === null) {
      const host = this.hostFor(expr, axes, dense);
      if (host !== null) {
        group = host.group;
        expr = this.rename([expr], host.map)[0];
        outAxes = axes.map((a) => host.map.get(a) ?? a);
      } else group = this.group(axes, []);
    }
    const source = this.source(v.dtype, sizeOf(dense), group);
    group.outputs.push({ expr, axes: outAxes, source });
    const rep: BufferRep = {
      kind: "buffer",
      source,
      shape: v.shape,
      strides,
      offset: 0,
      dtype: v.dtype,
    };
    this.buffers.set(v, rep);
    // A value inside a reducing kernel stays an expression for others in that kernel.
    if (lazy.group === null) this.reps.set(v, rep);
    return rep;
  }

  /** A plain kernel of the same extent that reads some of the same buffers: the value may be one more output. */
  protected hostFor(
    expr: Expr,
    axes: readonly number[],
    dense: Shape,
  ): { group: Group; map: Map<number, number> } | null {
    const sources = new Set([...loadIds([expr])].map((i) => this.loads[i].source));
    const sizes = dense.filter((_, i) => dense[i] !== 1);
    for (const d of this.drafts) {
      if (
        d.kind !== "group" || d.mergedInto !== null || d.scan !== null || d.inner.length > 0 ||
        d.outputs.length === 0
      ) continue;
      const first = d.outputs[0];
      if (
        first.axes.length !== axes.length ||
        !sameShape(first.axes.map((a) => this.axisSizes[a]), sizes)
      ) continue;
      if (!this.inputsOf(d).some((s) => sources.has(s)) || this.wouldCycle([expr], d)) continue;
      if (d.outputs.length >= 8 || d.outputs.reduce((n, o) => n + exprSize(o.expr), 0) > MAX_EXPR) {
        continue;
      }
      return { group: d, map: new Map(axes.map((a, i) => [a, first.axes[i]])) };
    }
    return null;
  }
}
