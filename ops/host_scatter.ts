// Host routines that write values to positions given by index arrays. One order, row-major over the
// index, so that sums come out the same every time. Not here: the ops (placing.ts, positions.ts).
import { IndexError } from "../core/errors.ts";
import type { HostArray } from "../core/host.ts";
import { contiguousStrides, type Shape, showShape, sizeOf } from "../core/shape.ts";
import { eachRun, joinAxes, type Walk, widened, withWide } from "./host_arrays.ts";

/** What happens to the element that is there already. */
export type Put = "assign" | "add" | "mul";

function outOfRange(name: string, index: number, shape: Shape, axis: number): never {
  throw new IndexError(
    `Cannot ${name} at index ${index}: axis ${axis} of ${showShape(shape)} has indexes ` +
      (shape[axis] === 0 ? "none" : `${-shape[axis]} to ${shape[axis] - 1}`),
  );
}

type Step = (out: Float32Array, i: number, value: number) => void;

const STEPS: Record<Put, Step> = {
  assign: (out, i, value) => {
    out[i] = value;
  },
  add: (out, i, value) => {
    out[i] += value;
  },
  mul: (out, i, value) => {
    out[i] *= value;
  },
};

/** One run of values put beside each other; written out per kind because this is the inner loop. */
function putRun(
  how: Put,
  out: Float32Array,
  i: number,
  di: number,
  values: Float32Array,
  j: number,
  dj: number,
  n: number,
): void {
  switch (how) {
    case "assign":
      for (let k = 0; k < n; k++, i += di, j += dj) out[i] = values[j];
      return;
    case "add":
      for (let k = 0; k < n; k++, i += di, j += dj) out[i] += values[j];
      return;
    case "mul":
      for (let k = 0; k < n; k++, i += di, j += dj) out[i] *= values[j];
      return;
  }
}

/**
 * out[…, index[…], …] = or += or *= values, along one axis; `index` and `values` have one shape, which
 * is at most that of the contiguous `out` on the other axes.
 */
export function putAlong(
  name: string,
  out: HostArray,
  index: HostArray,
  values: HostArray,
  axis: number,
  how: Put,
): void {
  withWide(out, true, (wide) => {
    const strides = contiguousStrides(out.shape);
    const size = out.shape[axis];
    const data = wide.data as Float32Array;
    const from = widened(values);
    const source = from.data as Float32Array;
    const positions = index.data;
    const step = STEPS[how];
    const along = strides[axis];
    const rank = index.shape.length;
    const count = new Array<number>(rank).fill(0);
    let at = index.offset;
    let i = wide.offset;
    let j = from.offset;
    const total = sizeOf(index.shape);
    for (let n = 0; n < total; n++) {
      let p = Number(positions[at]);
      if (p < -size || p >= size) outOfRange(name, p, out.shape, axis);
      if (p < 0) p += size;
      step(data, i + p * along, source[j]);
      for (let d = rank - 1; d >= 0; d--) {
        at += index.strides[d];
        j += from.strides[d];
        if (d !== axis) i += strides[d];
        if (++count[d] < index.shape[d]) break;
        at -= index.strides[d] * index.shape[d];
        j -= from.strides[d] * index.shape[d];
        if (d !== axis) i -= strides[d] * index.shape[d];
        count[d] = 0;
      }
    }
  });
}

/** Where index arrays stand: the axes they index, and where their own axes are in the result. */
export interface Indexed {
  readonly axes: readonly number[];
  readonly at: number;
}

/**
 * out[…, index…, …] = or += or *= values. All `index` arrays have one shape; `values` has the shape of
 * what reading at these positions gives. `out` is contiguous.
 */
export function putAt(
  name: string,
  out: HostArray,
  index: readonly HostArray[],
  values: HostArray,
  { axes, at }: Indexed,
  how: Put,
): void {
  withWide(out, true, (wide) => {
    const { shape } = out;
    const strides = contiguousStrides(shape);
    const from = widened(values);
    const own = index[0].shape;
    const rest: Walk[] = [];
    for (let d = 0; d < shape.length; d++) {
      if (axes.includes(d)) continue;
      const r = rest.length < at ? rest.length : rest.length + own.length;
      rest.push({ size: shape[d], to: strides[d], from: from.strides[r] });
    }
    if (rest.some((a) => a.size === 0)) return;
    const runs = joinAxes(rest);
    const { size, to, from: dj } = runs[runs.length - 1] ?? { size: 1, to: 0, from: 0 };
    const data = wide.data as Float32Array;
    const source = from.data as Float32Array;
    const places = index.map((x) => x.offset);
    const count = new Array<number>(own.length).fill(0);
    let base = from.offset;
    const total = sizeOf(own);
    for (let n = 0; n < total; n++) {
      let target = wide.offset;
      for (let k = 0; k < axes.length; k++) {
        const limit = shape[axes[k]];
        let p = Number(index[k].data[places[k]]);
        if (p < -limit || p >= limit) outOfRange(name, p, shape, axes[k]);
        if (p < 0) p += limit;
        target += p * strides[axes[k]];
      }
      if (runs.length <= 1) putRun(how, data, target, to, source, base, dj, size);
      else {
        eachRun(runs, target, base, (i, j) => putRun(how, data, i, to, source, j, dj, size));
      }
      for (let d = own.length - 1; d >= 0; d--) {
        const step = from.strides[at + d];
        for (let k = 0; k < index.length; k++) places[k] += index[k].strides[d];
        base += step;
        if (++count[d] < own[d]) break;
        for (let k = 0; k < index.length; k++) places[k] -= index[k].strides[d] * own[d];
        base -= step * own[d];
        count[d] = 0;
      }
    }
  });
}
