// Arithmetic on shapes, axes and strides (strides count elements, not bytes). Knows no tensors.
import { describe } from "./describe.ts";
import { ShapeError } from "./errors.ts";

/** Sizes along the axes of a tensor; `[]` is a scalar. */
export type Shape = readonly number[];

/** One axis, or several; negative ones count from the last. */
export type Axes = number | readonly number[];

/** The number of elements. */
export function sizeOf(shape: Shape): number {
  let n = 1;
  for (let i = 0; i < shape.length; i++) n *= shape[i];
  return n;
}

/** Row-major strides in elements. */
export function contiguousStrides(shape: Shape): number[] {
  const strides = new Array<number>(shape.length);
  let step = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    strides[i] = step;
    step *= Math.max(shape[i], 1);
  }
  return strides;
}

/** Whether strides are row-major for the shape (axes of size 1 may have any stride). */
export function isContiguous(shape: Shape, strides: Shape): boolean {
  let step = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    const size = shape[i];
    // Without elements any strides will do.
    if (size !== 1 && strides[i] !== step) return sizeOf(shape) === 0;
    step *= size;
  }
  return true;
}

/** Whether two elements of a tensor of these strides lie in the same place. */
export function sharesElements(shape: Shape, strides: Shape): boolean {
  const size = sizeOf(shape);
  const axes: { size: number; step: number }[] = [];
  shape.forEach((n, i) => {
    if (n > 1) axes.push({ size: n, step: Math.abs(strides[i]) });
  });
  if (size < 2) return false;
  axes.sort((a, b) => a.step - b.step);
  let reach = 0;
  let nested = true;
  for (const { size, step } of axes) {
    if (step <= reach) nested = false;
    reach += (size - 1) * step;
  }
  if (nested) return false;
  if (axes[0].step === 0 || size > reach + 1) return true;
  let places = [0];
  for (const { size, step } of axes) {
    places = places.flatMap((p) => Array.from({ length: size }, (_, i) => p + i * step));
  }
  return new Set(places).size < size;
}

/** `[2, 3]` as people write it. */
export function showShape(shape: Shape): string {
  if (!Array.isArray(shape)) return describe(shape);
  return `[${Array.from(shape, (n) => (typeof n === "number" ? n : describe(n))).join(", ")}]`;
}

/** Whether two shapes are equal. */
export function sameShape(a: Shape, b: Shape): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** The shape that two shapes broadcast to, or null. */
export function tryBroadcast(a: Shape, b: Shape): Shape | null {
  if (sameShape(a, b)) return a;
  const rank = Math.max(a.length, b.length);
  const out = new Array<number>(rank);
  for (let i = 1; i <= rank; i++) {
    const x = i <= a.length ? a[a.length - i] : 1;
    const y = i <= b.length ? b[b.length - i] : 1;
    if (x !== y && x !== 1 && y !== 1) return null;
    out[rank - i] = x === 1 ? y : x;
  }
  return out;
}

/** The shape that all shapes broadcast to; `call` is named in the error. */
export function broadcastShapes(call: string, ...shapes: Shape[]): Shape {
  let out: Shape = shapes.length > 0 ? shapes[0] : [];
  for (let i = 1; i < shapes.length; i++) {
    const next = tryBroadcast(out, shapes[i]);
    if (next === null) {
      throw new ShapeError(
        `Cannot ${call} ${shapes.map(showShape).join(" with ")}: sizes must be equal or 1, ` +
          `counted from the last axis; reshape, unsqueeze or expand one of them`,
      );
    }
    out = next;
  }
  return out;
}

/** Strides with which a tensor of `shape` and `strides` is read as the larger shape `to`. */
export function broadcastStrides(shape: Shape, strides: Shape, to: Shape): number[] {
  const out = new Array<number>(to.length).fill(0);
  const lead = to.length - shape.length;
  for (let i = 0; i < shape.length; i++) {
    out[lead + i] = shape[i] === 1 ? 0 : strides[i];
  }
  return out;
}

/** Brings an axis into 0..rank-1. A scalar accepts axis 0 and -1 when `scalarOk`. */
export function normalizeAxis(call: string, axis: number, rank: number, scalarOk = false): number {
  const limit = rank === 0 && scalarOk ? 1 : rank;
  if (!Number.isInteger(axis) || axis < -limit || axis >= limit) {
    throw new ShapeError(
      `Cannot ${call} over axis ${describe(axis)}: a tensor of rank ${rank} has ` +
        (limit === 0 ? "no axes" : `axes ${-limit} to ${limit - 1}`),
    );
  }
  return axis < 0 ? axis + limit : axis;
}

/** Brings axes into 0..rank-1, sorted, without repeats; undefined means all. */
export function normalizeAxes(
  call: string,
  axis: number | readonly number[] | undefined,
  rank: number,
): number[] {
  if (axis === undefined) {
    const all = new Array<number>(rank);
    for (let i = 0; i < rank; i++) all[i] = i;
    return all;
  }
  const list = Array.isArray(axis) ? axis : [axis];
  // Array.from, since map leaves holes out.
  const out = Array.from(list, (a) => normalizeAxis(call, a, rank, true)).filter((a) => a < rank);
  out.sort((a, b) => a - b);
  for (let i = 1; i < out.length; i++) {
    if (out[i] === out[i - 1]) {
      throw new ShapeError(
        `Cannot ${call} over axes [${list.join(", ")}]: axis ${out[i]} is named twice`,
      );
    }
  }
  return out;
}

/** Programs also run without a type check. */
function requireList(call: string, shape: unknown): void {
  if (Array.isArray(shape)) return;
  throw new ShapeError(
    `Cannot ${call} with shape ${describe(shape)}: a shape is an array of sizes` +
      (typeof shape === "number" ? `; write [${shape}]` : ""),
  );
}

/** Checks that sizes are whole, non-negative and countable. */
export function checkShape(call: string, shape: Shape): void {
  requireList(call, shape);
  let n = 1;
  for (const size of shape) {
    if (!Number.isInteger(size) || size < 0) {
      throw new ShapeError(
        `Cannot ${call} with shape ${showShape(shape)}: sizes must be whole numbers of at least 0`,
      );
    }
    // Strides are counted as if no axis were empty.
    n *= Math.max(size, 1);
  }
  if (!Number.isSafeInteger(n)) {
    throw new ShapeError(
      `Cannot ${call} with shape ${showShape(shape)}: it has more than 2^53 elements`,
    );
  }
}

/** Refuses positions among `n` elements or along an axis that long where they do not fit int32. */
export function requirePositions(call: string, shape: Shape, n: number): void {
  if (n < 2 ** 31) return;
  throw new ShapeError(
    `Cannot ${call} ${
      showShape(shape)
    }: positions are int32, which end at 2^31 - 1: got ${n} of them; ` +
      "split the tensor",
  );
}

/** Shape after reducing `axes` (sorted, unique). */
export function reducedShape(shape: Shape, axes: readonly number[], keepdim: boolean): number[] {
  const out: number[] = [];
  let next = 0;
  for (let i = 0; i < shape.length; i++) {
    if (axes[next] === i) {
      next++;
      if (keepdim) out.push(1);
    } else out.push(shape[i]);
  }
  return out;
}

/** Resolves one -1 in a target shape of `reshape`. */
export function inferReshape(call: string, from: Shape, to: Shape): number[] {
  requireList(call, to);
  const size = sizeOf(from);
  const out = [...to];
  if (out.some((n) => n !== -1 && !(Number.isInteger(n) && n >= 0))) {
    throw new ShapeError(
      `Cannot ${call} ${showShape(from)} to ${showShape(to)}: sizes must be whole numbers of at ` +
        "least 0, or one -1",
    );
  }
  let hole = -1;
  let known = 1;
  for (let i = 0; i < out.length; i++) {
    if (out[i] === -1) {
      if (hole >= 0) {
        throw new ShapeError(
          `Cannot ${call} ${showShape(from)} to ${showShape(to)}: only one size may be -1`,
        );
      }
      hole = i;
    } else known *= out[i];
  }
  if (hole >= 0) {
    if (known === 0 || size % known !== 0) {
      throw new ShapeError(
        `Cannot ${call} ${showShape(from)} to ${
          showShape(to)
        }: ${size} elements do not divide by ${known}`,
      );
    }
    out[hole] = size / known;
  }
  checkShape(call, out);
  if (sizeOf(out) !== size) {
    throw new ShapeError(
      `Cannot ${call} ${showShape(from)} to ${
        showShape(to)
      }: element counts must match: got ${size} and ${sizeOf(out)}`,
    );
  }
  return out;
}

/**
 * Strides of the reshaped tensor if it can be a view of the same storage, else null.
 * Groups of old axes and new axes with equal products are matched; each group must be dense.
 */
export function reshapeStrides(shape: Shape, strides: Shape, to: Shape): number[] | null {
  if (sizeOf(shape) === 0) return contiguousStrides(to);
  const oldShape: number[] = [];
  const oldStrides: number[] = [];
  for (let i = 0; i < shape.length; i++) {
    if (shape[i] !== 1) {
      oldShape.push(shape[i]);
      oldStrides.push(strides[i]);
    }
  }
  const out = new Array<number>(to.length).fill(0);
  let oi = 0;
  let oj = 1;
  let ni = 0;
  let nj = 1;
  while (ni < to.length && oi < oldShape.length) {
    let np = to[ni];
    let op = oldShape[oi];
    while (np !== op) {
      if (np < op) np *= to[nj++];
      else op *= oldShape[oj++];
    }
    for (let k = oi; k < oj - 1; k++) {
      if (oldStrides[k] !== oldShape[k + 1] * oldStrides[k + 1]) return null;
    }
    out[nj - 1] = oldStrides[oj - 1];
    for (let k = nj - 1; k > ni; k--) out[k - 1] = out[k] * to[k];
    ni = nj++;
    oi = oj++;
  }
  const last = ni > 0 ? out[ni - 1] : 1;
  for (let k = ni; k < to.length; k++) out[k] = last;
  return out;
}
