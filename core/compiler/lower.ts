// From one op definition to scalar expressions: operands cast, numbers lifted, narrow integers wrapped.
// Knows kinds, never names. Not here: which ops share a kernel (fuse.ts).
import { type DType, DTYPES } from "../dtype.ts";
import { InternalError } from "../errors.ts";
import * as k from "../ir/expr.ts";
import type { Expr } from "../ir/expr.ts";
import type { Attrs, ElementwiseOp, Meta, ReduceContext, ReduceOp, ScanOp } from "../op.ts";
import type { Shape } from "../shape.ts";
import { requirePositions, sizeOf } from "../shape.ts";

/** Wraps an expression to the range of a narrow integer dtype, as storing and loading it would. */
export function narrow(e: Expr, dtype: DType): Expr {
  switch (dtype) {
    case "uint8":
      return k.and(e, 255);
    case "int8":
      return k.shr(k.shl(e, 24), 24);
    case "int16":
      return k.shr(k.shl(e, 16), 16);
    default:
      return e;
  }
}

/** An expression as a value of a storage dtype. */
export function toStored(e: Expr, dtype: DType): Expr {
  return narrow(k.cast(e, k.computeType(dtype)), dtype);
}

/** The dtype each operand is cast to. */
export function operandTypes(compute: DType | readonly DType[], count: number): readonly DType[] {
  return typeof compute === "string" ? new Array<DType>(count).fill(compute) : compute;
}

/** What expressions may use of the surrounding kernel. */
export interface LowerEnv {
  /** The coordinate and size along an axis of the output. */
  coord(axis: number): Expr;
  size(axis: number): Expr;
  /** Reads operand `i` at coordinates. */
  at(operand: number, coords: readonly Expr[]): Expr;
  /** A number as a run-time argument. */
  number(value: number, dtype: Expr["dtype"]): Expr;
}

/** The value of an elementwise op from its operands' expressions (of their storage's compute type). */
export function lowerElementwise(
  op: ElementwiseOp,
  xs: readonly (Expr | null)[],
  metas: readonly Meta[],
  attrs: Attrs,
  env: LowerEnv,
): Expr {
  const rule = op.dtype(op.name, metas, attrs);
  const types = operandTypes(rule.compute, xs.length);
  const args = xs.map((x, i) => (x === null ? null : toStored(x, types[i])) as Expr);
  const value = op.scalar(args, {
    attrs,
    coord: env.coord,
    size: env.size,
    at: (i, coords) => {
      const read = env.at(i, coords);
      return toStored(read, types[i]);
    },
  });
  return toStored(value, rule.out);
}

/** State, lifted values and combiner of a fold. */
export interface LoweredFold {
  readonly init: readonly Expr[];
  readonly lift: readonly Expr[];
  readonly combine: readonly Expr[];
  /** The outputs from expressions of the final state. */
  post(state: readonly Expr[]): readonly Expr[];
}

/** A reduction or scan over the axes `axes` of its operand. */
export function lowerFold(
  op: ReduceOp | ScanOp,
  xs: readonly Expr[],
  metas: readonly Meta[],
  attrs: Attrs,
  axes: readonly number[],
  env: LowerEnv,
): LoweredFold {
  const rule = op.dtype(op.name, metas, attrs);
  const types = operandTypes(rule.compute, xs.length);
  const args = xs.map((x, i) => toStored(x, types[i]));
  const shape: Shape = metas[0].shape;
  const ctx: ReduceContext = {
    attrs,
    count: (dtype) => env.number(sizeOf(axes.map((a) => shape[a])), dtype),
    position: () => {
      requirePositions(op.name, shape, sizeOf(axes.map((a) => shape[a])));
      let at: Expr | null = null;
      for (const a of axes) {
        if (shape[a] === 1) continue;
        const c = env.coord(a);
        at = at === null ? c : k.add(k.mul(at, env.size(a)), c);
      }
      return at ?? k.constant(0, "int32");
    },
  };
  const compute = k.computeType(types[0]);
  const init = op.kind === "reduce" ? op.init(compute, ctx) : op.init(compute);
  const lift = op.lift(args, ctx);
  if (init.length !== lift.length || init.some((e, i) => e.dtype !== lift[i].dtype)) {
    throw new InternalError(
      `Cannot lower ${op.name}: init and lift must agree in number and dtype`,
    );
  }
  const side = (which: "left" | "right") => init.map((e, i) => k.leaf(which, e.dtype, i));
  const combine = op.kind === "reduce"
    ? op.combine(side("left"), side("right"), ctx)
    : op.combine(side("left"), side("right"));
  const outs = op.outs?.(rule.out) ?? [rule.out];
  return {
    init,
    lift,
    combine,
    post: (state) => {
      const values = op.post === undefined
        ? state
        : op.kind === "reduce"
        ? op.post(state, ctx)
        : op.post(state);
      return outs.map((dtype, i) => toStored(values[i], dtype));
    },
  };
}

/** Output dtypes of a fold. */
export function foldOuts(
  op: ReduceOp | ScanOp,
  metas: readonly Meta[],
  attrs: Attrs,
): readonly DType[] {
  const rule = op.dtype(op.name, metas, attrs);
  return op.outs?.(rule.out) ?? [rule.out];
}

/** A scalar argument converted to a compute dtype, as `cast` would. */
export function convertScalar(
  value: number | bigint | boolean,
  type: Expr["dtype"],
): number | bigint {
  switch (type) {
    case "int64":
      return BigInt.asIntN(64, typeof value === "bigint" ? value : BigInt(truncate(Number(value))));
    case "int32":
      return Number(BigInt.asIntN(32, BigInt(truncate(Number(value)))));
    case "bool":
      return Number(value) !== 0 ? 1 : 0;
    case "float32":
      return Math.fround(Number(value));
    case "float64":
      return Number(value);
  }
}

function truncate(x: number): number {
  return Number.isFinite(x) ? Math.trunc(x) : 0;
}

/** Whether a dtype is one that kernels can compute in. */
export function isComputable(dtype: DType): boolean {
  return DTYPES[dtype].compute !== null;
}
