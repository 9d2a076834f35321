// Loops over host arrays that several reference routines share: block copies, filling, half floats as
// float32 and back, positions of what is true. Deliberately not here: what any op means.
import { type DataArray, DTYPES } from "../core/dtype.ts";
import { ShapeError } from "../core/errors.ts";
import { decodeBfloat16, decodeFloat16, encodeBfloat16, encodeFloat16 } from "../core/half.ts";
import { type HostArray, toDense } from "../core/host.ts";
import { contiguousStrides, isContiguous, type Shape, sizeOf } from "../core/shape.ts";

/** The array of a dtype, `n` long. */
export function newArray(dtype: HostArray["dtype"], n: number): DataArray {
  return new (DTYPES[dtype].array as new (n: number) => DataArray)(n);
}

/** A dense array on the host. */
export function denseArray(dtype: HostArray["dtype"], shape: Shape, data: DataArray): HostArray {
  return { dtype, shape, strides: contiguousStrides(shape), offset: 0, data };
}

/** Sets every element of a contiguous array to 0. */
export function clear(a: HostArray): void {
  const end = a.offset + sizeOf(a.shape);
  if (a.data instanceof BigInt64Array) a.data.fill(0n, a.offset, end);
  else a.data.fill(0, a.offset, end);
}

/** float16 and bfloat16 as dense float32; others as they are. */
export function widened(a: HostArray): HostArray {
  if (a.dtype !== "float16" && a.dtype !== "bfloat16") return a;
  const bits = toDense(a) as Uint16Array;
  const decode = a.dtype === "float16" ? decodeFloat16 : decodeBfloat16;
  return denseArray("float32", a.shape, decode(bits));
}

/**
 * Runs `fill` on the contiguous `out`, or on float32 in its place which is then rounded into it.
 * `load` says that `fill` reads what `out` holds.
 */
export function withWide(out: HostArray, load: boolean, fill: (wide: HostArray) => void): void {
  if (out.dtype !== "float16" && out.dtype !== "bfloat16") return fill(out);
  const n = sizeOf(out.shape);
  const wide = load ? widened(out) : denseArray("float32", out.shape, new Float32Array(n));
  fill(wide);
  const target = (out.data as Uint16Array).subarray(out.offset, out.offset + n);
  const encode = out.dtype === "float16" ? encodeFloat16 : encodeBfloat16;
  encode(wide.data as Float32Array, target);
}

/** An axis that two arrays are walked along together. */
export interface Walk {
  readonly size: number;
  readonly to: number;
  readonly from: number;
}

/** Joins axes that both arrays walk as one, and drops those of size 1. */
export function joinAxes(axes: readonly Walk[]): Walk[] {
  const out: Walk[] = [];
  for (const a of axes) {
    if (a.size === 1) continue;
    const last = out[out.length - 1];
    if (last !== undefined && last.to === a.to * a.size && last.from === a.from * a.size) {
      out[out.length - 1] = { size: last.size * a.size, to: a.to, from: a.from };
    } else out.push(a);
  }
  return out;
}

/** Calls `visit(to, from)` at the start of every innermost run of the axes. */
export function eachRun(
  axes: readonly Walk[],
  to: number,
  from: number,
  visit: (to: number, from: number) => void,
  depth = 0,
): void {
  if (depth >= axes.length - 1) return visit(to, from);
  const a = axes[depth];
  for (let i = 0; i < a.size; i++) {
    eachRun(axes, to + i * a.to, from + i * a.from, visit, depth + 1);
  }
}

/** Shorter runs are copied element by element: setting up a block copy costs as much. */
const BLOCK = 24;

/** Copies elements of equal storage along axes walked together. */
export function copyAlong(
  out: DataArray,
  outAt: number,
  source: DataArray,
  sourceAt: number,
  axes: readonly Walk[],
): void {
  if (axes.some((a) => a.size === 0)) return;
  const joined = joinAxes(axes);
  const { size, to, from } = joined[joined.length - 1] ?? { size: 1, to: 1, from: 1 };
  const o = out as Float32Array;
  const s = source as Float32Array;
  if (to === 1 && from === 1 && size >= BLOCK) {
    eachRun(joined, outAt, sourceAt, (i, j) => o.set(s.subarray(j, j + size), i));
    return;
  }
  eachRun(joined, outAt, sourceAt, (i, j) => {
    for (let k = 0; k < size; k++, i += to, j += from) o[i] = s[j];
  });
}

/** Copies `source` into the contiguous `out` of the same shape and dtype. */
export function copyElements(out: HostArray, source: HostArray): void {
  const strides = isContiguous(out.shape, out.strides) ? contiguousStrides(out.shape) : out.strides;
  copyAlong(
    out.data,
    out.offset,
    source.data,
    source.offset,
    out.shape.map((size, i) => ({ size, to: strides[i], from: source.strides[i] })),
  );
}

/** Row-major positions of the elements that are not 0 (NaN is not 0). */
export function truePositions(data: ArrayLike<number | bigint>): Int32Array {
  if (data.length >= 2 ** 31) {
    throw new ShapeError(
      `Cannot select by truth among ${data.length} elements: at most 2^31 - 1 can be; split the tensor`,
    );
  }
  let n = 0;
  for (let i = 0; i < data.length; i++) if (Number(data[i]) !== 0) n++;
  const out = new Int32Array(n);
  n = 0;
  for (let i = 0; i < data.length; i++) if (Number(data[i]) !== 0) out[n++] = i;
  return out;
}

/** Coordinates along one axis of row-major positions. */
export function coordinatesOf(positions: Int32Array, shape: Shape, axis: number): Int32Array {
  const stride = contiguousStrides(shape)[axis];
  return positions.map((p) => Math.floor(p / stride) % shape[axis]);
}
