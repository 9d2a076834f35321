// Views that leave elements out or turn them around: slices, windows, diagonals, pieces. Reading by items
// (`x.at(…)`) is in indexing.ts.
import {
  type Attrs,
  elementwise,
  engine,
  kernelOp,
  type LoweredKernel,
  type Meta,
  view,
} from "../core/op.ts";
import { ShapeError, ValueError } from "../core/errors.ts";
import * as k from "../core/ir/expr.ts";
import { expectList, expectNumbers, expectOptions, expectTensors } from "../core/operands.ts";
import { normalizeAxes, normalizeAxis, type Shape, showShape, sizeOf } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { refuseComplex } from "./common.ts";
import { place, type Region } from "./placing.ts";
import { sliceRange } from "./ranges.ts";
import { lowerWindows, summed } from "./window.ts";

interface SliceAttrs extends Region {
  readonly sizes: readonly number[];
}

const sliceAttrs = (attrs: Attrs): SliceAttrs => attrs as unknown as SliceAttrs;

const SLICE = view({
  name: "slice",
  shape: ({ shape }, attrs) => {
    const { axes, sizes } = sliceAttrs(attrs);
    const out = [...shape];
    axes.forEach((a, i) => out[a] = sizes[i]);
    return out;
  },
  view: (from, to, attrs) => {
    const { axes, starts, steps } = sliceAttrs(attrs);
    const strides = [...from.strides];
    let offset = from.offset;
    axes.forEach((a, i) => {
      offset += starts[i] * from.strides[a];
      strides[a] *= steps[i];
    });
    return { shape: to, strides, offset };
  },
  vjp: ([g], { attrs, shapes: [s] }) => {
    const { axes, starts, steps, sizes } = sliceAttrs(attrs);
    // Turning whole axes around undoes itself.
    const turned = axes.every((a, i) => Math.abs(steps[i]) === 1 && sizes[i] === s[a]);
    return [turned ? engine.call(SLICE, [g], attrs) : place(g, s, { axes, starts, steps }, 0)];
  },
  saves: "none",
  samples: () => [
    { inputs: [{ shape: [5] }], attrs: { axes: [0], starts: [1], steps: [2], sizes: [2] } },
    {
      inputs: [{ shape: [4, 5] }],
      attrs: { axes: [0, 1], starts: [1, 4], steps: [1, -2], sizes: [2, 3] },
    },
    { inputs: [{ shape: [2, 3] }], attrs: { axes: [1], starts: [2], steps: [-1], sizes: [3] } },
    { inputs: [{ shape: [5] }], attrs: { axes: [0], starts: [0], steps: [1], sizes: [0] } },
  ],
});

/** The part of `x` along axes, from geometry that is known to be right. */
function cut(x: Tensor, region: Region, sizes: readonly number[]): Tensor {
  const { axes, starts, steps } = region;
  return engine.call(SLICE, [x], { axes, starts, steps, sizes });
}

/** What `slice` cuts out. */
export interface SliceOptions {
  /** The axes to cut along. */
  readonly axes: readonly number[];
  /** The first position along each axis; negative ones count from the end. */
  readonly starts: readonly number[];
  /** The position behind the last. */
  readonly ends: readonly number[];
  /** Default 1; negative steps go backward. */
  readonly steps?: readonly number[];
}

/**
 * A part of a tensor along axes, like Python's slices: bounds past the ends are cut off.
 *
 * @param x Any shape.
 * @param options Axes, and for each where to start, where to stop, and the step.
 * @returns A view.
 * @throws {ShapeError} if an axis is out of range or repeated, or the lists differ in length.
 * @throws {ValueError} if a step is 0 or a bound is not a whole number.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { slice, tensor } from "../mod.ts";
 *
 * const x = tensor([1, 2, 3, 4, 5]);
 * assertEquals(await slice(x, { axes: [0], starts: [1], ends: [-1] }).toArray(), [2, 3, 4]);
 * ```
 */
export function slice(x: Tensor, options: SliceOptions): Tensor {
  expectTensors("slice", x);
  expectOptions("slice", options);
  const given = expectList("slice", "axes", options.axes);
  normalizeAxes("slice", given, x.rank);
  const axes = given.map((a) => normalizeAxis("slice", a, x.rank));
  const starts = expectNumbers("slice", "starts", options.starts);
  const ends = expectNumbers("slice", "ends", options.ends);
  const steps = expectNumbers("slice", "steps", options.steps ?? axes.map(() => 1));
  if ([starts, ends, steps].some((list) => list.length !== axes.length)) {
    throw new ShapeError(
      `Cannot slice ${
        showShape(x.shape)
      }: axes, starts, ends and steps must be equally long: got ` +
        `${axes.length}, ${starts.length}, ${ends.length} and ${steps.length}`,
    );
  }
  const ranges = axes.map((a, i) => {
    return sliceRange(x.shape[a], starts[i], ends[i], steps[i]);
  });
  return cut(x, { axes, starts: ranges.map((r) => r.start), steps }, ranges.map((r) => r.size));
}

/**
 * Turns axes around.
 *
 * @param x Rank of at least 1.
 * @param axis One axis, or several.
 * @returns A view with negative strides.
 * @throws {ShapeError} if an axis is out of range or repeated.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { flip, tensor } from "../mod.ts";
 *
 * assertEquals(await flip(tensor([1, 2, 3]), 0).toArray(), [3, 2, 1]);
 * ```
 */
export function flip(x: Tensor, axis: number | readonly number[]): Tensor {
  expectTensors("flip", x);
  const axes = normalizeAxes("flip", axis, x.rank);
  const sizes = axes.map((a) => x.shape[a]);
  const starts = sizes.map((n) => Math.max(n - 1, 0));
  return cut(x, { axes, starts, steps: axes.map(() => -1) }, sizes);
}

// --- windows -----------------------------------------------------------------------------------------

interface UnfoldAttrs {
  readonly axis: number;
  readonly size: number;
  readonly step: number;
}

const unfoldAttrs = (attrs: Attrs): UnfoldAttrs => attrs as unknown as UnfoldAttrs;

/** Σ over the windows that cover each point: a fold over the few that can. */
function lowerFold(
  [g]: readonly Meta[],
  [out]: readonly Meta[],
  attrs: Attrs,
): LoweredKernel {
  const { axis, size, step } = unfoldAttrs(attrs);
  const count = g.shape[axis];
  const pre = sizeOf(out.shape.slice(0, axis));
  const post = sizeOf(out.shape.slice(axis + 1));
  return lowerWindows({
    inputs: [g],
    outs: [out],
    views: [[pre, count, post, size]],
    outer: [pre, out.shape[axis], post],
    inner: [Math.ceil(size / step)],
    numbers: [step, count, size],
    body: ({ outer: [a, c, b], inner: [back], numbers: [st, n, w], read }) => {
      const i = k.sub(k.idiv(c, st), back);
      const j = k.sub(c, k.mul(i, st));
      const inside = k.and(k.and(k.ge(i, 0), k.lt(i, n)), k.lt(j, w));
      const held = (x: k.Expr, limit: k.Expr) => k.max(k.min(x, k.sub(limit, 1)), 0);
      const value = read(0, [a, held(i, n), b, held(j, w)]);
      return summed(k.where(inside, value, k.constant(0, value.dtype)));
    },
  });
}

const FOLD = kernelOp({
  name: "fold",
  infer: ([g], attrs) => [{ shape: attrs.shape as Shape, dtype: g.dtype }],
  lower: lowerFold,
  vjp: ([g], { attrs }) => {
    const { axis, size, step } = unfoldAttrs(attrs);
    return [unfold(g, axis, { size, step })];
  },
  saves: "none",
  samples: () => [
    { inputs: [{ shape: [3, 3] }], attrs: { axis: 0, size: 3, step: 2, shape: [7] } },
    { inputs: [{ shape: [2, 2, 2, 2] }], attrs: { axis: 1, size: 2, step: 3, shape: [2, 5, 2] } },
  ],
});

const UNFOLD = view({
  name: "unfold",
  shape: ({ shape }, attrs) => {
    const { axis, size, step } = unfoldAttrs(attrs);
    const count = Math.floor((shape[axis] - size) / step) + 1;
    return [...shape.map((n, d) => (d === axis ? count : n)), size];
  },
  view: (from, to, attrs) => {
    const { axis, step } = unfoldAttrs(attrs);
    const strides = from.strides.map((s, d) => (d === axis ? s * step : s));
    return { shape: to, strides: [...strides, from.strides[axis]], offset: from.offset };
  },
  vjp: ([g], { attrs, shapes: [shape] }) => [
    sizeOf(g.shape) === 0
      ? place(g, shape, NOWHERE, 0)
      : engine.call(FOLD, [g], { ...attrs, shape }),
  ],
  saves: "none",
  samples: () => [
    { inputs: [{ shape: [7] }], attrs: { axis: 0, size: 3, step: 2 } },
    { inputs: [{ shape: [2, 5] }], attrs: { axis: 1, size: 2, step: 3 } },
    { inputs: [{ shape: [4, 2] }], attrs: { axis: 0, size: 3, step: 1 } },
  ],
});

const NOWHERE: Region = { axes: [], starts: [], steps: [] };

/** Options of `unfold`. */
export interface UnfoldOptions {
  /** Elements in a window. */
  readonly size: number;
  /** From the start of one window to that of the next. */
  readonly step: number;
}

/**
 * Windows along an axis, as a new last axis.
 *
 * @param x Rank of at least 1.
 * @param axis The axis that windows are cut from.
 * @param options Their size and distance.
 * @returns A view of `x`'s shape with the number of windows on the axis, and `size` behind.
 * @throws {ShapeError} if the axis is out of range.
 * @throws {ValueError} if size or step is not a positive whole number, or the size exceeds the axis.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { tensor, unfold } from "../mod.ts";
 *
 * const windows = unfold(tensor([1, 2, 3, 4, 5]), 0, { size: 3, step: 2 });
 * assertEquals(await windows.toArray(), [[1, 2, 3], [3, 4, 5]]);
 * ```
 */
export function unfold(x: Tensor, axis: number, options: UnfoldOptions): Tensor {
  expectTensors("unfold", x);
  expectOptions("unfold", options);
  const a = normalizeAxis("unfold", axis, x.rank);
  const { size, step } = options;
  const whole = Number.isInteger(size) && Number.isInteger(step);
  if (!whole || size < 1 || step < 1 || size > x.shape[a]) {
    throw new ValueError(
      `Cannot unfold axis ${a} of ${showShape(x.shape)} with size ${size} and step ${step}: both ` +
        `must be whole numbers of at least 1, and the size at most ${x.shape[a]}`,
    );
  }
  return engine.call(UNFOLD, [x], { axis: a, size, step });
}

// --- diagonals ---------------------------------------------------------------------------------------

interface DiagonalAttrs {
  readonly offset: number;
  readonly axis1: number;
  readonly axis2: number;
}

const diagonalAttrs = (attrs: Attrs): DiagonalAttrs => attrs as unknown as DiagonalAttrs;

function diagonalLength(shape: Shape, { offset, axis1, axis2 }: DiagonalAttrs): number {
  const rows = shape[axis1] - Math.max(-offset, 0);
  const columns = shape[axis2] - Math.max(offset, 0);
  return Math.max(Math.min(rows, columns), 0);
}

const DIAGONAL = view({
  name: "diagonal",
  shape: ({ shape }, attrs) => {
    const a = diagonalAttrs(attrs);
    const rest = shape.filter((_, d) => d !== a.axis1 && d !== a.axis2);
    return [...rest, diagonalLength(shape, a)];
  },
  view: (from, to, attrs) => {
    const { offset, axis1, axis2 } = diagonalAttrs(attrs);
    const rest = from.strides.filter((_, d) => d !== axis1 && d !== axis2);
    const start = offset < 0 ? -offset * from.strides[axis1] : offset * from.strides[axis2];
    return {
      shape: to,
      strides: [...rest, from.strides[axis1] + from.strides[axis2]],
      offset: from.offset + (to[to.length - 1] === 0 ? 0 : start),
    };
  },
  vjp: ([g], { attrs, shapes: [shape] }) => [
    g.numel === 0
      ? place(g, shape, NOWHERE, 0)
      : engine.call(ON_DIAGONAL, [g], { ...attrs, shape }),
  ],
  saves: "none",
  samples: () => [
    { inputs: [{ shape: [3, 4] }], attrs: { offset: 1, axis1: 0, axis2: 1 } },
    { inputs: [{ shape: [2, 3, 4] }], attrs: { offset: -1, axis1: 2, axis2: 0 } },
    { inputs: [{ shape: [3, 3] }], attrs: { offset: 3, axis1: 0, axis2: 1 } },
  ],
});

const ON_DIAGONAL = elementwise({
  name: "onDiagonal",
  dtype: (name, [g]) => {
    refuseComplex(name, g.dtype);
    return { compute: g.dtype, out: g.dtype };
  },
  indexed: [0],
  shape: (_, attrs) => attrs.shape as Shape,
  scalar: (_, ctx) => {
    const { offset, axis1, axis2 } = diagonalAttrs(ctx.attrs);
    const shape = ctx.attrs.shape as Shape;
    const [row, column] = [ctx.coord(axis1), ctx.coord(axis2)];
    const rest = shape.map((_, d) => d).filter((d) => d !== axis1 && d !== axis2);
    const last = diagonalLength(shape, { offset, axis1, axis2 }) - 1;
    const along = offset < 0 ? column : row;
    const value = ctx.at(0, [...rest.map((d) => ctx.coord(d)), k.min(along, last)]);
    const here = k.eq(k.sub(column, row), offset);
    return k.where(here, value, k.constant(0, value.dtype));
  },
  vjp: ([g], { attrs }) => {
    const { offset, axis1, axis2 } = diagonalAttrs(attrs);
    return [engine.call(DIAGONAL, [g], { offset, axis1, axis2 })];
  },
  saves: "none",
  samples: () => [
    { inputs: [{ shape: [3] }], attrs: { offset: 1, axis1: 0, axis2: 1, shape: [3, 4] } },
  ],
});

/** Options of `diagonal`. */
export interface DiagonalOptions {
  /** 0 is the main diagonal; positive ones lie above it, negative ones below. */
  readonly offset?: number;
  /** The axis of rows. Default 0. */
  readonly axis1?: number;
  /** The axis of columns. Default 1. */
  readonly axis2?: number;
}

/**
 * The diagonal of a matrix, or of every matrix in a stack, as the last axis.
 *
 * @param x Rank of at least 2.
 * @returns A view of `x`'s shape without the two axes, and the diagonal behind.
 * @throws {ShapeError} if an axis is out of range, or both are one.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { diagonal, tensor } from "../mod.ts";
 *
 * assertEquals(await diagonal(tensor([[1, 2], [3, 4]])).toArray(), [1, 4]);
 * ```
 */
export function diagonal(x: Tensor, options: DiagonalOptions = {}): Tensor {
  expectTensors("diagonal", x);
  expectOptions("diagonal", options);
  const offset = options.offset ?? 0;
  const axis1 = normalizeAxis("diagonal", options.axis1 ?? 0, x.rank);
  const axis2 = normalizeAxis("diagonal", options.axis2 ?? 1, x.rank);
  if (axis1 === axis2 || !Number.isInteger(offset)) {
    throw new ShapeError(
      `Cannot take the diagonal of ${
        showShape(x.shape)
      } over axes ${axis1} and ${axis2} at offset ` +
        `${offset}: the axes must differ and the offset be a whole number`,
    );
  }
  return engine.call(DIAGONAL, [x], { offset, axis1, axis2 });
}

// --- pieces ------------------------------------------------------------------------------------------

/**
 * Cuts a tensor into pieces along an axis.
 *
 * @param x Rank of at least 1.
 * @param sizeOrSections The size of every piece (the last may be smaller), or a list of sizes.
 * @param axis The axis to cut. Default 0.
 * @returns Views.
 * @throws {ShapeError} if the axis is out of range or the sizes do not add up.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { split, tensor } from "../mod.ts";
 *
 * const pieces = split(tensor([1, 2, 3, 4, 5]), 2);
 * assertEquals(pieces.map((p) => p.shape), [[2], [2], [1]]);
 * ```
 */
export function split(x: Tensor, sizeOrSections: number | readonly number[], axis = 0): Tensor[] {
  expectTensors("split", x);
  const a = normalizeAxis("split", axis, x.rank);
  const n = x.shape[a];
  return pieces(
    x,
    a,
    typeof sizeOrSections === "number"
      ? equalSizes("split", x.shape, a, sizeOrSections)
      : checkSections(x.shape, a, expectNumbers("split", "sections", sizeOrSections), n),
  );
}

function pieces(x: Tensor, axis: number, sizes: readonly number[]): Tensor[] {
  let start = 0;
  return sizes.map((size) => {
    const piece = cut(x, { axes: [axis], starts: [size === 0 ? 0 : start], steps: [1] }, [size]);
    start += size;
    return piece;
  });
}

function equalSizes(name: string, shape: Shape, axis: number, size: number): number[] {
  if (!Number.isInteger(size) || size < 1) {
    throw new ShapeError(
      `Cannot ${name} ${showShape(shape)} into pieces of size ${size}: a size must be a whole ` +
        "number of at least 1",
    );
  }
  const n = shape[axis];
  const count = Math.max(Math.ceil(n / size), 1);
  return Array.from({ length: count }, (_, i) => Math.min(size, n - i * size));
}

function checkSections(
  shape: Shape,
  axis: number,
  sections: readonly number[],
  n: number,
): readonly number[] {
  const total = sections.reduce((s, v) => s + v, 0);
  if (total !== n || sections.some((v) => !Number.isInteger(v) || v < 0)) {
    throw new ShapeError(
      `Cannot split axis ${axis} of ${showShape(shape)} into [${sections.join(", ")}]: the sizes ` +
        `must be whole numbers that add up to ${n}: got ${total}`,
    );
  }
  return sections;
}

/**
 * Cuts a tensor into a number of pieces along an axis; the last may be smaller, and there may be fewer.
 *
 * @param x Rank of at least 1.
 * @param count How many.
 * @param axis The axis to cut. Default 0.
 * @returns Views.
 * @throws {ShapeError} if the axis is out of range or the number is not at least 1.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { chunk, tensor } from "../mod.ts";
 *
 * const pieces = chunk(tensor([1, 2, 3, 4, 5]), 2);
 * assertEquals(pieces.map((p) => p.shape), [[3], [2]]);
 * ```
 */
export function chunk(x: Tensor, count: number, axis = 0): Tensor[] {
  expectTensors("chunk", x);
  const a = normalizeAxis("chunk", axis, x.rank);
  if (!Number.isInteger(count) || count < 1) {
    throw new ShapeError(
      `Cannot chunk ${
        showShape(x.shape)
      } into ${count} pieces: the number must be a whole number ` +
        "of at least 1",
    );
  }
  return pieces(x, a, equalSizes("chunk", x.shape, a, Math.max(Math.ceil(x.shape[a] / count), 1)));
}

/**
 * The slices along an axis, without that axis.
 *
 * @param x Rank of at least 1.
 * @param axis The axis to take apart. Default 0.
 * @returns Views.
 * @throws {ShapeError} if the axis is out of range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { tensor, unbind } from "../mod.ts";
 *
 * const [first, second] = unbind(tensor([[1, 2], [3, 4]]));
 * assertEquals([await first.toArray(), await second.toArray()], [[1, 2], [3, 4]]);
 * ```
 */
export function unbind(x: Tensor, axis = 0): Tensor[] {
  expectTensors("unbind", x);
  const a = normalizeAxis("unbind", axis, x.rank);
  return Array.from({ length: x.shape[a] }, (_, i) => select(x, a, i));
}

/** One slice along an axis, without that axis. */
function select(x: Tensor, axis: number, index: number): Tensor {
  return op.squeeze(cut(x, { axes: [axis], starts: [index], steps: [1] }, [1]), axis);
}
