// Other readings of the same elements, with no copy: reshaping, reordering, adding, dropping and
// stretching axes. Views that leave elements out are in slicing.ts.
import { type Attrs, engine, type Meta, view, type ViewGeometry } from "../core/op.ts";
import { ShapeError } from "../core/errors.ts";
import { expectList, expectNumbers, expectTensors } from "../core/operands.ts";
import {
  broadcastStrides,
  checkShape,
  inferReshape,
  normalizeAxes,
  normalizeAxis,
  reshapeStrides,
  type Shape,
  showShape,
} from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";

const axesOf = (attrs: Attrs): readonly number[] => attrs.axes as readonly number[];

const RESHAPE = view({
  name: "reshape",
  shape: (_, attrs) => attrs.shape as Shape,
  view: (from, to) => {
    const strides = reshapeStrides(from.shape, from.strides, to);
    return strides === null ? null : { shape: to, strides, offset: from.offset };
  },
  vjp: ([g], { shapes: [s] }) => [reshape(g, s)],
  saves: "none",
  samples: () => [
    { inputs: [{ shape: [2, 6] }], attrs: { shape: [3, 4] } },
    { inputs: [{ shape: [] }], attrs: { shape: [1, 1] } },
    { inputs: [{ shape: [0, 3] }], attrs: { shape: [3, 0] }, noGrad: true },
  ],
});

/**
 * The same elements in row-major order under another shape: a view where the strides allow it, else a copy.
 *
 * @param x Any shape.
 * @param shape The new sizes; one may be -1 and follows from the others.
 * @returns The new shape.
 * @throws {ShapeError} if the numbers of elements differ.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { reshape, tensor } from "../mod.ts";
 *
 * assertEquals(await reshape(tensor([1, 2, 3, 4]), [2, -1]).toArray(), [[1, 2], [3, 4]]);
 * ```
 */
export function reshape(x: Tensor, shape: Shape): Tensor {
  expectTensors("reshape", x);
  return engine.call(RESHAPE, [x], { shape: inferReshape("reshape", x.shape, shape) });
}

/**
 * Joins neighbouring axes into one.
 *
 * @param x Any shape; a scalar becomes a row of one.
 * @param startAxis The first axis to join. Default 0.
 * @param stopAxis The last axis to join. Default -1.
 * @returns The shape with one axis in the place of those.
 * @throws {ShapeError} if an axis is out of range, or the first lies behind the last.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { flatten, zeros } from "../mod.ts";
 *
 * assertEquals(flatten(zeros([2, 3, 4]), 1).shape, [2, 12]);
 * ```
 */
export function flatten(x: Tensor, startAxis = 0, stopAxis = -1): Tensor {
  expectTensors("flatten", x);
  if (x.rank === 0) return reshape(x, [1]);
  const start = normalizeAxis("flatten", startAxis, x.rank);
  const stop = normalizeAxis("flatten", stopAxis, x.rank);
  if (start > stop) {
    throw new ShapeError(
      `Cannot flatten ${
        showShape(x.shape)
      } from axis ${startAxis} to axis ${stopAxis}: the first ` +
        "axis must not lie behind the last; swap them",
    );
  }
  const joined = x.shape.slice(start, stop + 1).reduce((a, b) => a * b, 1);
  return reshape(x, [...x.shape.slice(0, start), joined, ...x.shape.slice(stop + 1)]);
}

const SQUEEZE = view({
  name: "squeeze",
  shape: ({ shape }, attrs) => shape.filter((_, d) => !axesOf(attrs).includes(d)),
  view: (from, to, attrs) => ({
    shape: to,
    strides: from.strides.filter((_, d) => !axesOf(attrs).includes(d)),
    offset: from.offset,
  }),
  axes: ({ shape }, attrs) => shape.map((_, d) => d).filter((d) => !axesOf(attrs).includes(d)),
  vjp: ([g], { attrs }) => [engine.call(UNSQUEEZE, [g], { axes: axesOf(attrs) })],
  saves: "none",
  samples: () => [
    { inputs: [{ shape: [1, 3, 1] }], attrs: { axes: [0, 2] } },
    { inputs: [{ shape: [1, 1] }], attrs: { axes: [0, 1] } },
  ],
});

/**
 * Drops axes of size 1; a named axis of another size stays.
 *
 * @param x Any shape.
 * @param axis One axis, several, or none for every axis of size 1.
 * @returns A view.
 * @throws {ShapeError} if an axis is out of range or repeated.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { squeeze, zeros } from "../mod.ts";
 *
 * assertEquals(squeeze(zeros([1, 3, 1])).shape, [3]);
 * assertEquals(squeeze(zeros([1, 3, 1]), 0).shape, [3, 1]);
 * ```
 */
export function squeeze(x: Tensor, axis?: number | readonly number[]): Tensor {
  expectTensors("squeeze", x);
  const axes = normalizeAxes("squeeze", axis, x.rank).filter((d) => x.shape[d] === 1);
  return engine.call(SQUEEZE, [x], { axes });
}

/** For each axis of the result: the axis of the operand, or -1 for a new one. */
function withNew(rank: number, axes: readonly number[]): number[] {
  let next = 0;
  return Array.from({ length: rank + axes.length }, (_, d) => axes.includes(d) ? -1 : next++);
}

const UNSQUEEZE = view({
  name: "unsqueeze",
  shape: ({ shape }, attrs) =>
    withNew(shape.length, axesOf(attrs)).map((d) => (d < 0 ? 1 : shape[d])),
  view: (from, to, attrs) => ({
    shape: to,
    strides: withNew(from.shape.length, axesOf(attrs)).map((d) => (d < 0 ? 0 : from.strides[d])),
    offset: from.offset,
  }),
  axes: ({ shape }, attrs) => withNew(shape.length, axesOf(attrs)),
  vjp: ([g], { attrs }) => [engine.call(SQUEEZE, [g], { axes: axesOf(attrs) })],
  saves: "none",
  samples: () => [
    { inputs: [{ shape: [2, 3] }], attrs: { axes: [1] } },
    { inputs: [{ shape: [] }], attrs: { axes: [0, 1] } },
  ],
});

/**
 * Adds axes of size 1.
 *
 * @param x Any shape.
 * @param axis Where the new axis stands in the result, or several.
 * @returns A view.
 * @throws {ShapeError} if an axis is out of range or repeated.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { unsqueeze, zeros } from "../mod.ts";
 *
 * assertEquals(unsqueeze(zeros([2, 3]), -1).shape, [2, 3, 1]);
 * ```
 */
export function unsqueeze(x: Tensor, axis: number | readonly number[]): Tensor {
  expectTensors("unsqueeze", x);
  const count = expectNumbers("unsqueeze", "axes", axis).length;
  return engine.call(UNSQUEEZE, [x], { axes: normalizeAxes("unsqueeze", axis, x.rank + count) });
}

const PERMUTE = view({
  name: "permute",
  shape: ({ shape }, attrs) => axesOf(attrs).map((d) => shape[d]),
  view: (from, to, attrs) => ({
    shape: to,
    strides: axesOf(attrs).map((d) => from.strides[d]),
    offset: from.offset,
  }),
  axes: (_, attrs) => axesOf(attrs),
  vjp: ([g], { attrs }) => {
    const axes = axesOf(attrs);
    return [engine.call(PERMUTE, [g], { axes: axes.map((_, d) => axes.indexOf(d)) })];
  },
  saves: "none",
  samples: () => [
    { inputs: [{ shape: [2, 3, 4] }], attrs: { axes: [2, 0, 1] } },
    { inputs: [{ shape: [] }], attrs: { axes: [] } },
  ],
});

/**
 * Reorders the axes: axis i of the result is axis `perm[i]` of `x`.
 *
 * @param x Any shape.
 * @param perm Every axis once.
 * @returns A view.
 * @throws {ShapeError} if an axis is missing, repeated or out of range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { permute, zeros } from "../mod.ts";
 *
 * assertEquals(permute(zeros([2, 3, 4]), [2, 0, 1]).shape, [4, 2, 3]);
 * ```
 */
export function permute(x: Tensor, perm: readonly number[]): Tensor {
  expectTensors("permute", x);
  const axes = expectList("permute", "the axes", perm).map((a) =>
    normalizeAxis("permute", a, x.rank)
  );
  if (axes.length !== x.rank || new Set(axes).size !== x.rank) {
    throw new ShapeError(
      `Cannot permute ${showShape(x.shape)} to axes [${perm.join(", ")}]: every one of the ` +
        `${x.rank} axes must be named once`,
    );
  }
  return engine.call(PERMUTE, [x], { axes });
}

/**
 * Swaps two axes.
 *
 * @param x Rank of at least 1.
 * @param axis0 One axis.
 * @param axis1 The other.
 * @returns A view.
 * @throws {ShapeError} if an axis is out of range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { tensor, transpose } from "../mod.ts";
 *
 * assertEquals(await transpose(tensor([[1, 2], [3, 4]]), 0, 1).toArray(), [[1, 3], [2, 4]]);
 * ```
 */
export function transpose(x: Tensor, axis0: number, axis1: number): Tensor {
  expectTensors("transpose", x);
  const axes = x.shape.map((_, d) => d);
  const a = normalizeAxis("transpose", axis0, x.rank);
  const b = normalizeAxis("transpose", axis1, x.rank);
  axes[a] = b;
  axes[b] = a;
  return engine.call(PERMUTE, [x], { axes });
}

/**
 * Same as {@linkcode transpose}: NumPy's name.
 *
 * @throws {ShapeError} if an axis is out of range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { swapaxes, zeros } from "../mod.ts";
 *
 * assertEquals(swapaxes(zeros([2, 3]), 0, 1).shape, [3, 2]);
 * ```
 */
export function swapaxes(x: Tensor, axis0: number, axis1: number): Tensor {
  return transpose(x, axis0, axis1);
}

/**
 * Moves axes to other positions; the others keep their order.
 *
 * @param x Rank of at least 1.
 * @param from One axis, or several.
 * @param to Where each of them goes.
 * @returns A view.
 * @throws {ShapeError} if an axis is out of range or repeated, or the lists differ in length.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { moveaxis, zeros } from "../mod.ts";
 *
 * assertEquals(moveaxis(zeros([2, 3, 4]), 0, -1).shape, [3, 4, 2]);
 * ```
 */
export function moveaxis(
  x: Tensor,
  from: number | readonly number[],
  to: number | readonly number[],
): Tensor {
  expectTensors("moveaxis", x);
  const list = (a: number | readonly number[]): number[] => {
    normalizeAxes("moveaxis", a, x.rank);
    return expectNumbers("moveaxis", "axes", a).map((d) => normalizeAxis("moveaxis", d, x.rank));
  };
  const [sources, targets] = [list(from), list(to)];
  if (sources.length !== targets.length) {
    throw new ShapeError(
      `Cannot moveaxis [${sources.join(", ")}] to [${
        targets.join(", ")
      }]: the lists must be equally ` +
        `long: got ${sources.length} and ${targets.length}`,
    );
  }
  const rest = x.shape.map((_, d) => d).filter((d) => !sources.includes(d));
  const axes = x.shape.map((_, d) => {
    const i = targets.indexOf(d);
    return i >= 0 ? sources[i] : rest.shift() as number;
  });
  return engine.call(PERMUTE, [x], { axes });
}

const EXPAND = view({
  name: "expand",
  shape: (_, attrs) => attrs.shape as Shape,
  view: (from: ViewGeometry, to) => ({
    shape: to,
    strides: broadcastStrides(from.shape, from.strides, to),
    offset: from.offset,
  }),
  axes: ({ shape }: Meta, attrs) => {
    const to = attrs.shape as Shape;
    const lead = to.length - shape.length;
    return to.map((n, d) => (d < lead || shape[d - lead] !== n ? -1 : d - lead));
  },
  // Autograd sums over what was stretched.
  vjp: ([g]) => [g],
  saves: "none",
  samples: () => [
    { inputs: [{ shape: [1, 3] }], attrs: { shape: [2, 3] } },
    { inputs: [{ shape: [2, 1] }], attrs: { shape: [4, 2, 3] } },
    { inputs: [{ shape: [] }], attrs: { shape: [2] } },
  ],
});

/**
 * Stretches axes of size 1, and adds axes in front, without copying.
 *
 * @param x Any shape.
 * @param shape The new sizes, counted from the last axis; -1 keeps the size.
 * @returns A view with stride 0 along what was stretched.
 * @throws {ShapeError} if an axis that is not of size 1 would change, or an axis would vanish.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { expand, tensor } from "../mod.ts";
 *
 * assertEquals(await expand(tensor([1, 2]), [2, -1]).toArray(), [[1, 2], [1, 2]]);
 * ```
 */
export function expand(x: Tensor, shape: Shape): Tensor {
  return stretch("expand", x, shape);
}

function stretch(name: string, x: Tensor, shape: Shape): Tensor {
  expectTensors(name, x);
  const lead = expectList(name, "the shape", shape).length - x.rank;
  const to = Array.from(shape, (n, d) => (n === -1 && d >= lead ? x.shape[d - lead] : n));
  const fits = lead >= 0 && x.shape.every((n, d) => n === 1 || n === to[d + lead]);
  if (!fits) {
    throw new ShapeError(
      `Cannot ${name} ${showShape(x.shape)} to ${showShape(shape)}: only axes of size 1 stretch, ` +
        "counted from the last axis, and none may vanish; unsqueeze or reshape first",
    );
  }
  checkShape(name, to);
  return engine.call(EXPAND, [x], { shape: to });
}

/**
 * Same as {@linkcode expand}: NumPy's name.
 *
 * @throws {ShapeError} if the shape does not broadcast to the other.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { broadcastTo, tensor } from "../mod.ts";
 *
 * assertEquals(await broadcastTo(tensor([1, 2]), [2, 2]).toArray(), [[1, 2], [1, 2]]);
 * ```
 */
export function broadcastTo(x: Tensor, shape: Shape): Tensor {
  return stretch("broadcastTo", x, shape);
}
