// Kernel IR: one iteration space, strided inputs, a list of stages, outputs. Structure only: sizes,
// strides and numbers are arguments of a launch. Not here: how kernels are made (core/compiler),
// run (interp.ts, the oracle) or rendered (backends).
import { type ComputeType, type DType, DTYPES } from "../dtype.ts";
import { type Expr, exprKey, walk } from "./expr.ts";

/** How a buffer moves along the last axis of the domain: dense, not at all, or anyhow. */
export type StrideClass = "unit" | "zero" | "any";

/** A buffer that a kernel reads. */
export interface KernelInput {
  readonly dtype: DType;
  /** Strides along the last outer axis and along the last inner axis. */
  readonly outer: StrideClass;
  readonly inner: StrideClass;
  /** The number of axes of its own, when it is read by "gather" (its strides are then along those). */
  readonly gatherRank?: number;
}

/** A buffer that a kernel writes. */
export interface KernelOutput {
  readonly dtype: DType;
  readonly outer: StrideClass;
  readonly inner: StrideClass;
  /** The stage whose value it takes, and which of its values. */
  readonly stage: number;
  readonly value: number;
}

/**
 * A stage runs over all inner points of one outer point, after the stages before it.
 * - `map`: values at every (outer, inner) point.
 * - `reduce`: folds `lift` over the inner points, starting from `init`: combine(left, right) → left.
 *   combine is associative and commutative and init leaves every value as it is, so any grouping may
 *   be taken. Its results are read by later stages as "result". If it is a plain sum of floats,
 *   renderers sum in blocks (DESIGN: a float32 sum of 10^8 ones is 10^8).
 * - `scan`: like reduce, in order along the only inner axis, giving `values` (which may read "left",
 *   the state that already includes this point) at every point.
 * - `final`: values once per outer point, reading results.
 */
export type Stage =
  | { readonly kind: "map"; readonly values: readonly Expr[] }
  | {
    readonly kind: "reduce";
    readonly init: readonly Expr[];
    readonly lift: readonly Expr[];
    readonly combine: readonly Expr[];
  }
  | {
    readonly kind: "scan";
    readonly init: readonly Expr[];
    readonly lift: readonly Expr[];
    readonly combine: readonly Expr[];
    readonly values: readonly Expr[];
  }
  | { readonly kind: "final"; readonly values: readonly Expr[] };

/** What a renderer compiles. Two kernels with equal keys are the same code. */
export interface Kernel {
  readonly key: string;
  /** Axes that are independent of each other. */
  readonly outerRank: number;
  /** Axes that the stages run over; 0 means that there is one inner point. */
  readonly innerRank: number;
  readonly inputs: readonly KernelInput[];
  readonly args: readonly ComputeType[];
  readonly stages: readonly Stage[];
  readonly outputs: readonly KernelOutput[];
  /** Whether coordinates and offsets fit 32 bits; always true on a 32-bit memory. */
  readonly index32: boolean;
}

/** A kernel before its key is made. */
export type KernelSpec = Omit<Kernel, "key">;

/** Where a launch finds its data. Strides count elements; offsets too. */
export interface Launch {
  /** Outer sizes, then inner sizes. */
  readonly sizes: readonly number[];
  /** For every input, then every output: the strides, one per domain axis (or per own axis, gatherRank). */
  readonly strides: readonly (readonly number[])[];
  /** For every input, then every output: elements before the first. */
  readonly offsets: readonly number[];
  /** Run-time scalars. */
  readonly args: readonly (number | bigint)[];
}

/** The expressions of a stage. */
export function stageExprs(stage: Stage): readonly Expr[] {
  switch (stage.kind) {
    case "map":
    case "final":
      return stage.values;
    case "reduce":
      return [...stage.init, ...stage.lift, ...stage.combine];
    case "scan":
      return [...stage.init, ...stage.lift, ...stage.combine, ...stage.values];
  }
}

const CLASS: Record<StrideClass, string> = { unit: "u", zero: "z", any: "a" };

/** Fills in the key. */
export function makeKernel(spec: KernelSpec): Kernel {
  const io = (b: KernelInput | KernelOutput) =>
    DTYPES[b.dtype].code.toString(36) + CLASS[b.outer] + CLASS[b.inner];
  const key = [
    `${spec.outerRank}.${spec.innerRank}${spec.index32 ? "" : "w"}`,
    spec.inputs.map((i) => io(i) + (i.gatherRank ?? "")).join(","),
    spec.outputs.map((o) => `${io(o)}${o.stage}.${o.value}`).join(","),
    spec.args.join(","),
    ...spec.stages.map((s) =>
      `${s.kind}:${s.kind === "reduce" || s.kind === "scan" ? s.init.length : ""}${
        exprKey(stageExprs(s))
      }`
    ),
  ].join("/");
  return { ...spec, key };
}

/**
 * The plain reduction a combine is, when it is one that renderers may treat specially:
 * state `i` alone, combined by one op.
 */
export function simpleCombine(
  stage: Extract<Stage, { kind: "reduce" | "scan" }>,
  i: number,
): "add" | "mul" | "min" | "max" | "and" | "or" | null {
  const c = stage.combine[i];
  if (c.args.length !== 2) return null;
  const [a, b] = c.args;
  const own = (e: Expr, side: "left" | "right") => e.op === side && e.index === i;
  if (!((own(a, "left") && own(b, "right")) || (own(a, "right") && own(b, "left")))) return null;
  switch (c.op) {
    case "add":
    case "mul":
    case "min":
    case "max":
    case "and":
    case "or":
      return c.op;
    default:
      return null;
  }
}

/** The inputs that an expression list loads at the current point or gathers from. */
export function loadsOf(exprs: readonly Expr[]): Set<number> {
  const out = new Set<number>();
  walk(exprs, (e) => {
    if (e.op === "load" || e.op === "gather") out.add(e.index!);
  });
  return out;
}
