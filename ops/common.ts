// What several op files share: attrs of reductions, gradients stretched back, checks of index values.
// Not part of the public surface: ops/mod.ts does not export it.
import {
  type DType,
  DTYPES,
  getDefaultDtype,
  isFloat,
  isInteger,
  promoteScalar,
  promoteTypes,
} from "../core/dtype.ts";
import { DTypeError, IndexError, ShapeError, ValueError } from "../core/errors.ts";
import { forEachElement, type HostArray } from "../core/host.ts";
import * as k from "../core/ir/expr.ts";
import { type Attrs, engine, type Meta, type Operand } from "../core/op.ts";
import { expectOptions, expectTensors } from "../core/operands.ts";
import {
  isContiguous,
  normalizeAxes,
  sameShape,
  type Shape,
  showShape,
  sizeOf,
  tryBroadcast,
} from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import type { ReduceOptions } from "./reduce.ts";

/** Attrs of every reduction. */
export function reduceAttrs(
  name: string,
  x: Tensor,
  axis: number | readonly number[] | undefined,
  options: ReduceOptions,
): { axes: number[]; keepdim: boolean } {
  expectTensors(name, x);
  expectOptions(name, options);
  return { axes: normalizeAxes(name, axis, x.rank), keepdim: options.keepdim ?? false };
}

/** A result of the reduced shape, with size 1 on the reduced axes so that it broadcasts again. */
export function keepReduced(y: Tensor, shape: Shape, attrs: Attrs): Tensor {
  if (attrs.keepdim) return y;
  const axes = attrs.axes as readonly number[];
  return op.reshape(y, shape.map((n, i) => (axes.includes(i) ? 1 : n)));
}

/** A gradient of the reduced shape, stretched over the operand's shape. */
export function expandReduced(g: Tensor, shape: Shape, attrs: Attrs): Tensor {
  return op.expand(keepReduced(g, shape, attrs), shape);
}

/** How many elements the axes of a reduction span. */
export function reducedCount(shape: Shape, attrs: Attrs): number {
  return sizeOf((attrs.axes as readonly number[]).map((a) => shape[a]));
}

/** The least (sign -1) or greatest (sign 1) value of a compute type. */
export function extreme(type: k.Expr["dtype"], sign: -1 | 1): k.Expr {
  switch (type) {
    case "int32":
      return k.constant(sign > 0 ? 2 ** 31 - 1 : -(2 ** 31), type);
    case "int64":
      return k.constant(sign > 0 ? (1n << 63n) - 1n : -(1n << 63n), type);
    default:
      return k.constant(sign * Infinity, type);
  }
}

/** A float tensor as it is, another as the default float. */
export function toFloat(x: Tensor): Tensor {
  return isFloat(x.dtype) ? x : op.cast(x, getDefaultDtype());
}

/** Refuses to pick an element of none. For the `check` of max, argmax, … */
export function refuseEmpty(name: string, metas: readonly Meta[], attrs: Attrs): void {
  const { shape } = metas[0];
  const axes = attrs.axes as readonly number[];
  if (axes.every((a) => shape[a] !== 0)) return;
  // No output elements: nothing is picked, so nothing is missing.
  if (shape.some((n, i) => n === 0 && !axes.includes(i))) return;
  throw new ValueError(
    `Cannot ${name} ${showShape(shape)} over axes [${axes.join(", ")}]: there is no ${name} of ` +
      "no elements; leave empty tensors out before the call",
  );
}

/** The smallest and the largest value, or null if there are no elements. */
function extent(a: HostArray): { low: number; high: number } | null {
  const n = sizeOf(a.shape);
  if (n === 0) return null;
  let low = Infinity;
  let high = -Infinity;
  if (isContiguous(a.shape, a.strides)) {
    const { data, offset } = a;
    for (let i = offset; i < offset + n; i++) {
      const v = Number(data[i]);
      if (v < low) low = v;
      if (v > high) high = v;
    }
  } else {
    forEachElement(a, (at) => {
      const v = Number(a.data[at]);
      if (v < low) low = v;
      if (v > high) high = v;
    });
  }
  return { low, high };
}

/**
 * Throws unless every value of `index` lies in `low`..`size - 1` (`low` is -size by default: negative
 * positions count from the end). Values that the host does not see are not checked here.
 */
export function checkIndexRange(name: string, index: Tensor, size: number, low = -size): void {
  expectTensors(name, index);
  checkIndexDType(name, index.dtype);
  const host = engine.hostView(index);
  const found = host === null ? null : extent(host);
  if (found === null || (found.low >= low && found.high < size)) return;
  const bad = found.high >= size ? found.high : found.low;
  throw new IndexError(
    `Cannot ${name} at index ${bad}: ` +
      (size === 0
        ? "the indexed axis has size 0, so there is nothing to index"
        : `indexes must lie in ${low} to ${size - 1} for size ${size}`),
  );
}

/** Throws unless the dtype can index. */
export function checkIndexDType(name: string, dtype: DType): void {
  if (!isInteger(dtype)) {
    throw new DTypeError(
      `Cannot ${name} with a ${dtype} index: an index must be an integer tensor; ` +
        `cast it to "int32" first`,
    );
  }
}

/** What an index of that dtype is computed in. */
export function indexCompute(dtype: DType): "int32" | "int64" {
  return dtype === "int64" ? "int64" : "int32";
}

/** Refuses complex dtypes, which this op does not move. */
export function refuseComplex(name: string, dtype: DType): void {
  if (DTYPES[dtype].kind === "complex") {
    throw new DTypeError(
      `Cannot ${name} a ${dtype} tensor: complex dtypes are not supported by this op yet; ` +
        "take its real and imaginary parts first",
    );
  }
}

/** One value everywhere, in the dtype of `x`, which is empty: yet it hangs together with its gradient. */
export function blank(x: Tensor, shape: Shape, value: Operand): Tensor {
  const { dtype, place } = x;
  const one = typeof value === "object"
    ? op.cast(value, dtype)
    : op.full([], value, { dtype, place });
  return op.expand(x.requiresGrad ? op.add(one, op.sum(x)) : one, shape);
}

/** Throws unless a tensor of the dtype can hold the number. */
export function checkNumber(
  name: string,
  dtype: DType,
  value: number | bigint | boolean,
): void {
  if (promoteScalar(dtype, value) === dtype || (dtype === "bool" && isBit(value))) return;
  throw new DTypeError(
    `Cannot ${name} the number ${value} in a ${dtype} tensor: it is not a ${dtype}; ` +
      "round it, or cast the tensor first",
  );
}

/** Values to be written into `x`: of its dtype, stretched to `shape`. */
export function valuesFor(name: string, x: Tensor, values: Operand, shape: Shape): Tensor {
  if (typeof values !== "object") {
    checkNumber(name, x.dtype, values);
    const one = op.full([], x.dtype === "bool" ? Boolean(values) : values, {
      dtype: x.dtype,
      place: x.place,
    });
    return op.expand(one, shape);
  }
  expectTensors(name, values);
  if (promoteTypes(x.dtype, values.dtype) !== x.dtype && !isFloat(x.dtype)) {
    throw new DTypeError(
      `Cannot ${name} ${values.dtype} values in a ${x.dtype} tensor: they would lose what ` +
        `${x.dtype} cannot hold; cast one of them first`,
    );
  }
  // Leading axes of size 1 say nothing (NumPy).
  const extra = Math.max(values.rank - shape.length, 0);
  if (extra > 0 && values.shape.slice(0, extra).every((n) => n === 1)) {
    return valuesFor(name, x, op.reshape(values, values.shape.slice(extra)), shape);
  }
  if (!sameShape(tryBroadcast(values.shape, shape) ?? [-1], shape)) {
    throw new ShapeError(
      `Cannot ${name} values of shape ${showShape(values.shape)} at ${showShape(shape)}: ` +
        "the values must broadcast to that shape; reshape or expand them",
    );
  }
  const own = values.dtype === x.dtype ? values : op.cast(values, x.dtype);
  return sameShape(own.shape, shape) ? own : op.expand(own, shape);
}

const isBit = (x: number | bigint | boolean): boolean => Number(x) === 0 || Number(x) === 1;
