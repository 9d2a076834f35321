// Joining and repeating: concat, stack, roll, tile, repeatInterleave, pad. Only concat and the constant
// padding move elements themselves; the rest are views and joins of views.
import { describe } from "../core/describe.ts";
import { engine, kernelOp, type Operand } from "../core/op.ts";
import { isFloat, promoteTypes } from "../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../core/errors.ts";
import type { HostArray } from "../core/host.ts";
import { expectList, expectNumbers, expectOptions, expectTensors } from "../core/operands.ts";
import { contiguousStrides, normalizeAxis, type Shape, showShape } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { refuseComplex } from "./common.ts";
import { copyAlong } from "./host_arrays.ts";
import { place } from "./placing.ts";

const CONCAT = kernelOp({
  name: "concat",
  infer: (metas, attrs) => {
    const axis = attrs.axis as number;
    const total = metas.reduce((n, m) => n + m.shape[axis], 0);
    const shape = metas[0].shape.map((n, d) => (d === axis ? total : n));
    return [{ shape, dtype: metas[0].dtype }];
  },
  reference: (inputs, [out], attrs) => {
    const axis = attrs.axis as number;
    const strides = contiguousStrides(out.shape);
    let at = out.offset;
    for (const x of inputs as HostArray[]) {
      const axes = x.shape.map((size, d) => ({ size, to: strides[d], from: x.strides[d] }));
      copyAlong(out.data, at, x.data, x.offset, axes);
      at += x.shape[axis] * strides[axis];
    }
  },
  // For places without host memory: every piece placed among zeros, and the sum.
  decompose: (inputs, attrs) => {
    const axis = attrs.axis as number;
    const xs = inputs as readonly Tensor[];
    const total = xs.reduce((n, x) => n + x.shape[axis], 0);
    const shape = xs[0].shape.map((n, d) => (d === axis ? total : n));
    let start = 0;
    return xs.map((x) => {
      const placed = place(x, shape, { axes: [axis], starts: [start], steps: [1] }, 0);
      start += x.shape[axis];
      return placed;
    }).reduce((a, b) => a.dtype === "bool" ? op.logicalOr(a, b) : op.add(a, b));
  },
  vjp: ([g], { shapes, attrs, needs }) => {
    const axis = attrs.axis as number;
    let start = 0;
    return shapes.map((s, i) => {
      const end = start + s[axis];
      const piece = needs[i] ? op.slice(g, { axes: [axis], starts: [start], ends: [end] }) : null;
      start = end;
      return piece;
    });
  },
  saves: "none",
  samples: () => [
    { inputs: [{ shape: [2, 3] }, { shape: [2, 1] }, { shape: [2, 30] }], attrs: { axis: 1 } },
    { inputs: [{ shape: [1, 3] }, { shape: [2, 3] }], attrs: { axis: 0 } },
    { inputs: [{ shape: [2, 3] }, { shape: [2, 0] }], attrs: { axis: 1 } },
  ],
});

/**
 * Joins tensors along an axis that they have.
 *
 * @param xs At least one; of one shape but for the axis. Dtypes are promoted.
 * @param axis The axis to join along. Default 0.
 * @returns The shape with the sizes on the axis added up.
 * @throws {ValueError} if there are no tensors.
 * @throws {ShapeError} if shapes differ off the axis, or the axis is out of range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { concat, tensor } from "../mod.ts";
 *
 * assertEquals(await concat([tensor([1, 2]), tensor([3])]).toArray(), [1, 2, 3]);
 * ```
 */
export function concat(xs: readonly Tensor[], axis = 0): Tensor {
  requireSome("concat", xs);
  const a = normalizeAxis("concat", axis, xs[0].rank);
  const first = xs[0].shape;
  for (const x of xs) {
    refuseComplex("concat", x.dtype);
    if (x.rank === first.length && x.shape.every((n, d) => d === a || n === first[d])) continue;
    throw new ShapeError(
      `Cannot concat ${
        xs.map((y) => showShape(y.shape)).join(", ")
      } along axis ${a}: all sizes off ` +
        `that axis must be equal: got ${showShape(first)} and ${showShape(x.shape)}`,
    );
  }
  const dtype = xs.map((x) => x.dtype).reduce(promoteTypes);
  const same = xs.map((x) => (x.dtype === dtype ? x : op.cast(x, dtype)));
  return engine.call(CONCAT, same, { axis: a });
}

function requireSome(name: string, xs: readonly Tensor[]): void {
  expectList(name, "operands", xs);
  if (xs.length === 0) {
    throw new ValueError(`Cannot ${name} no tensors: the list must hold at least one`);
  }
  expectTensors(name, ...xs);
}

/**
 * Joins tensors of one shape along a new axis.
 *
 * @param xs At least one, all of one shape. Dtypes are promoted.
 * @param axis Where the new axis stands in the result. Default 0.
 * @returns The shape with the number of tensors on the new axis.
 * @throws {ValueError} if there are no tensors.
 * @throws {ShapeError} if shapes differ, or the axis is out of range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { stack, tensor } from "../mod.ts";
 *
 * assertEquals(await stack([tensor([1, 2]), tensor([3, 4])]).toArray(), [[1, 2], [3, 4]]);
 * ```
 */
export function stack(xs: readonly Tensor[], axis = 0): Tensor {
  requireSome("stack", xs);
  const a = normalizeAxis("stack", axis, xs[0].rank + 1);
  const shapes = xs.map((x) => showShape(x.shape));
  const odd = shapes.find((s) => s !== shapes[0]);
  if (odd !== undefined) {
    throw new ShapeError(
      `Cannot stack ${shapes.join(", ")}: all shapes must be equal: got ${shapes[0]} and ${odd}; ` +
        "use concat for pieces of different sizes",
    );
  }
  return concat(xs.map((x) => op.unsqueeze(x, a)), a);
}

/**
 * Moves elements along axes; what leaves at one end comes in at the other.
 *
 * @param x Any shape.
 * @param shifts How far, for each axis; negative ones move toward the front.
 * @param axis One axis, several, or none: then the elements move in row-major order.
 * @returns The shape of `x`.
 * @throws {ShapeError} if an axis is out of range, or the lists differ in length.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { roll, tensor } from "../mod.ts";
 *
 * assertEquals(await roll(tensor([1, 2, 3, 4]), 1).toArray(), [4, 1, 2, 3]);
 * ```
 */
export function roll(
  x: Tensor,
  shifts: number | readonly number[],
  axis?: number | readonly number[],
): Tensor {
  expectTensors("roll", x);
  const by = expectNumbers("roll", "shifts", shifts);
  if (axis === undefined) {
    const flat = op.reshape(x, [x.numel]);
    return op.reshape(by.reduce((y, s) => rollOne(y, s, 0), flat), x.shape);
  }
  const axes = expectNumbers("roll", "axes", axis);
  if (by.length !== axes.length) {
    throw new ShapeError(
      `Cannot roll by [${by.join(", ")}] along axes [${
        axes.join(", ")
      }]: the lists must be equally ` +
        `long: got ${by.length} and ${axes.length}`,
    );
  }
  return axes.reduce((y, a, i) => rollOne(y, by[i], normalizeAxis("roll", a, x.rank)), x);
}

function rollOne(x: Tensor, shift: number, axis: number): Tensor {
  if (!Number.isInteger(shift)) {
    throw new ValueError(`Cannot roll by ${shift}: a shift must be a whole number`);
  }
  const n = x.shape[axis];
  const back = n === 0 ? 0 : ((shift % n) + n) % n;
  if (back === 0) return op.reshape(x, x.shape);
  return concat([part(x, axis, n - back, n), part(x, axis, 0, n - back)], axis);
}

const part = (x: Tensor, axis: number, start: number, end: number): Tensor =>
  op.slice(x, { axes: [axis], starts: [start], ends: [end] });

/**
 * Repeats a tensor as a whole along its axes.
 *
 * @param x Any shape.
 * @param repeats How often along each axis, counted from the last; more than there are axes adds axes in
 * front.
 * @returns Every size times its repeats.
 * @throws {ValueError} if a number of repeats is not a whole number of at least 0.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { tensor, tile } from "../mod.ts";
 *
 * assertEquals(await tile(tensor([1, 2]), [2, 2]).toArray(), [[1, 2, 1, 2], [1, 2, 1, 2]]);
 * ```
 */
export function tile(x: Tensor, repeats: number | readonly number[]): Tensor {
  expectTensors("tile", x);
  const times = expectNumbers("tile", "repeats", repeats);
  times.forEach((n) => checkRepeats("tile", n));
  while (times.length < x.rank) times.unshift(1);
  const shape = [...new Array<number>(times.length - x.rank).fill(1), ...x.shape];
  // [n, …] is read as [repeats, n, …] with stride 0 in front of every axis.
  const apart = op.reshape(x, shape.flatMap((n) => [1, n]));
  const stretched = op.expand(apart, shape.flatMap((n, d) => [times[d], n]));
  return op.reshape(stretched, shape.map((n, d) => n * times[d]));
}

function checkRepeats(name: string, n: number): void {
  if (!Number.isInteger(n) || n < 0) {
    throw new ValueError(
      `Cannot ${name} ${describe(n)} times: repeats must be whole numbers of at least 0`,
    );
  }
}

/**
 * Repeats every element along an axis.
 *
 * @param x Any shape.
 * @param repeats How often.
 * @param axis The axis; none repeats the elements in row-major order, giving rank 1.
 * @returns `x`'s shape with the size of the axis times the repeats.
 * @throws {ShapeError} if the axis is out of range.
 * @throws {ValueError} if the number of repeats is not a whole number of at least 0.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { repeatInterleave, tensor } from "../mod.ts";
 *
 * assertEquals(await repeatInterleave(tensor([1, 2]), 2).toArray(), [1, 1, 2, 2]);
 * ```
 */
export function repeatInterleave(x: Tensor, repeats: number, axis?: number): Tensor {
  expectTensors("repeatInterleave", x);
  checkRepeats("repeatInterleave", repeats);
  if (axis === undefined) return repeatInterleave(op.reshape(x, [x.numel]), repeats, 0);
  const a = normalizeAxis("repeatInterleave", axis, x.rank);
  const insert = (list: Shape, n: number): number[] => [
    ...list.slice(0, a + 1),
    n,
    ...list.slice(a + 1),
  ];
  const stretched = op.expand(op.unsqueeze(x, a + 1), insert(x.shape, repeats));
  return op.reshape(stretched, x.shape.map((n, d) => (d === a ? n * repeats : n)));
}

/** Options of `pad`. */
export interface PadOptions {
  /** Where the new elements come from. Default "constant". */
  readonly mode?: "constant" | "reflect" | "replicate" | "circular";
  /** What "constant" fills in. Default 0. */
  readonly value?: Operand;
}

/**
 * Adds elements before and behind along axes: a constant, or a continuation of what is there.
 *
 * @param x Any shape.
 * @param pads `[before, after]` for every axis, the first axis first.
 * @param options The mode: "reflect" mirrors without repeating the edge (at most size - 1 elements),
 * "replicate" repeats the edge, "circular" goes on at the other end (at most size elements).
 * @returns Every size with its pads added.
 * @throws {ShapeError} if there is not one pair for every axis, or a pad exceeds what the mode can give.
 * @throws {ValueError} if a pad is not a whole number of at least 0, or the mode is unknown.
 * @throws {DTypeError} if `x` cannot hold the value.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { pad, tensor } from "../mod.ts";
 *
 * assertEquals(await pad(tensor([1, 2]), [[1, 2]]).toArray(), [0, 1, 2, 0, 0]);
 * assertEquals(await pad(tensor([1, 2, 3]), [[2, 0]], { mode: "reflect" }).toArray(), [3, 2, 1, 2, 3]);
 * ```
 */
export function pad(
  x: Tensor,
  pads: readonly (readonly number[])[],
  options: PadOptions = {},
): Tensor {
  expectTensors("pad", x);
  expectOptions("pad", options);
  const mode = options.mode ?? "constant";
  checkPads(x.shape, pads);
  if (mode === "constant") return padConstant(x, pads, options.value ?? 0);
  if (mode !== "reflect" && mode !== "replicate" && mode !== "circular") {
    throw new ValueError(
      `Cannot pad with mode "${mode}": use "constant", "reflect", "replicate" or "circular"`,
    );
  }
  return pads.reduce((y, [before, after], d) => {
    if (before === 0 && after === 0) return y;
    const pieces = [
      ...(before > 0 ? [beyond(y, d, before, mode, "before")] : []),
      y,
      ...(after > 0 ? [beyond(y, d, after, mode, "after")] : []),
    ];
    return concat(pieces, d);
  }, x);
}

function checkPads(shape: Shape, pads: readonly (readonly number[])[]): void {
  for (const p of expectList("pad", "pads", pads)) {
    expectNumbers("pad", "each [before, after]", expectList("pad", "each [before, after]", p));
  }
  if (pads.length !== shape.length || pads.some((p) => p.length !== 2)) {
    throw new ShapeError(
      `Cannot pad ${showShape(shape)}: there must be one [before, after] for each of the ` +
        `${shape.length} axes: got ${JSON.stringify(pads)}`,
    );
  }
  if (pads.some((p) => p.some((n) => !Number.isInteger(n) || n < 0))) {
    throw new ValueError(
      `Cannot pad by ${JSON.stringify(pads)}: pads must be whole numbers of at least 0; ` +
        "use slice to leave elements out",
    );
  }
}

function padConstant(x: Tensor, pads: readonly (readonly number[])[], value: Operand): Tensor {
  if (typeof value !== "object") checkFill(x, value);
  const axes = pads.flatMap(([before, after], d) => (before + after > 0 ? [d] : []));
  if (axes.length === 0) return op.reshape(x, x.shape);
  const shape = x.shape.map((n, d) => n + pads[d][0] + pads[d][1]);
  const region = { axes, starts: axes.map((d) => pads[d][0]), steps: axes.map(() => 1) };
  return place(x, shape, region, value);
}

function checkFill(x: Tensor, value: number | bigint | boolean): void {
  const fits = isFloat(x.dtype) ||
    (x.dtype === "bool"
      ? Number(value) === 0 || Number(value) === 1
      : Number.isInteger(Number(value)));
  if (!fits) {
    throw new DTypeError(
      `Cannot pad a ${x.dtype} tensor with ${value}: it cannot hold that value; cast it first`,
    );
  }
}

/** What comes before or after `x` along an axis, as a view or a copy of parts of it. */
function beyond(
  x: Tensor,
  axis: number,
  count: number,
  mode: "reflect" | "replicate" | "circular",
  side: "before" | "after",
): Tensor {
  const n = x.shape[axis];
  const most = mode === "reflect" ? n - 1 : mode === "circular" ? n : n > 0 ? count : 0;
  if (count > most) {
    throw new ShapeError(
      `Cannot pad axis ${axis} of ${showShape(x.shape)} by ${count} with mode "${mode}": at most ` +
        `${Math.max(most, 0)} elements are there to take; pad in steps, or with a constant`,
    );
  }
  const before = side === "before";
  switch (mode) {
    case "reflect": {
      const piece = before ? part(x, axis, 1, count + 1) : part(x, axis, n - 1 - count, n - 1);
      return op.flip(piece, axis);
    }
    case "circular":
      return before ? part(x, axis, n - count, n) : part(x, axis, 0, count);
    case "replicate": {
      const edge = before ? part(x, axis, 0, 1) : part(x, axis, n - 1, n);
      return op.expand(edge, x.shape.map((m, d) => (d === axis ? count : m)));
    }
  }
}
