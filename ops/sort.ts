// Order: sort, argsort, topk, searchSorted. Distinct values are in select.ts, since their number depends on
// the data.
import { engine, kernelOp, type Sample } from "../core/op.ts";
import { ShapeError, ValueError } from "../core/errors.ts";
import type { HostArray } from "../core/host.ts";
import { expectOptions, expectTensors } from "../core/operands.ts";
import {
  normalizeAxis,
  requirePositions,
  sameShape,
  type Shape,
  showShape,
  sizeOf,
} from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { refuseComplex } from "./common.ts";
import { copyAlong, denseArray, newArray, widened } from "./host_arrays.ts";
import { firstOf, keysOf, Sorter } from "./host_sort.ts";
import { scatterAlong } from "./placing.ts";

/** A dense array whose rows run along `axis` of `x`, the other axes in their order. */
function rowsOf(x: HostArray, axis: number): HostArray {
  const order = x.shape.map((_, d) => d).filter((d) => d !== axis);
  order.push(axis);
  const shape = order.map((d) => x.shape[d]);
  const out = denseArray(x.dtype, shape, newArray(x.dtype, sizeOf(shape)));
  const axes = order.map((d, i) => ({ size: x.shape[d], to: out.strides[i], from: x.strides[d] }));
  copyAlong(out.data, 0, x.data, x.offset, axes);
  return out;
}

/**
 * Writes the first `count` elements of every row's order, and their positions. `orderOf` gives the order
 * of the row that begins at a key.
 */
function writeRows(
  rows: HostArray,
  n: number,
  [values, indices]: readonly HostArray[],
  axis: number,
  orderOf: (start: number) => Int32Array,
): void {
  const count = values.shape[axis];
  const post = sizeOf(values.shape.slice(axis + 1));
  const total = n === 0 || count === 0 ? 0 : sizeOf(rows.shape) / n;
  const from = rows.data as Float32Array;
  const to = values.data as Float32Array;
  const places = indices.data as Int32Array;
  for (let r = 0; r < total; r++) {
    const order = orderOf(r * n);
    let at = Math.floor(r / post) * count * post + (r % post);
    for (let i = 0; i < count; i++, at += post) {
      to[values.offset + at] = from[r * n + order[i]];
      places[indices.offset + at] = order[i];
    }
  }
}

const CASES = (more: Readonly<Record<string, unknown>>): readonly Sample[] => [
  { inputs: [{ shape: [2, 5] }], attrs: { axis: 1, ...more } },
  { inputs: [{ shape: [4, 3] }], attrs: { axis: 0, ...more } },
  { inputs: [{ shape: [2, 4, 2] }], attrs: { axis: 1, ...more } },
  { inputs: [{ values: [2, 1, 2, 1, 3, 1] }], attrs: { axis: 0, ...more }, noGrad: true },
  {
    inputs: [{ values: [NaN, 1, -Infinity, Infinity, 0, -0, NaN, -1] }],
    attrs: { axis: 0, ...more },
    noGrad: true,
  },
  {
    inputs: [{ values: [3, -1, 2, 2], dtype: "int64" }],
    attrs: { axis: 0, ...more },
    noGrad: true,
  },
  { inputs: [{ values: [3, -1, 2, 2], dtype: "int8" }], attrs: { axis: 0, ...more }, noGrad: true },
];

const SORT = kernelOp({
  name: "sort",
  infer: ([x]) => {
    refuseComplex("sort", x.dtype);
    return [{ shape: x.shape, dtype: x.dtype }, { shape: x.shape, dtype: "int32" }];
  },
  reference: ([x], outs, attrs) => {
    const axis = attrs.axis as number;
    const rows = rowsOf(x as HostArray, axis);
    const n = rows.shape[rows.shape.length - 1];
    const sorter = new Sorter(keysOf(rows, attrs.descending as boolean), n);
    writeRows(rows, n, outs, axis, (start) => sorter.sort(start));
  },
  vjp: ([g], { outputs: [, index], attrs, shapes }) => [
    scatterAlong(g, index, attrs.axis as number, shapes[0]),
  ],
  saves: "out",
  samples: () => [
    ...CASES({ descending: false }),
    ...CASES({ descending: true }),
    { inputs: [{ shape: [0, 3] }], attrs: { axis: 0, descending: false }, noGrad: true },
  ],
});

/** Options of `sort` and `argsort`. */
export interface SortOptions {
  /** Largest first. Default false. */
  readonly descending?: boolean;
  /** Equal elements keep their order: they always do, so this says nothing new. */
  readonly stable?: boolean;
}

/**
 * Sorts along an axis, stably. NaN is the largest: last in ascending, first in descending order.
 *
 * @param x Any real dtype.
 * @param axis The axis to sort along. Default -1.
 * @returns `[values, indices]` of `x`'s shape; indices are int32.
 * @throws {ShapeError} if the axis is out of range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { sort, tensor } from "../mod.ts";
 *
 * const [values, indices] = sort(tensor([3, 1, 2]));
 * assertEquals([await values.toArray(), await indices.toArray()], [[1, 2, 3], [1, 2, 0]]);
 * ```
 */
export function sort(x: Tensor, axis = -1, options: SortOptions = {}): Tensor[] {
  expectTensors("sort", x);
  expectOptions("sort", options);
  const a = normalizeAxis("sort", axis, x.rank, true);
  requirePositions("sort", x.shape, x.shape[a] ?? 1);
  const descending = options.descending ?? false;
  if (x.rank > 0) return engine.callMany(SORT, [x], { axis: a, descending });
  return sort(op.reshape(x, [1]), 0, options).map((y) => op.reshape(y, []));
}

/**
 * The positions that would sort `x` along an axis, stably; NaN is the largest.
 *
 * @param x Any real dtype.
 * @param axis The axis to sort along. Default -1.
 * @returns int32 of `x`'s shape.
 * @throws {ShapeError} if the axis is out of range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { argsort, tensor } from "../mod.ts";
 *
 * assertEquals(await argsort(tensor([3, 1, 2])).toArray(), [1, 2, 0]);
 * ```
 */
export function argsort(x: Tensor, axis = -1, options: SortOptions = {}): Tensor {
  return sort(x, axis, options)[1];
}

/** Below this share of a row a heap of the best beats sorting all of it. */
const HEAP_SHARE = 16;

const TOPK = kernelOp({
  name: "topk",
  infer: ([x], attrs) => {
    refuseComplex("topk", x.dtype);
    const shape = x.shape.map((n, d) => (d === attrs.axis ? attrs.k as number : n));
    return [{ shape, dtype: x.dtype }, { shape, dtype: "int32" }];
  },
  reference: ([x], outs, attrs) => {
    const axis = attrs.axis as number;
    const k = attrs.k as number;
    const rows = rowsOf(x as HostArray, axis);
    const n = rows.shape[rows.shape.length - 1];
    const keys = keysOf(rows, attrs.largest as boolean);
    if (k * HEAP_SHARE <= n) {
      writeRows(rows, n, outs, axis, (start) => firstOf(keys, start, n, k));
    } else {
      const sorter = new Sorter(keys, n);
      writeRows(rows, n, outs, axis, (start) => sorter.sort(start));
    }
  },
  vjp: ([g], { outputs: [, index], attrs, shapes }) => [
    scatterAlong(g, index, attrs.axis as number, shapes[0]),
  ],
  saves: "out",
  samples: () => [
    ...CASES({ k: 2, largest: true }),
    ...CASES({ k: 3, largest: false }),
    { inputs: [{ shape: [2, 50] }], attrs: { axis: 1, k: 3, largest: true } },
    { inputs: [{ shape: [3] }], attrs: { axis: 0, k: 0, largest: true }, noGrad: true },
  ],
});

/** Options of `topk`. */
export interface TopkOptions {
  /** The axis to look along. Default -1. */
  readonly axis?: number;
  /** The largest elements (default) or the smallest. */
  readonly largest?: boolean;
  /** Give them in order, best first. They always are, so this says nothing new. */
  readonly sorted?: boolean;
}

/**
 * The `k` largest (or smallest) elements along an axis and their positions, best first; of equal ones the
 * first. NaN is the largest. Gradients go to the chosen elements only.
 *
 * @param x Rank of at least 1, any real dtype.
 * @param k How many; at most the size of the axis.
 * @returns `[values, indices]`: `x`'s shape with size `k` on the axis; indices are int32.
 * @throws {ShapeError} if the axis is out of range.
 * @throws {ValueError} if `k` is not a whole number from 0 to the size of the axis.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { tensor, topk } from "../mod.ts";
 *
 * const [values, indices] = topk(tensor([3, 1, 4, 1, 5]), 2);
 * assertEquals([await values.toArray(), await indices.toArray()], [[5, 4], [4, 2]]);
 * ```
 */
export function topk(x: Tensor, k: number, options: TopkOptions = {}): Tensor[] {
  expectTensors("topk", x);
  expectOptions("topk", options);
  const axis = normalizeAxis("topk", options.axis ?? -1, x.rank);
  requirePositions("topk", x.shape, x.shape[axis]);
  if (!Number.isInteger(k) || k < 0 || k > x.shape[axis]) {
    throw new ValueError(
      `Cannot topk ${k} of ${
        showShape(x.shape)
      } along axis ${axis}: k must be a whole number from 0 ` +
        `to ${x.shape[axis]}`,
    );
  }
  return engine.callMany(TOPK, [x], { axis, k, largest: options.largest ?? true });
}

/** The number of elements of the row that come before `v`, or before or with it. NaN is the largest. */
function countBefore(
  row: ArrayLike<number>,
  start: number,
  n: number,
  v: number,
  right: boolean,
): number {
  const nan = Number.isNaN(v);
  let low = 0;
  let high = n;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const s = row[start + middle];
    const less = s < v || (nan && !Number.isNaN(s));
    const equal = s === v || (nan && Number.isNaN(s));
    if (less || (right && equal)) low = middle + 1;
    else high = middle;
  }
  return low;
}

const SEARCH = kernelOp({
  name: "searchSorted",
  infer: ([, values]) => [{ shape: values.shape, dtype: "int32" }],
  reference: ([sorted, values], [out], attrs) => {
    const s = widened(sorted as HostArray);
    const v = widened(values as HostArray);
    if (sizeOf(v.shape) === 0) return;
    const rows = rowsOf(s, s.shape.length - 1);
    const n = s.shape[s.shape.length - 1];
    const wanted = v.shape.length === 0 ? { ...v, shape: [1], strides: [1] } : v;
    const points = rowsOf(wanted, wanted.shape.length - 1);
    const perRow = s.shape.length === 1 ? sizeOf(v.shape) : wanted.shape[wanted.shape.length - 1];
    const row = rows.data as Float32Array;
    const point = points.data as Float32Array;
    for (let i = 0; i < sizeOf(v.shape); i++) {
      const start = Math.floor(i / perRow) * n;
      out.data[out.offset + i] = countBefore(row, start, n, point[i], attrs.right as boolean);
    }
  },
  vjp: null,
  saves: "none",
  samples: () =>
    [false, true].flatMap((right) => [
      {
        inputs: [{ values: [-1, 0, 0, 2.5, 7] }, {
          values: [-2, 0, 2.5, 7, 9, NaN],
          shape: [2, 3],
        }],
        attrs: { right },
      },
      {
        inputs: [{ values: [1, 3, 5, 2, 4, 6], shape: [2, 3] }, {
          values: [3, 0, 4, 7],
          shape: [2, 2],
        }],
        attrs: { right },
      },
      { inputs: [{ shape: [0] }, { values: [1], shape: [] }], attrs: { right } },
    ]),
});

/** Options of `searchSorted`. */
export interface SearchSortedOptions {
  /** Give the position behind equal elements, not the one before them. Default false. */
  readonly right?: boolean;
}

/**
 * Where values would have to be inserted so that a sorted tensor stays sorted. NaN is the largest.
 *
 * @param sorted Ascending along its last axis; rank 1, or of the values' shape on the axes before.
 * @param values Any shape if `sorted` has rank 1.
 * @returns int32 of the values' shape: the number of elements before (with `right`: before or equal).
 * @throws {ShapeError} if the shapes do not fit.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { searchSorted, tensor } from "../mod.ts";
 *
 * const steps = tensor([1, 3, 3, 8]);
 * assertEquals(await searchSorted(steps, tensor([3, 9])).toArray(), [1, 4]);
 * assertEquals(await searchSorted(steps, tensor([3, 9]), { right: true }).toArray(), [3, 4]);
 * ```
 */
export function searchSorted(
  sorted: Tensor,
  values: Tensor,
  options: SearchSortedOptions = {},
): Tensor {
  expectTensors("searchSorted", sorted, values);
  expectOptions("searchSorted", options);
  requirePositions("searchSorted", sorted.shape, sorted.shape.at(-1) ?? 1);
  const lead = (shape: Shape): Shape => shape.slice(0, -1);
  const fits = sorted.rank === 1 ||
    (sorted.rank > 1 && sorted.rank === values.rank &&
      sameShape(lead(sorted.shape), lead(values.shape)));
  if (!fits) {
    throw new ShapeError(
      `Cannot searchSorted ${showShape(sorted.shape)} for values of shape ${
        showShape(values.shape)
      }: the sorted tensor must have rank 1, or the values' shape on all axes but the last`,
    );
  }
  return engine.call(SEARCH, [sorted, values], { right: options.right ?? false });
}
