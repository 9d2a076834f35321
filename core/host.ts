// Arrays on the host that reference routines read and write. No ops here.
import type { DataArray, DType } from "./dtype.ts";
import { type Shape, sizeOf } from "./shape.ts";

/** Elements in host memory with their geometry; strides and offset count elements. */
export interface HostArray {
  readonly dtype: DType;
  readonly shape: Shape;
  readonly strides: readonly number[];
  readonly offset: number;
  readonly data: DataArray;
}

/** Calls `visit(position in data, row-major index)` for every element in row-major order. */
export function forEachElement(a: HostArray, visit: (at: number, i: number) => void): void {
  const total = sizeOf(a.shape);
  const rank = a.shape.length;
  const index = new Array<number>(rank).fill(0);
  let at = a.offset;
  for (let i = 0; i < total; i++) {
    visit(at, i);
    for (let d = rank - 1; d >= 0; d--) {
      at += a.strides[d];
      if (++index[d] < a.shape[d]) break;
      at -= a.strides[d] * a.shape[d];
      index[d] = 0;
    }
  }
}

/** The elements in row-major order, copied (bits for float16 and bfloat16). */
export function toDense(a: HostArray): DataArray {
  const out = new (a.data.constructor as new (n: number) => DataArray)(sizeOf(a.shape));
  forEachElement(a, (at, i) => {
    out[i] = a.data[at];
  });
  return out;
}
