// The working state of fusion: what a value is while kernels are being formed. Data and small helpers.
import type { DType } from "../dtype.ts";
import type { Expr } from "../ir/expr.ts";
import { walk } from "../ir/expr.ts";
import { decomposeExtra } from "../ir/math/mod.ts";
import type { GraphNode } from "../ir/graph.ts";
import type { Shape } from "../shape.ts";
import type { ArgSource } from "./plan.ts";

/** A buffer that exists, or will when its draft has run. */
export interface Source {
  readonly slot: number;
  readonly dtype: DType;
  readonly size: number;
  /** What fills it; null for a graph input. */
  readonly producer: Draft | null;
}

/** A value that lies in a buffer, with its geometry. */
export interface BufferRep {
  readonly kind: "buffer";
  readonly source: Source;
  readonly shape: Shape;
  readonly strides: readonly number[];
  readonly offset: number;
  readonly dtype: DType;
}

/** A value that is still an expression over an iteration space. */
export interface LazyRep {
  readonly kind: "lazy";
  readonly expr: Expr;
  readonly shape: Shape;
  readonly dtype: DType;
  /** For each axis of the value the axis of the space, or -1 where the value does not vary. */
  readonly axes: readonly number[];
  /** The kernel whose reduction results it reads; null when it could be computed anywhere. */
  readonly group: Group | null;
}

/** A number given at run time. */
export interface ScalarRep {
  readonly kind: "scalar";
  readonly input: number;
}

/** How a load reads its source: strides by axis of the space, or by its own axes for gathers. */
export interface LoadRec {
  readonly source: Source;
  readonly dtype: DType;
  readonly offset: number;
  readonly strides: ReadonlyMap<number, number>;
  readonly own: readonly number[] | null;
}

/** A reduction of a kernel; `id` orders stages and is the `stage` of "result" leaves. */
export interface DraftStage {
  readonly id: number;
  init: readonly Expr[];
  lift: readonly Expr[];
  combine: readonly Expr[];
}

/** A value that a kernel writes. */
export interface DraftOutput {
  expr: Expr;
  /** Axes in the order of the buffer, which is dense. */
  axes: readonly number[];
  readonly source: Source;
}

/** A kernel being formed. */
export interface Group {
  readonly kind: "group";
  readonly id: number;
  outer: readonly number[];
  inner: readonly number[];
  stages: DraftStage[];
  outputs: DraftOutput[];
  /** What values that still are expressions of this kernel read: they may be written by it later. */
  readonly pending: Set<Source>;
  /** A running fold: its outputs read the state ("left"). */
  scan: DraftStage | null;
  /** Where its stages went when it was merged, with the renaming of axes. */
  mergedInto: { readonly group: Group; readonly axes: ReadonlyMap<number, number> } | null;
}

/** An op that the backend runs whole. */
export interface CallDraft {
  readonly kind: "call";
  readonly id: number;
  readonly node: GraphNode;
  readonly inputs: readonly (BufferRep | ArgSource)[];
  outputs: readonly Source[];
  readonly takesEpilogue: boolean;
  epilogue: Group | null;
}

/** Something that will be a step. */
export type Draft = Group | CallDraft;

/** About as many core ops as one of the others comes down to. */
const EXTRA = 16;

/** How much there is to compute, in core ops. */
export function exprSize(...roots: readonly Expr[]): number {
  let n = 0;
  walk(roots, (e) => {
    n += e.op in decomposeExtra && e.op !== "fma" ? EXTRA : 1;
  });
  return n;
}

/** The load records an expression reads. */
export function loadIds(roots: readonly Expr[]): Set<number> {
  const ids = new Set<number>();
  walk(roots, (e) => {
    if (e.op === "load" || e.op === "gather") ids.add(e.index!);
  });
  return ids;
}
