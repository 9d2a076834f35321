// The opposites of reading along axes: ops that put what was read back where it came from, with a fixed
// value or 0 elsewhere. They are the gradients of slices and picks, and the core of `pad`; not public.
// COPY, which puts a whole tensor in the place of another, is here too.
import { type Attrs, elementwise, engine, kernelOp, type Operand } from "../core/op.ts";
import { IndexError } from "../core/errors.ts";
import type { HostArray } from "../core/host.ts";
import * as k from "../core/ir/expr.ts";
import { sameShape, type Shape, showShape } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { blank, refuseComplex } from "./common.ts";
import { clear } from "./host_arrays.ts";
import { putAlong } from "./host_scatter.ts";

/** Where a slice lies in what it was cut from: element i of axes[k] is at starts[k] + i·steps[k]. */
export interface Region {
  readonly axes: readonly number[];
  readonly starts: readonly number[];
  readonly steps: readonly number[];
}

interface PlaceAttrs extends Region {
  readonly shape: Shape;
}

const placeAttrs = (attrs: Attrs): PlaceAttrs => attrs as unknown as PlaceAttrs;

/**
 * The coordinate in the slice of the point at coordinate `c`, held within it, and whether it is there.
 * `start`, `step` and `size` are run-time numbers; only the sign of the step and whether it is 1 are
 * part of the kernel.
 */
export function within(
  c: k.Expr,
  [start, step, size]: readonly k.Expr[],
  staticStep: number,
): { readonly at: k.Expr; readonly inside: k.Expr } {
  const far = staticStep > 0 ? k.sub(c, start) : k.sub(start, c);
  const unit = Math.abs(staticStep) === 1;
  const at = unit ? far : k.idiv(far, step);
  let inside = k.and(k.ge(far, 0), k.lt(at, size));
  if (!unit) inside = k.and(inside, k.eq(k.irem(far, step), 0));
  return { at: k.max(k.min(at, k.sub(size, 1)), 0), inside };
}

/** Operands for {@linkcode within}, one triple an axis. */
export function regionNumbers(region: Region, sizes: Shape): number[] {
  return region.axes.flatMap((a, i) => [region.starts[i], Math.abs(region.steps[i]), sizes[a]]);
}

const PLACE = elementwise({
  name: "place",
  dtype: (name, metas) => {
    refuseComplex(name, metas[0].dtype);
    const numbers = metas.slice(2).map(() => "int32" as const);
    return { compute: [metas[0].dtype, metas[0].dtype, ...numbers], out: metas[0].dtype };
  },
  shape: (_, attrs) => placeAttrs(attrs).shape,
  indexed: [0],
  scalar: (xs, ctx) => {
    const { shape, axes, steps } = placeAttrs(ctx.attrs);
    const coords = shape.map((_, d) => ctx.coord(d));
    let inside: k.Expr | null = null;
    axes.forEach((a, i) => {
      const w = within(coords[a], xs.slice(2 + 3 * i, 5 + 3 * i), steps[i]);
      coords[a] = w.at;
      inside = inside === null ? w.inside : k.and(inside, w.inside);
    });
    const value = ctx.at(0, coords);
    return inside === null ? value : k.where(inside, value, xs[1]);
  },
  vjp: ([g], { attrs, shapes, needs }) => {
    const { axes, starts, steps } = placeAttrs(attrs);
    const inner = op.slice(g, sliceOf({ axes, starts, steps }, shapes[0]));
    return [
      needs[0] ? inner : null,
      needs[1] ? op.sub(op.sum(g), op.sum(inner)) : null,
      ...new Array<null>(3 * axes.length).fill(null),
    ];
  },
  saves: "none",
  samples: () => [
    {
      inputs: [{ shape: [2, 3] }, 0.5, 1, 1, 3],
      attrs: { shape: [2, 5], axes: [1], starts: [1], steps: [1] },
    },
    {
      inputs: [{ shape: [2, 2] }, 0, 4, 2, 2, 1, 1, 2],
      attrs: { shape: [6, 3], axes: [0, 1], starts: [4, 1], steps: [-2, 1] },
    },
  ],
});

/** The options of `slice` that read a region of sizes `sizes`. */
export function sliceOf(region: Region, sizes: Shape): {
  axes: readonly number[];
  starts: readonly number[];
  ends: readonly number[];
  steps: readonly number[];
} {
  const ends = region.axes.map((a, i) => {
    const end = region.starts[i] + sizes[a] * region.steps[i];
    // Before the first element of an axis there is no end to name but one past all of it.
    return end < 0 ? Number.MIN_SAFE_INTEGER : end;
  });
  return { ...region, ends };
}

/** A tensor of `shape` that is `x` at the region and `value` elsewhere; `x` has `shape`'s rank. */
export function place(x: Tensor, shape: Shape, region: Region, value: Operand): Tensor {
  const attrs = { shape, axes: region.axes, starts: region.starts, steps: region.steps };
  if (x.numel === 0) return blank(x, shape, value);
  return engine.call(PLACE, [x, value, ...regionNumbers(region, x.shape)], attrs);
}

const PLACE_ALONG = elementwise({
  name: "placeAlong",
  dtype: (_, metas) => ({ compute: [metas[0].dtype, "int32"], out: metas[0].dtype }),
  shape: (metas, attrs) =>
    metas[0].shape.map((n, d) => (d === attrs.axis ? attrs.size as number : n)),
  scalar: ([x, i], ctx) =>
    k.where(k.eq(ctx.coord(ctx.attrs.axis as number), i), x, k.constant(0, x.dtype)),
  vjp: ([g], { inputs: [, index], attrs }) => [
    op.takeAlongAxis(g, index as Tensor, attrs.axis as number),
    null,
  ],
  reads: [[1]],
  samples: () => [
    {
      inputs: [{ shape: [2, 1] }, { values: [2, 0], shape: [2, 1], dtype: "int32" }],
      attrs: { axis: 1, size: 3 },
    },
  ],
});

/**
 * Zeros but for one element along `axis`, of which there are `size`: `x`, at the position `index`. Both
 * have size 1 there.
 */
export function placeAlong(x: Tensor, index: Tensor, axis: number, size: number): Tensor {
  return engine.call(PLACE_ALONG, [x, index], { axis, size });
}

const SCATTER_ALONG = kernelOp({
  name: "scatterAlong",
  infer: ([x], attrs) => [{ shape: attrs.shape as Shape, dtype: x.dtype }],
  reference: ([x, index], [out], attrs) => {
    clear(out);
    putAlong("scatterAlong", out, index as HostArray, x as HostArray, attrs.axis as number, "add");
  },
  vjp: ([g], { inputs: [, index], attrs }) => [
    op.takeAlongAxis(g, index as Tensor, attrs.axis as number),
    null,
  ],
  reads: [[1]],
  samples: () => [
    {
      inputs: [{ shape: [2, 3] }, { values: [2, 2, 0, -1, 1, 1], shape: [2, 3], dtype: "int32" }],
      attrs: { axis: 1, shape: [2, 4] },
    },
  ],
});

/** Zeros of `shape` with every `x` added at its position `index` along `axis`: undoes takeAlongAxis. */
export function scatterAlong(x: Tensor, index: Tensor, axis: number, shape: Shape): Tensor {
  if (!sameShape(x.shape, index.shape)) {
    throw new IndexError(
      `Cannot scatterAlong ${showShape(x.shape)} with index ${showShape(index.shape)}: ` +
        "the shapes must be equal",
    );
  }
  return engine.call(SCATTER_ALONG, [x, index], { axis, shape });
}

/** The second operand with the shape and dtype of the first, whose elements are not read. */
export const COPY = elementwise({
  name: "copy",
  dtype: (name, [x]) => {
    refuseComplex(name, x.dtype);
    return { compute: x.dtype, out: x.dtype };
  },
  scalar: ([, source]) => source,
  vjp: ([g], { shapes, needs }) => [
    needs[0] ? op.expand(op.zeros([], { dtype: g.dtype, place: g.place }), shapes[0]) : null,
    g,
  ],
  saves: "none",
  samples: () => [
    { inputs: [{ shape: [2, 3] }, { shape: [3] }] },
    { inputs: [{ shape: [3] }, 2.5] },
  ],
});
