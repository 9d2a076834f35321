// What an op is: the five kinds of definition, and the late-bound slot through which every call goes
// to the one dispatch (core/engine). Not here: any op (ops/), any execution.
import {
  type DataArray,
  type DType,
  DTYPES,
  getDefaultDtype,
  isFloat,
  isInteger,
  promoteScalar,
  promoteTypes,
} from "./dtype.ts";
import { DTypeError, ValueError } from "./errors.ts";
import type { Expr } from "./ir/expr.ts";
import type { Kernel, Launch } from "./ir/kernel.ts";
import type { Place } from "./place.ts";
import { broadcastShapes, type Shape } from "./shape.ts";
import type { HostArray } from "./host.ts";
import type { Tensor } from "./tensor.ts";

/** What an op takes: tensors, and numbers that are weak scalars. */
export type Operand = Tensor | number | bigint | boolean;

/** Static properties of a call: part of every cache key, so never a number that varies by step. */
export type Attrs = Readonly<Record<string, unknown>>;

/** Shape and dtype of an operand; scalars have `scalar: true`, rank 0 and the dtype they fall to. */
export interface Meta {
  readonly shape: Shape;
  readonly dtype: DType;
  readonly scalar?: boolean;
  /** The number, when it is known at this point. */
  readonly value?: number | bigint | boolean;
}

/** What a gradient rule gets beside the incoming gradients. */
export interface VjpContext {
  /** The operands, if the op saves them ("in", "both"). */
  readonly inputs: readonly Operand[];
  /** The outputs, if the op saves them ("out", "both"). */
  readonly outputs: readonly Tensor[];
  readonly attrs: Attrs;
  readonly shapes: readonly Shape[];
  readonly dtypes: readonly DType[];
  /** Which operands need a gradient: give null for the others. */
  readonly needs: readonly boolean[];
}

/**
 * A gradient rule: from the gradients of the outputs to those of the operands, in ops on tensors. A
 * gradient may have the broadcast shape and a wider dtype: autograd undoes both.
 */
export type Vjp = (g: readonly Tensor[], ctx: VjpContext) => readonly (Tensor | null)[];

/** Inputs on which an op is tested; the `special` ones name ties, infinities, NaN and extremes. */
export interface Sample {
  /** Operands: shape and values as nested arrays or flat numbers with a shape, or plain scalars. */
  readonly inputs: readonly SampleInput[];
  readonly attrs?: Attrs;
  /** Do not check gradients here (a kink, an infinity). */
  readonly noGrad?: boolean;
}

/** One operand of a {@linkcode Sample}. */
export type SampleInput =
  | number
  | { readonly shape: Shape; readonly range?: readonly [number, number]; readonly dtype?: DType }
  | { readonly values: readonly number[]; readonly shape?: Shape; readonly dtype?: DType };

interface OpCommon {
  /** The name people know it by: also its name in errors, dumps and tables. */
  readonly name: string;
  /** How autocast treats it: white = run in low precision, black = in float32. Default grey. */
  readonly amp?: "white" | "black" | "grey";
  /** The gradient rule; null says that no gradient passes. */
  readonly vjp: Vjp | null;
  /** What the rule reads. Default "in". */
  readonly saves?: "in" | "out" | "both" | "none";
  /**
   * Which operands the gradient of each operand reads, when not all: only those are kept for the
   * operands that need a gradient; in the rule, the others are not to be touched.
   */
  readonly reads?: readonly (readonly number[])[];
  /** Test inputs. */
  readonly samples?: () => readonly Sample[];
}

/** Dtypes of an elementwise or reducing op: what each operand is cast to, and what comes out. */
export interface DTypeResult {
  readonly compute: DType | readonly DType[];
  readonly out: DType;
}

/** A rule for dtypes; throws DTypeError naming the call. */
export type DTypeRule = (name: string, metas: readonly Meta[], attrs: Attrs) => DTypeResult;

/** What a scalar expression may use beside its operands. */
export interface ScalarContext {
  readonly attrs: Attrs;
  /** The coordinate of the point along an axis of the output, as int32. */
  coord(axis: number): Expr;
  /** The size of the output along an axis, as int32. */
  size(axis: number): Expr;
  /** For operands listed in `indexed`: its value at coordinates (one an axis of that operand). */
  at(operand: number, coords: readonly Expr[]): Expr;
}

/** One output value for each output point, from a scalar expression. */
export interface ElementwiseOp extends OpCommon {
  readonly kind: "elementwise";
  readonly dtype: DTypeRule;
  /** Operands come as expressions of their compute dtype (indexed ones as null: use ctx.at). */
  readonly scalar: (xs: readonly Expr[], ctx: ScalarContext) => Expr;
  /** The output's shape; default: the operands broadcast. */
  readonly shape?: (metas: readonly Meta[], attrs: Attrs) => Shape;
  /** Operands read at explicit coordinates (they do not broadcast). */
  readonly indexed?: readonly number[];
}

/** Folds axes away. Attrs: `axes` (sorted, normalized), `keepdim`. */
export interface ReduceOp extends OpCommon {
  readonly kind: "reduce";
  readonly dtype: DTypeRule;
  /** Dtypes of the outputs, when there are several or they differ from the rule's `out`. */
  readonly outs?: (out: DType) => readonly DType[];
  readonly init: (compute: Expr["dtype"], ctx: ReduceContext) => readonly Expr[];
  readonly lift: (xs: readonly Expr[], ctx: ReduceContext) => readonly Expr[];
  readonly combine: (
    left: readonly Expr[],
    right: readonly Expr[],
    ctx: ReduceContext,
  ) => readonly Expr[];
  /** The outputs from the final state; default: the state itself. */
  readonly post?: (state: readonly Expr[], ctx: ReduceContext) => readonly Expr[];
  /** What must hold besides, e.g. that max of nothing is an error. */
  readonly check?: (metas: readonly Meta[], attrs: Attrs) => void;
}

/** What expressions of a reduction may use. */
export interface ReduceContext {
  readonly attrs: Attrs;
  /** How many elements are folded, as an expression of the dtype. */
  count(dtype: Expr["dtype"]): Expr;
  /** Row-major position of the point within the reduced axes, as int32. */
  position(): Expr;
}

/** Inclusive running fold along one axis. Attrs: `axis` (normalized). Outputs have the input's shape. */
export interface ScanOp extends OpCommon {
  readonly kind: "scan";
  readonly dtype: DTypeRule;
  readonly outs?: (out: DType) => readonly DType[];
  readonly init: (compute: Expr["dtype"]) => readonly Expr[];
  readonly lift: (xs: readonly Expr[], ctx: ReduceContext) => readonly Expr[];
  readonly combine: (left: readonly Expr[], right: readonly Expr[]) => readonly Expr[];
  readonly post?: (state: readonly Expr[]) => readonly Expr[];
}

/** Geometry of a view. */
export interface ViewGeometry {
  readonly shape: Shape;
  readonly strides: readonly number[];
  readonly offset: number;
}

/** Another reading of the same elements: nothing runs. */
export interface ViewOp extends OpCommon {
  readonly kind: "view";
  /** The output's shape (checks here). */
  readonly shape: (meta: Meta, attrs: Attrs) => Shape;
  /** Strides and offset relative to the input's; null when only a copy can do (then the engine makes one). */
  readonly view: (from: ViewGeometry, to: Shape, attrs: Attrs) => ViewGeometry | null;
  /**
   * When the view only drops, inserts, repeats or permutes whole axes: for each output axis the input
   * axis it is, or -1 for a new or repeated one. Lets fusion look through it.
   */
  readonly axes?: (meta: Meta, attrs: Attrs) => readonly number[];
}

/** A kernel of Kernel IR with its launch, for {@linkcode KernelOp.lower}. */
export interface LoweredKernel {
  readonly kernel: Kernel;
  readonly launch: Launch;
  /**
   * For each buffer of the kernel, which operand (numbers not counted) or output it is; default: all in
   * order. A kernel may so write one output through several buffers, interleaved.
   */
  readonly ports?: readonly number[];
}

/** Anything else: a shape rule and at least one way to run it everywhere. */
export interface KernelOp extends OpCommon {
  readonly kind: "kernel";
  /** Shapes and dtypes of the outputs (checks here). */
  readonly infer: (metas: readonly Meta[], attrs: Attrs) => readonly Meta[];
  /** Whether it takes a fused elementwise epilogue on its only output. */
  readonly epilogue?: boolean;
  /** As one hand-made kernel; buffers are the operands, then the outputs, all contiguous (see `ports`). */
  readonly lower?: (metas: readonly Meta[], outs: readonly Meta[], attrs: Attrs) => LoweredKernel;
  /** In other ops. */
  readonly decompose?: (inputs: readonly Operand[], attrs: Attrs) => Tensor | readonly Tensor[];
  /** On the host: reads inputs, writes every element of the (contiguous) outputs. */
  readonly reference?: (
    inputs: readonly (HostArray | number | bigint | boolean)[],
    outputs: readonly HostArray[],
    attrs: Attrs,
  ) => void;
}

/** A function over other ops, traced once per signature and run as fused kernels. */
export interface CompositeOp extends OpCommon {
  readonly kind: "composite";
  readonly body: (inputs: readonly Operand[], attrs: Attrs) => Tensor | readonly Tensor[];
  /** "auto": derived from the body. */
  readonly vjp: Vjp | null;
  /** Whether the gradient is derived from the body (then `vjp` is null). */
  readonly autoVjp: boolean;
}

/** Any op. `id` is unique within a run. */
export type Op = (ElementwiseOp | ReduceOp | ScanOp | ViewOp | KernelOp | CompositeOp) & {
  readonly id: number;
};

let nextId = 0;
const table = new Map<string, Op>();

function register<T extends Op>(op: T): T {
  table.set(op.name, op);
  return op;
}

type Def<T extends { kind: string }> = Omit<T, "kind" | "autoVjp">;

/** Defines an elementwise op. */
export function elementwise(def: Def<ElementwiseOp>): ElementwiseOp & { readonly id: number } {
  return register({ ...def, kind: "elementwise", id: nextId++ });
}
/** Defines a reduction. */
export function reduction(def: Def<ReduceOp>): ReduceOp & { readonly id: number } {
  return register({ ...def, kind: "reduce", id: nextId++ });
}
/** Defines a running fold. */
export function scan(def: Def<ScanOp>): ScanOp & { readonly id: number } {
  return register({ ...def, kind: "scan", id: nextId++ });
}
/** Defines a view. */
export function view(def: Def<ViewOp>): ViewOp & { readonly id: number } {
  return register({ ...def, kind: "view", id: nextId++ });
}
/** Defines an op that has its own routine. */
export function kernelOp(def: Def<KernelOp>): KernelOp & { readonly id: number } {
  return register({ ...def, kind: "kernel", id: nextId++ });
}
/** Defines a function over other ops; without `vjp` its gradient comes from its body. */
export function composite(
  def: Omit<Def<CompositeOp>, "vjp"> & { readonly vjp?: Vjp | null },
): CompositeOp & { readonly id: number } {
  const { vjp, ...rest } = def;
  return register({
    ...rest,
    kind: "composite",
    id: nextId++,
    vjp: vjp ?? null,
    autoVjp: vjp === undefined,
  });
}
/** A composite made while running (a derived gradient): not in the table. */
export function anonymousComposite(
  name: string,
  body: CompositeOp["body"],
): CompositeOp & { readonly id: number } {
  return { kind: "composite", name, body, id: nextId++, vjp: null, autoVjp: true };
}

/** Every defined op by name. */
export function allOps(): ReadonlyMap<string, Op> {
  return table;
}

/** What `core/engine` offers to ops; filled when the engine is loaded. */
export interface Engine {
  /** Calls an op with one output. */
  call(op: Op, operands: readonly Operand[], attrs?: Attrs): Tensor;
  /** Calls an op with several outputs. */
  callMany(op: Op, operands: readonly Operand[], attrs?: Attrs): Tensor[];
  /** Calls an op and writes its outputs into existing tensors, in place; gives them back. */
  callInto(
    op: Op,
    operands: readonly Operand[],
    attrs: Attrs,
    targets: readonly Tensor[],
  ): readonly Tensor[];
  /** A tensor of elements in storage form (float16 and bfloat16: bits; complex: pairs), row-major. */
  fromData(data: DataArray, shape: Shape, dtype: DType, place: Place | undefined): Tensor;
  /** A tensor whose elements are not set. */
  empty(shape: Shape, dtype: DType, place: Place | undefined): Tensor;
  /** The elements where the host sees them without waiting (not a copy); null if traced or elsewhere. */
  hostView(x: Tensor): HostArray | null;
}

/** Late-bound: see {@linkcode Engine}. */
export const engine: Engine = {} as Engine;

/** The same as promoteScalar for a number known only by its kind: "float32" (a fraction), "int64" or "bool". */
function weakWith(dtype: DType, weak: DType): DType {
  const kind = DTYPES[dtype].kind;
  if (isFloat(weak)) return kind === "float" || kind === "complex" ? dtype : getDefaultDtype();
  return kind === "bool" && weak === "int64" ? "int64" : dtype;
}

/** The dtype that tensor operands, then weak scalars, meet in. */
export function commonDType(metas: readonly Meta[]): DType {
  let dtype: DType | null = null;
  for (const m of metas) {
    if (!m.scalar) dtype = dtype === null ? m.dtype : promoteTypes(dtype, m.dtype);
  }
  if (dtype === null) {
    for (const m of metas) dtype = dtype === null ? m.dtype : promoteTypes(dtype, m.dtype);
    return dtype ?? getDefaultDtype();
  }
  for (const m of metas) {
    if (!m.scalar) continue;
    if (m.value === undefined) dtype = weakWith(dtype, m.dtype);
    else {
      dtype = promoteScalar(dtype, m.value);
      checkFits(dtype, m.value);
    }
  }
  return dtype;
}

/** Refuses a number that an integer dtype could only hold by cutting it. */
function checkFits(dtype: DType, value: number | bigint | boolean): void {
  if (!isInteger(dtype) || typeof value === "boolean") return;
  const bits = dtype === "int64" ? 63 : 31;
  if (value >= -(2 ** bits) && value < 2 ** bits) return;
  throw new ValueError(
    `Cannot use the number ${value} beside ${dtype}: it lies beyond ${
      bits === 63
        ? "int64; cast the tensor to float64"
        : "int32; cast the tensor to int64 or float64"
    } first`,
  );
}

function showTypes(metas: readonly Meta[]): string {
  return metas.map((m) => (m.scalar ? String(m.value ?? "number") : m.dtype)).join(", ");
}

function refuseComplex(name: string, dtype: DType, metas: readonly Meta[]): void {
  if (DTYPES[dtype].kind === "complex") {
    throw new DTypeError(
      `Cannot ${name} ${showTypes(metas)}: complex dtypes are not supported by this op yet`,
    );
  }
}

/** What to compute in: bools and narrow integers in int32, where no number beside them is cut to fit. */
function roomy(dtype: DType): DType {
  return dtype !== "int64" && DTYPES[dtype].kind !== "float" ? "int32" : dtype;
}

/** Operands promote; the result has the promoted dtype (bool computes as integers). */
export const promote: DTypeRule = (name, metas) => {
  const out = commonDType(metas);
  refuseComplex(name, out, metas);
  return { compute: roomy(out), out };
};

/** Operands promote, integers and bools to the default float. */
export const promoteFloat: DTypeRule = (name, metas) => {
  const common = commonDType(metas);
  refuseComplex(name, common, metas);
  const out = isFloat(common) ? common : getDefaultDtype();
  return { compute: out, out };
};

/** Operands promote to be compared; the result is bool. */
export const comparison: DTypeRule = (name, metas) => {
  const common = commonDType(metas);
  refuseComplex(name, common, metas);
  return { compute: roomy(common), out: "bool" };
};

/** Operands become bool; the result is bool. */
export const logical: DTypeRule = (name, metas) => {
  for (const m of metas) refuseComplex(name, m.dtype, metas);
  return { compute: "bool", out: "bool" };
};

/** Integers and bools only. */
export const integral: DTypeRule = (name, metas) => {
  const out = commonDType(metas);
  if (isFloat(out) || DTYPES[out].kind === "complex") {
    throw new DTypeError(
      `Cannot ${name} ${showTypes(metas)}: operands must be integers or bool; cast them first`,
    );
  }
  return { compute: out === "bool" ? out : roomy(out), out };
};

/** The broadcast shape of the operands. */
export function broadcastMetas(name: string, metas: readonly Meta[]): Shape {
  if (metas.length === 1) return metas[0].shape;
  return broadcastShapes(name, ...metas.map((m) => m.shape));
}
