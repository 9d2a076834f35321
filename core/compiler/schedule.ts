// From fused drafts to a plan: order, epilogues, kernels with merged axes and stride classes, and when each
// buffer lives. Not here: what is fused (fuse.ts), any execution.
import { InternalError } from "../errors.ts";
import * as k from "../ir/expr.ts";
import type { Expr } from "../ir/expr.ts";
import {
  type KernelInput,
  type KernelOutput,
  makeKernel,
  type Stage,
  type StrideClass,
} from "../ir/kernel.ts";
import { contiguousStrides, sameShape } from "../shape.ts";
import type { BufferRep, CallDraft, Draft, DraftOutput, Group, LoadRec, Source } from "./draft.ts";
import { loadIds } from "./draft.ts";
import type { Fused } from "./fuse.ts";
import type { CallStep, KernelStep, Plan, Slot, SlotView, Step } from "./plan.ts";

/** Makes the plan. `into[i]` is the input that output i overwrites, or -1. */
export function schedule(fused: Fused, inputCount: number, into: readonly number[]): Plan {
  const builder = new Scheduler(fused);
  const steps = builder.steps();
  return finish(fused, steps, inputCount, into);
}

function rootsOf(g: Group): Expr[] {
  const roots = g.outputs.map((o) => o.expr);
  for (const s of g.scan === null ? g.stages : [g.scan, ...g.stages]) roots.push(...s.lift);
  return roots;
}

class Scheduler {
  readonly #fused: Fused;

  constructor(fused: Fused) {
    this.#fused = fused;
  }

  #sourcesOf(d: Draft): Source[] {
    if (d.kind === "call") {
      const own = d.inputs.flatMap((x) => ("kind" in x ? [x.source] : []));
      return d.epilogue === null ? own : [...own, ...this.#sourcesOf(d.epilogue)];
    }
    return [...loadIds(rootsOf(d))].map((i) => this.#fused.loads[i].source);
  }

  steps(): Step[] {
    const makers = new Map<number, Draft>();
    const note = (drafts: Iterable<Draft>) => {
      makers.clear();
      for (const d of drafts) {
        if (d.kind === "call") { for (const s of d.outputs) makers.set(s.slot, d); }
        else for (const o of d.outputs) makers.set(o.source.slot, d);
      }
    };
    note(this.#fused.drafts);
    const drafts = this.#attachEpilogues([...this.#fused.drafts], makers);
    note(drafts);
    const done = new Set<Draft>();
    const busy = new Set<Draft>();
    const order: Draft[] = [];
    const go = (d: Draft): void => {
      if (done.has(d)) return;
      if (busy.has(d)) {
        throw new InternalError(
          "Cannot schedule a graph: its kernels depend on each other in a circle",
        );
      }
      busy.add(d);
      for (const s of this.#sourcesOf(d)) {
        const maker = makers.get(s.slot);
        if (maker !== undefined && maker !== d) go(maker);
      }
      done.add(d);
      order.push(d);
    };
    for (const d of drafts) go(d);
    return order.map((d) => (d.kind === "call" ? this.#callStep(d) : this.#kernelStep(d, null)));
  }

  /** Moves a plain kernel that is the only reader of a call's output into the call. */
  #attachEpilogues(drafts: Draft[], makers: ReadonlyMap<number, Draft>): Draft[] {
    const readers = new Map<number, number>();
    for (const d of drafts) {
      for (const s of new Set(this.#sourcesOf(d))) {
        readers.set(s.slot, (readers.get(s.slot) ?? 0) + 1);
      }
    }
    for (const o of this.#fused.outputs) {
      readers.set(o.source.slot, (readers.get(o.source.slot) ?? 0) + 1);
    }
    const dependsOn = (d: Draft, on: Draft, seen: Set<Draft>): boolean => {
      if (d === on) return true;
      if (seen.has(d)) return false;
      seen.add(d);
      return this.#sourcesOf(d).some((s) => {
        const m = makers.get(s.slot);
        return m !== undefined && dependsOn(m, on, seen);
      });
    };
    const gone = new Set<Draft>();
    for (const g of drafts) {
      if (g.kind !== "group" || g.stages.length > 0 || g.scan !== null || g.outputs.length !== 1) {
        continue;
      }
      const out = g.outputs[0];
      // A tail runs on parts of the output, where coordinates and sizes would be those of the part.
      if (readsPlaces(out.expr)) continue;
      for (const source of new Set(this.#sourcesOf(g))) {
        const call = makers.get(source.slot);
        if (
          call === undefined || call.kind !== "call" || !call.takesEpilogue ||
          call.epilogue !== null
        ) continue;
        if (readers.get(source.slot) !== 1 || source.dtype !== out.source.dtype) continue;
        if (!this.#readsWhole(g, out, source, call)) continue;
        const others = this.#sourcesOf(g).filter((s) => s !== source);
        if (
          others.some((s) => {
            const m = makers.get(s.slot);
            return m !== undefined && dependsOn(m, call, new Set());
          })
        ) continue;
        call.epilogue = g;
        gone.add(g);
        break;
      }
    }
    return drafts.filter((d) => !gone.has(d));
  }

  /** Whether every load of `source` reads exactly the point that the kernel writes. */
  #readsWhole(g: Group, out: DraftOutput, source: Source, call: CallDraft): boolean {
    const sizes = out.axes.map((a) => this.#fused.axisSizes[a]);
    const shape = call.node.outputs[0].shape.filter((n) => n !== 1);
    if (!sameShape(sizes, shape)) return false;
    const dense = contiguousStrides(sizes);
    for (const id of loadIds([out.expr])) {
      const rec = this.#fused.loads[id];
      if (rec.source !== source) continue;
      if (rec.own !== null || rec.offset !== 0) return false;
      if (out.axes.some((a, i) => (rec.strides.get(a) ?? 0) !== dense[i])) return false;
    }
    return g.outer.length === out.axes.length;
  }

  #callStep(d: CallDraft): CallStep {
    const op = d.node.op;
    if (op.kind !== "kernel" && op.kind !== "composite") {
      throw new InternalError(`Cannot call ${op.name}`);
    }
    const outs = d.epilogue === null ? d.outputs : [d.epilogue.outputs[0].source];
    const outputs = d.node.outputs.map((v, i): SlotView => ({
      slot: outs[i].slot,
      dtype: v.dtype,
      shape: v.shape,
      strides: contiguousStrides(v.shape),
      offset: 0,
    }));
    return {
      kind: "call",
      op,
      inputs: d.inputs.map((x) => ("kind" in x ? viewOf(x) : x)),
      outputs,
      attrs: d.node.attrs,
      epilogue: d.epilogue === null ? null : this.#kernelStep(d.epilogue, d),
    };
  }

  /** As a kernel; for the epilogue of a call, over the call's whole output shape, unmerged. */
  #kernelStep(g: Group, head: CallDraft | null): KernelStep {
    const { loads, axisSizes, args } = this.#fused;
    const isPoint = (o: DraftOutput) =>
      g.scan !== null || o.axes.some((a) => g.inner.includes(a)) || g.stages.length === 0;
    // Stages, with the expressions still in the numbering of the session.
    const stages: Stage[] = g.stages.map((s) => ({
      kind: "reduce",
      init: s.init,
      lift: s.lift,
      combine: s.combine,
    }));
    const stageOf = new Map<number, number>(g.stages.map((s, i) => [s.id, i]));
    const places = new Map<DraftOutput, { stage: number; value: number }>();
    const put = (kind: "map" | "final", outputs: readonly DraftOutput[]) => {
      if (outputs.length === 0) return;
      outputs.forEach((o, i) => places.set(o, { stage: stages.length, value: i }));
      stages.push({ kind, values: outputs.map((o) => o.expr) });
    };
    if (g.scan !== null) {
      g.outputs.forEach((o, i) => places.set(o, { stage: 0, value: i }));
      stages.push({
        kind: "scan",
        init: g.scan.init,
        lift: g.scan.lift,
        combine: g.scan.combine,
        values: g.outputs.map((o) => o.expr),
      });
    } else {
      put("map", g.outputs.filter(isPoint));
      put("final", g.outputs.filter((o) => !isPoint(o)));
    }
    // Buffers.
    const used = collect(stages, g, head, loads);
    const inputs = used.records;
    const outStrides = g.outputs.map((o) => {
      const dense = contiguousStrides(o.axes.map((a) => axisSizes[a]));
      return new Map(o.axes.map((a, i) => [a, dense[i]]));
    });
    const strideTables: (ReadonlyMap<number, number> | null)[] = [
      ...inputs.map((r) => (r.own === null ? r.strides : null)),
      ...outStrides,
    ];
    // Axes.
    const order = orderAxes(g, inputs);
    const outerAxes = head === null
      ? mergeAxes(order.outer, axisSizes, strideTables, used.pinned)
      : wholeAxes(g.outputs[0], head);
    const innerAxes = mergeAxes(order.inner, axisSizes, strideTables, used.pinned);
    const axes = [...outerAxes, ...innerAxes];
    const size = (group: readonly number[]) => group.reduce((n, a) => n * axisSizes[a], 1);
    const strideOn = (t: ReadonlyMap<number, number>, group: readonly number[]) =>
      group.length === 0 ? 0 : t.get(group[group.length - 1]) ?? 0;
    const strides = [
      ...inputs.map((r) => r.own ?? axes.map((a) => strideOn(r.strides, a))),
      ...outStrides.map((t) => axes.map((a) => strideOn(t, a))),
    ];
    const sizes = axes.map(size);
    const classOn = (rowStrides: readonly number[], axis: number, exists: boolean): StrideClass => {
      if (!exists) return "zero";
      const s = rowStrides[axis];
      return s === 1 ? "unit" : s === 0 ? "zero" : "any";
    };
    const lastOuter = outerAxes.length - 1;
    const lastInner = axes.length - 1;
    const classes = (row: readonly number[]) => ({
      outer: classOn(row, lastOuter, outerAxes.length > 0),
      inner: classOn(row, lastInner, innerAxes.length > 0),
    });
    const kernelInputs = inputs.map((r, i): KernelInput =>
      r.own === null
        ? { dtype: r.dtype, ...classes(strides[i]) }
        : { dtype: r.dtype, outer: "any", inner: "any", gatherRank: r.own.length }
    );
    const kernelOutputs = g.outputs.map((o, i): KernelOutput => ({
      dtype: o.source.dtype,
      ...classes(strides[inputs.length + i]),
      ...places.get(o)!,
    }));
    const position = new Map<number, number>();
    axes.forEach((group, i) => {
      for (const a of group) position.set(a, i);
    });
    const memo = new Map<Expr, Expr>();
    const local = (es: readonly Expr[]) =>
      k.rewrite(es, (e) => {
        switch (e.op) {
          case "load":
          case "gather":
            return { ...e, index: used.inputOf.get(e.index!)! };
          case "arg":
            return { ...e, index: used.argOf.get(e.index!)! };
          case "coord":
          case "size":
            return { ...e, index: position.get(e.index!)! };
          case "result":
            return { ...e, stage: stageOf.get(e.stage!)! };
          default:
            return e;
        }
      }, memo);
    const kernel = makeKernel({
      outerRank: outerAxes.length,
      innerRank: innerAxes.length,
      inputs: kernelInputs,
      outputs: kernelOutputs,
      args: used.args.map((i) => argType(stages, i)),
      stages: stages.map((s): Stage => {
        switch (s.kind) {
          case "map":
          case "final":
            return { kind: s.kind, values: local(s.values) };
          case "reduce":
            return { kind: "reduce", init: s.init, lift: local(s.lift), combine: local(s.combine) };
          case "scan":
            return {
              kind: "scan",
              init: s.init,
              lift: local(s.lift),
              combine: local(s.combine),
              values: local(s.values),
            };
        }
      }),
      index32: true,
    });
    return {
      kind: "kernel",
      kernel,
      sizes,
      slots: [
        ...inputs.map((
          r,
        ) => (head !== null && head.outputs.includes(r.source)
          ? g.outputs[0].source.slot
          : r.source.slot)
        ),
        ...g.outputs.map((o) => o.source.slot),
      ],
      strides,
      offsets: [...inputs.map((r) => r.offset), ...g.outputs.map(() => 0)],
      args: used.args.map((i) => args[i]),
      empty: g.outputs.every((o) => o.source.size === 0),
    };
  }
}

function viewOf(b: BufferRep): SlotView {
  return {
    slot: b.source.slot,
    dtype: b.dtype,
    shape: b.shape,
    strides: b.strides,
    offset: b.offset,
  };
}

/** Whether an expression depends on where its point lies, and not only on the values there. */
function readsPlaces(root: Expr): boolean {
  let found = false;
  k.walk([root], (e) => {
    if (e.op === "coord" || e.op === "size" || e.op === "gather") found = true;
  });
  return found;
}

interface Used {
  readonly records: readonly LoadRec[];
  readonly inputOf: ReadonlyMap<number, number>;
  readonly args: readonly number[];
  readonly argOf: ReadonlyMap<number, number>;
  readonly pinned: ReadonlySet<number>;
}

/** The loads, arguments and coordinates that the stages use; equal loads become one input. */
function collect(
  stages: readonly Stage[],
  g: Group,
  head: CallDraft | null,
  loads: readonly LoadRec[],
): Used {
  const exprs = stages.flatMap((s) => {
    switch (s.kind) {
      case "map":
      case "final":
        return s.values;
      case "reduce":
        return [...s.lift, ...s.combine];
      case "scan":
        return [...s.lift, ...s.combine, ...s.values];
    }
  });
  const records: LoadRec[] = [];
  const inputOf = new Map<number, number>();
  const args: number[] = [];
  const argOf = new Map<number, number>();
  const pinned = new Set<number>();
  const space = [...g.outer, ...g.inner];
  const keys = new Map<string, number>();
  const addLoad = (id: number) => {
    if (inputOf.has(id)) return;
    const r = loads[id];
    const key = `${r.source.slot}:${r.offset}:${
      r.own === null ? space.map((a) => r.strides.get(a) ?? 0).join(",") : `g${r.own.join(",")}`
    }`;
    let at = keys.get(key);
    if (at === undefined) {
      keys.set(key, at = records.length);
      records.push(r);
    }
    inputOf.set(id, at);
  };
  if (head !== null) {
    for (const id of loadIds(exprs)) if (head.outputs.includes(loads[id].source)) addLoad(id);
  }
  k.walk(exprs, (e) => {
    if (e.op === "load" || e.op === "gather") addLoad(e.index!);
    else if (e.op === "arg" && !argOf.has(e.index!)) {
      argOf.set(e.index!, args.length);
      args.push(e.index!);
    } else if (e.op === "coord" || e.op === "size") pinned.add(e.index!);
  });
  return { records, inputOf, args, argOf, pinned };
}

function argType(stages: readonly Stage[], id: number): Expr["dtype"] {
  let type: Expr["dtype"] = "float32";
  for (const s of stages) {
    const exprs = s.kind === "map" || s.kind === "final"
      ? s.values
      : s.kind === "reduce"
      ? [...s.lift, ...s.combine]
      : [...s.lift, ...s.combine, ...s.values];
    k.walk(exprs, (e) => {
      if (e.op === "arg" && e.index === id) type = e.dtype;
    });
  }
  return type;
}

/** Outer axes in the order of the first output; inner ones too, else by falling stride of the first load. */
function orderAxes(g: Group, loads: readonly LoadRec[]): { outer: number[]; inner: number[] } {
  const byOutput = (axes: readonly number[]): number[] => {
    const first = g.outputs[0].axes.filter((a) => axes.includes(a));
    return [...first, ...axes.filter((a) => !first.includes(a))];
  };
  const outer = byOutput(g.outer);
  const covered = g.outputs.find((o) => g.inner.some((a) => o.axes.includes(a)));
  if (covered !== undefined) {
    return { outer, inner: covered.axes.filter((a) => g.inner.includes(a)) };
  }
  const lead = loads.find((r) =>
    r.own === null && g.inner.some((a) => (r.strides.get(a) ?? 0) !== 0)
  );
  const stride = (a: number) => Math.abs(lead?.strides.get(a) ?? 0);
  return { outer, inner: [...g.inner].sort((a, b) => stride(b) - stride(a)) };
}

/** Joins neighbouring axes that every buffer walks as one. */
function mergeAxes(
  axes: readonly number[],
  sizes: readonly number[],
  tables: readonly (ReadonlyMap<number, number> | null)[],
  pinned: ReadonlySet<number>,
): number[][] {
  const out: number[][] = [];
  for (const a of axes) {
    const last = out[out.length - 1];
    if (last !== undefined && !pinned.has(a)) {
      const b = last[last.length - 1];
      const joins = !pinned.has(b) && tables.every((t) => {
        if (t === null) return true;
        return (t.get(b) ?? 0) === (t.get(a) ?? 0) * sizes[a];
      });
      if (joins) {
        last.push(a);
        continue;
      }
    }
    out.push([a]);
  }
  return out;
}

/** One entry an axis of the call's output; empty where its size is 1. */
function wholeAxes(out: DraftOutput, head: CallDraft): number[][] {
  let next = 0;
  return head.node.outputs[0].shape.map((n) => (n === 1 ? [] : [out.axes[next++]]));
}

/** Slots, lifetimes, and outputs that overwrite inputs. */
function finish(fused: Fused, steps: Step[], inputCount: number, into: readonly number[]): Plan {
  const slots: Slot[] = fused.sources.map((s) => ({ index: s.slot, dtype: s.dtype, size: s.size }));
  const outputs = fused.outputs.map(viewOf);
  const reads = (s: Step): number[] =>
    s.kind === "kernel" ? [...s.slots.slice(0, s.kernel.inputs.length)] : [
      ...s.inputs.flatMap((x) => ("slot" in x ? [x.slot] : [])),
      ...(s.epilogue === null ? [] : s.epilogue.slots),
    ];
  const writes = (s: Step): number[] =>
    s.kind === "kernel" ? s.slots.slice(s.kernel.inputs.length) : s.outputs.map((o) => o.slot);
  const first = new Map<number, number>();
  const last = new Map<number, number>();
  steps.forEach((s, i) => {
    for (const slot of writes(s)) if (!first.has(slot)) first.set(slot, i);
    for (const slot of [...reads(s), ...writes(s)]) last.set(slot, i);
  });
  const kept = new Set(outputs.map((o) => o.slot));
  const allocate: number[][] = steps.map(() => []);
  const release: number[][] = steps.map(() => []);
  // Outputs in place: the slot takes the input's buffer if nobody reads the input's old value later,
  // and the writing kernel reads it point by point.
  const target = outputs.map((_, i) => into[i] ?? -1);
  const inPlace = new Map<number, number>();
  const copyBack = outputs.map((o, i) => {
    if (target[i] < 0) return false;
    const at = first.get(o.slot);
    const seen = outputs.some((p, j) => j !== i && p.slot === o.slot);
    if (at === undefined || seen || o.offset !== 0) return true;
    const ok = steps.every((s, j) => {
      if (!reads(s).includes(target[i])) return true;
      if (j < at) return true;
      return j === at && s.kind === "kernel" && pointwise(s, target[i], o.slot);
    });
    if (ok) inPlace.set(o.slot, target[i]);
    return !ok;
  });
  for (const [slot, at] of first) {
    if (!inPlace.has(slot)) allocate[at].push(slot);
    if (!kept.has(slot) && slot >= inputCount) release[last.get(slot)!].push(slot);
  }
  return {
    inputs: inputCount,
    slots,
    steps,
    allocate,
    release,
    outputs,
    into: outputs.map((o) => inPlace.get(o.slot) ?? -1),
    copyBack,
  };
}

/** Whether the kernel reads `input` only at the very point where it writes `output`. */
function pointwise(s: KernelStep, input: number, output: number): boolean {
  const n = s.kernel.inputs.length;
  const w = s.slots.indexOf(output, n);
  if (s.kernel.stages.length !== 1 || s.kernel.stages[0].kind !== "map") return false;
  return s.slots.every((slot, i) =>
    i >= n || slot !== input ||
    (s.kernel.inputs[i].gatherRank === undefined && s.offsets[i] === s.offsets[w] &&
      sameShape(s.strides[i], s.strides[w]))
  );
}
