// What a graph is compiled to: steps over slots, with the slots that may be freed after each step.
// Data only; core/engine/run.ts executes it.
import type { DType } from "../dtype.ts";
import type { Kernel } from "../ir/kernel.ts";
import type { CompositeOp, KernelOp } from "../op.ts";
import type { Attrs } from "../op.ts";
import type { Shape } from "../shape.ts";

/** A place for a buffer: graph inputs come first, then what the plan allocates. */
export interface Slot {
  readonly index: number;
  readonly dtype: DType;
  /** Elements. */
  readonly size: number;
}

/** A buffer with geometry: offset relative to the slot's own beginning (of an input: its offset). */
export interface SlotView {
  readonly slot: number;
  readonly dtype: DType;
  readonly shape: Shape;
  readonly strides: readonly number[];
  readonly offset: number;
}

/** Where a kernel's scalar argument comes from: a number, or a scalar input of the graph. */
export type ArgSource = { readonly value: number | bigint } | {
  readonly input: number;
  readonly type: "bool" | "int32" | "int64" | "float32" | "float64";
};

/** A kernel and where its buffers are. */
export interface KernelStep {
  readonly kind: "kernel";
  readonly kernel: Kernel;
  readonly sizes: readonly number[];
  /** Inputs, then outputs. */
  readonly slots: readonly number[];
  readonly strides: readonly (readonly number[])[];
  readonly offsets: readonly number[];
  readonly args: readonly ArgSource[];
  /** Nothing to do: some output is empty. */
  readonly empty: boolean;
}

/** A call of an op that the backend runs whole. */
export interface CallStep {
  readonly kind: "call";
  readonly op: (KernelOp | CompositeOp) & { readonly id: number };
  readonly inputs: readonly (SlotView | ArgSource)[];
  readonly outputs: readonly SlotView[];
  readonly attrs: Attrs;
  /** Its first buffer is output 0 of the call, which it also writes. */
  readonly epilogue: KernelStep | null;
}

/** One thing to do. */
export type Step = KernelStep | CallStep;

/** A compiled graph. */
export interface Plan {
  /** Number of tensor inputs: slots 0 to inputs - 1. */
  readonly inputs: number;
  readonly slots: readonly Slot[];
  readonly steps: readonly Step[];
  /** Slots allocated before each step, and freed after it. */
  readonly allocate: readonly (readonly number[])[];
  readonly release: readonly (readonly number[])[];
  /** Outputs; one whose slot is an input is a view of it. */
  readonly outputs: readonly SlotView[];
  /** For outputs written in place: the input slot whose buffer it uses, else -1. */
  readonly into: readonly number[];
  /** Outputs that were computed aside and have to be copied into their target afterwards. */
  readonly copyBack: readonly boolean[];
}

/** What the compiler must know of a backend. */
export interface CompilerTarget {
  /** How the op is run whole on this backend for such operands, or null when it is not. */
  override(
    op: KernelOp | CompositeOp,
    shapes: readonly Shape[],
    dtypes: readonly DType[],
    attrs: Attrs,
  ): {
    readonly epilogue: boolean;
    readonly contiguous: boolean;
  } | null;
}
