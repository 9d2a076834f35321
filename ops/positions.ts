// Reading and writing at positions given by index tensors on some axes, NumPy's "advanced" indexing: the
// core of at, setAt, gather, indexAdd and scatter; not public. Along one axis: along_axis.ts.
import { type Attrs, elementwise, engine, kernelOp, type Meta } from "../core/op.ts";
import type { DType } from "../core/dtype.ts";
import type { HostArray } from "../core/host.ts";
import * as k from "../core/ir/expr.ts";
import { broadcastShapes, type Shape } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { blank, indexCompute, refuseComplex } from "./common.ts";
import { clear, copyElements } from "./host_arrays.ts";
import { type Put, putAt as putOnHost } from "./host_scatter.ts";

interface ReadAttrs {
  /** The axes that are indexed, in the order of the index operands. */
  readonly axes: readonly number[];
  /** Where the axes of the index stand in the result: behind that many of the axes not indexed. */
  readonly at: number;
}

const readAttrs = (attrs: Attrs): ReadAttrs => attrs as unknown as ReadAttrs;

/** The operands that hold indexes, if the first of them is operand `first`. */
const indexOperands = (first: number): readonly number[] =>
  Array.from({ length: MAX_INDEXES }, (_, i) => first + i);

/** More axes than any tensor has in practice. */
const MAX_INDEXES = 16;

/** A position counted from either end, as an int32 coordinate that is held within the size. */
export function coordinate(index: k.Expr, size: k.Expr): k.Expr {
  const i = k.cast(index, "int32");
  const forward = k.where(k.lt(i, 0), k.add(i, size), i);
  return k.max(k.min(forward, k.sub(size, 1)), 0);
}

/** Axes of the operand that are not indexed. */
function restOf(rank: number, axes: readonly number[]): number[] {
  return Array.from({ length: rank }, (_, d) => d).filter((d) => !axes.includes(d));
}

/** The shape that reading gives: the index's shape `own` among the axes that are not indexed. */
export function readShape(shape: Shape, own: Shape, { axes, at }: ReadAttrs): number[] {
  const rest = restOf(shape.length, axes).map((d) => shape[d]);
  return [...rest.slice(0, at), ...own, ...rest.slice(at)];
}

function indexDTypes(metas: readonly Meta[], count: number): DType[] {
  return metas.slice(1, 1 + count).map((m) => indexCompute(m.dtype));
}

const READ = elementwise({
  name: "readAt",
  dtype: (name, metas, attrs) => {
    refuseComplex(name, metas[0].dtype);
    const n = readAttrs(attrs).axes.length;
    const sizes = new Array<DType>(n).fill("int32");
    return {
      compute: [metas[0].dtype, ...indexDTypes(metas, n), ...sizes],
      out: metas[0].dtype,
    };
  },
  indexed: [0],
  shape: (metas, attrs) => {
    const a = readAttrs(attrs);
    const trailing = metas[0].shape.length - a.axes.length - a.at;
    const index = metas[1].shape;
    return readShape(metas[0].shape, index.slice(0, index.length - trailing), a);
  },
  scalar: (xs, ctx) => {
    const { axes, at } = readAttrs(ctx.attrs);
    const own = ctx.attrs.own as number;
    const rank = ctx.attrs.rank as number;
    const coords = new Array<k.Expr>(rank);
    restOf(rank, axes).forEach((d, i) => coords[d] = ctx.coord(i < at ? i : i + own));
    axes.forEach((d, i) => coords[d] = coordinate(xs[1 + i], xs[1 + axes.length + i]));
    return ctx.at(0, coords);
  },
  vjp: ([g], { inputs, attrs, shapes }) => {
    const { axes, at } = readAttrs(attrs);
    const own = attrs.own as number;
    const index = inputs.slice(1, 1 + axes.length) as Tensor[];
    const plain = index.map((x) => op.reshape(x, x.shape.slice(0, own)));
    return [
      scatterAt(g, plain, shapes[0], axes, at),
      ...new Array<null>(2 * axes.length).fill(null),
    ];
  },
  reads: [indexOperands(1)],
  samples: () => [
    {
      inputs: [
        { shape: [4, 2] },
        { values: [1, -1, 1, 0], shape: [2, 2, 1], dtype: "int32" },
        4,
      ],
      attrs: { axes: [0], at: 0, own: 2, rank: 2 },
    },
    {
      inputs: [
        { shape: [3, 2, 2] },
        { values: [0, 2, 2], dtype: "int32" },
        { values: [1, 0, 0], dtype: "int64" },
        3,
        2,
      ],
      attrs: { axes: [0, 2], at: 1, own: 1, rank: 3 },
    },
  ],
});

/** Index tensors of one shape. */
export function alignIndexes(name: string, index: readonly Tensor[]): Tensor[] {
  if (index.length === 1) return [...index];
  const own = broadcastShapes(name, ...index.map((x) => x.shape));
  return index.map((x) => op.expand(x, own));
}

/**
 * The elements of `x` at positions: `index[i]` says which along `axes[i]`; the axes of the index stand in
 * the result behind `at` of the other axes. The caller has checked the range.
 */
export function readAt(
  x: Tensor,
  index: readonly Tensor[],
  axes: readonly number[],
  at: number,
): Tensor {
  const own = index[0].shape;
  const trailing = new Array<number>(x.rank - axes.length - at).fill(1);
  const operands = index.map((i) => op.reshape(i, [...own, ...trailing]));
  const sizes = axes.map((a) => x.shape[a]);
  const attrs = { axes, at, own: own.length, rank: x.rank };
  if (x.numel === 0) return blank(x, readShape(x.shape, own, attrs), 0);
  return engine.call(READ, [x, ...operands, ...sizes], attrs);
}

const SCATTER = kernelOp({
  name: "scatterAt",
  infer: ([x], attrs) => [{ shape: attrs.shape as Shape, dtype: x.dtype }],
  reference: ([x, ...index], [out], attrs) => {
    clear(out);
    putOnHost("scatterAt", out, index as HostArray[], x as HostArray, readAttrs(attrs), "add");
  },
  vjp: ([g], { inputs: [, ...index], attrs }) => {
    const { axes, at } = readAttrs(attrs);
    return [readAt(g, index as Tensor[], axes, at), ...index.map(() => null)];
  },
  reads: [indexOperands(1)],
  samples: () => [
    {
      inputs: [{ shape: [3, 2] }, { values: [1, 1, -1], dtype: "int32" }],
      attrs: { shape: [4, 2], axes: [0], at: 0 },
    },
    {
      inputs: [
        { shape: [2, 3] },
        { values: [0, 2, 2], dtype: "int32" },
        { values: [1, 0, 0], dtype: "int64" },
      ],
      attrs: { shape: [3, 2, 2], axes: [0, 2], at: 1 },
    },
    {
      inputs: [{ shape: [0, 2] }, { shape: [0], dtype: "int32" }],
      attrs: { shape: [4, 2], axes: [0], at: 0 },
    },
  ],
});

/** Zeros of `shape` with every element of `x` added at its position: undoes {@linkcode readAt}. */
export function scatterAt(
  x: Tensor,
  index: readonly Tensor[],
  shape: Shape,
  axes: readonly number[],
  at: number,
): Tensor {
  return engine.call(SCATTER, [x, ...index], { shape, axes, at });
}

/** `x` with values put at positions. Operands: x, the values, the indexes (all of one shape). */
export const PUT_AT = kernelOp({
  name: "putAt",
  infer: ([x]) => [{ shape: x.shape, dtype: x.dtype }],
  reference: ([x, values, ...index], [out], attrs) => {
    copyElements(out, x as HostArray);
    const how = attrs.how as Put;
    putOnHost("putAt", out, index as HostArray[], values as HostArray, readAttrs(attrs), how);
  },
  vjp: ([g], { inputs, attrs, needs, shapes }) => {
    const { axes, at } = readAttrs(attrs);
    const index = inputs.slice(2) as Tensor[];
    const zero = (): Tensor =>
      op.expand(op.zeros([], { dtype: g.dtype, place: g.place }), shapes[1]);
    return [
      !needs[0] ? null : attrs.how === "add" ? g : putAt(g, zero(), index, axes, at, "assign"),
      needs[1] ? readAt(g, index, axes, at) : null,
      ...index.map(() => null),
    ];
  },
  reads: [indexOperands(2), indexOperands(2)],
  samples: () =>
    ["assign", "add"].flatMap((how) => [
      {
        inputs: [{ shape: [4, 2] }, { shape: [2, 2] }, { values: [2, -4], dtype: "int32" }],
        attrs: { axes: [0], at: 0, how },
      },
      {
        inputs: [
          { shape: [3, 2, 2] },
          { shape: [2, 2] },
          { values: [0, 2], dtype: "int32" },
          { values: [1, 0], dtype: "int64" },
        ],
        attrs: { axes: [0, 2], at: 1, how },
      },
    ]),
});

/**
 * `x` with `values` (of the shape that reading would give) put at positions, or added there. Positions
 * named twice keep the last value, or add up; the gradient of an assignment goes to every one of them.
 */
export function putAt(
  x: Tensor,
  values: Tensor,
  index: readonly Tensor[],
  axes: readonly number[],
  at: number,
  how: "assign" | "add",
): Tensor {
  return engine.call(PUT_AT, [x, values, ...index], { axes, at, how });
}
