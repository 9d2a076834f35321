// Shapes and dtypes of an op's outputs, for every kind of op. Errors of the call come from here.
import { DTYPES } from "../dtype.ts";
import { DTypeError, InternalError } from "../errors.ts";
import { broadcastMetas, type Meta, type Op, type Operand } from "../op.ts";
import type { Attrs } from "../op.ts";
import { reducedShape } from "../shape.ts";
import { foldOuts } from "../compiler/lower.ts";

/** What is known of an operand. */
export function metaOf(x: Operand): Meta {
  if (typeof x === "object") {
    return x.impl.traced?.weak
      ? { shape: x.shape, dtype: x.dtype, scalar: true }
      : { shape: x.shape, dtype: x.dtype };
  }
  return {
    shape: [],
    dtype: typeof x === "number"
      ? (Number.isInteger(x) ? "int64" : "float32")
      : typeof x === "bigint"
      ? "int64"
      : "bool",
    scalar: true,
    value: x,
  };
}

/** Shapes and dtypes of the outputs. A composite's come from tracing it. */
export function inferOp(op: Op, metas: readonly Meta[], attrs: Attrs): readonly Meta[] {
  switch (op.kind) {
    case "elementwise": {
      const shape = op.shape?.(metas, attrs) ?? broadcastMetas(op.name, metas);
      return [{ shape, dtype: op.dtype(op.name, metas, attrs).out }];
    }
    case "reduce": {
      op.check?.(metas, attrs);
      const shape = reducedShape(metas[0].shape, attrs.axes as number[], attrs.keepdim === true);
      return foldOuts(op, metas, attrs).map((dtype) => ({ shape, dtype }));
    }
    case "scan":
      return foldOuts(op, metas, attrs).map((dtype) => ({ shape: metas[0].shape, dtype }));
    case "view":
      return [{ shape: op.shape(metas[0], attrs), dtype: metas[0].dtype }];
    case "kernel":
      refuseComplex(op.name, metas);
      return op.infer(metas, attrs);
    case "composite":
      throw new InternalError(`Cannot infer the composite ${op.name} without tracing it`);
  }
}

/** Kernels and host routines take an element for one number. */
function refuseComplex(name: string, metas: readonly Meta[]): void {
  const pair = metas.find((m) => DTYPES[m.dtype].kind === "complex");
  if (pair === undefined) return;
  throw new DTypeError(
    `Cannot ${name} ${pair.dtype}: complex dtypes are not supported by this op yet`,
  );
}
