// Tensors whose values follow from coordinates: ranges, the identity, triangles, diagonals, grids.
// Filled tensors are in creation.ts.
import { type DType, DTYPES, getDefaultDtype, isFloat, isInteger } from "../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../core/errors.ts";
import { elementwise, engine, promote, type Sample } from "../core/op.ts";
import type { Expr } from "../core/ir/expr.ts";
import * as k from "../core/ir/expr.ts";
import { expectList, expectNumbers, expectOptions, expectTensors } from "../core/operands.ts";
import { checkShape, showShape } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import {
  createdRule,
  createdShape,
  creationAttrs,
  type CreationOptions,
  dtypeOf,
  finished,
} from "./making.ts";

/** The dtype of a new pattern; those that have no arithmetic are refused. */
function patternType(call: string, dtype: DType | undefined, otherwise: DType): DType {
  const type = dtypeOf(call, dtype, otherwise);
  if (DTYPES[type].kind === "complex") {
    throw new DTypeError(`Cannot ${call} of ${type}: complex dtypes are not supported by it yet`);
  }
  return type;
}

/** A coordinate as a value of the dtype that start and step have. */
function position(i: Expr, beside: Expr): Expr {
  return k.cast(i, beside.dtype);
}

const ARANGE = elementwise({
  name: "arange",
  dtype: createdRule,
  scalar: ([start, step], { coord }) => k.add(start, k.mul(position(coord(0), start), step)),
  shape: createdShape,
  vjp: null,
  samples: () => [
    { inputs: [2, 3], attrs: creationAttrs([4], "int32") },
    { inputs: [-0.5, 0.25], attrs: creationAttrs([5], "float32") },
    { inputs: [0, 1], attrs: creationAttrs([0], "int64") },
  ],
});

/** How many steps fit before the end; whole numbers are counted exactly. */
function countBetween(
  from: number | bigint,
  to: number | bigint,
  step: number | bigint,
  whole: boolean,
): number {
  if (!whole) return Math.max(Math.ceil((Number(to) - Number(from)) / Number(step)), 0);
  const by = BigInt(step);
  const distance = BigInt(to) - BigInt(from);
  if (distance === 0n || (distance < 0n) !== (by < 0n)) return 0;
  const rest = distance % by === 0n ? 0n : 1n;
  return Number(distance / by + rest);
}

/** Options of {@linkcode arange}. */
export interface ArangeOptions extends CreationOptions {
  /** The distance between neighbours, not 0; default 1. */
  readonly step?: number | bigint;
}

/**
 * Numbers from `start` (included) to `end` (not included): `start + i * step`.
 *
 * @param start The first number; with no `end`, the end, and the first is 0.
 * @param end What is not reached.
 * @param options `step`; `dtype`: by default int32 if start, end and step are whole numbers, int64 if one
 * of them is a bigint, else the default float.
 * @returns Shape `[ceil((end - start) / step)]`, `[0]` if the step leads away from the end.
 * @throws {ValueError} if the step is 0, a number is not finite, or has a fraction in an integer dtype.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { arange } from "../mod.ts";
 *
 * assertEquals(await arange(3).toArray(), [0, 1, 2]);
 * assertEquals(await arange(1, 0, { step: -0.25 }).toArray(), [1, 0.75, 0.5, 0.25]);
 * ```
 */
export function arange(
  start: number | bigint,
  end?: number | bigint,
  options: ArangeOptions = {},
): Tensor {
  expectOptions("arange", options);
  const from = end === undefined ? 0 : start;
  const to = end ?? start;
  const step = options.step ?? 1;
  const given = [from, to, step];
  const whole = given.every((x) => typeof x === "bigint" || Number.isInteger(x));
  const otherwise = given.some((x) => typeof x === "bigint")
    ? "int64"
    : whole
    ? "int32"
    : getDefaultDtype();
  const dtype = patternType("arange", options.dtype, otherwise);
  if (dtype === "bool") throw new DTypeError("Cannot arange of bool: it has no arithmetic");
  const call = `Cannot arange from ${from} to ${to} by ${step}`;
  if (Number(step) === 0) throw new ValueError(`${call}: the step must not be 0`);
  if (!given.every((x) => Number.isFinite(Number(x)))) {
    throw new ValueError(`${call}: the numbers must be finite`);
  }
  if (isInteger(dtype) && !whole) {
    throw new ValueError(`${call} in ${dtype}: an integer dtype needs whole numbers`);
  }
  const count = countBetween(from, to, step, whole);
  checkShape("arange", [count]);
  const attrs = creationAttrs([count], dtype, options.place);
  return finished(engine.call(ARANGE, [from, step], attrs), options);
}

const LINSPACE = elementwise({
  name: "linspace",
  dtype: createdRule,
  // Each half is counted from its own end, so that both ends are exact.
  scalar: ([start, stop, step], { coord, size }) => {
    const i = coord(0);
    const left = k.sub(k.sub(size(0), 1), i);
    const rising = k.add(start, k.mul(position(i, start), step));
    const falling = k.sub(stop, k.mul(position(left, stop), step));
    return k.where(k.le(i, left), rising, falling);
  },
  shape: createdShape,
  vjp: null,
  samples: () => [
    { inputs: [-1, 3, 1], attrs: creationAttrs([5], "float32") },
    { inputs: [0, 1, 1 / 6], attrs: creationAttrs([7], "float32") },
    { inputs: [2, 5, 0], attrs: creationAttrs([1], "float32") },
  ],
});

function checkCount(call: string, num: number): void {
  if (!Number.isInteger(num) || num < 0) {
    throw new ShapeError(`Cannot ${call} ${num} numbers: the count must be a whole number from 0`);
  }
}

/**
 * `num` numbers at equal distances from `start` to `stop`, both included (and exact).
 *
 * @param start The first number.
 * @param stop The last number.
 * @param num How many; 1 gives `[start]`.
 * @param options `dtype`: default the default float; integers drop the fractions.
 * @returns Shape `[num]`.
 * @throws {ShapeError} if `num` is negative or not whole.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { linspace } from "../mod.ts";
 *
 * assertEquals(await linspace(0, 1, 5).toArray(), [0, 0.25, 0.5, 0.75, 1]);
 * ```
 */
export function linspace(
  start: number,
  stop: number,
  num: number,
  options: CreationOptions = {},
): Tensor {
  expectOptions("linspace", options);
  expectNumbers("linspace", "start and stop", [start, stop]);
  checkCount("linspace", num);
  const dtype = patternType("linspace", options.dtype, getDefaultDtype());
  const step = num > 1 ? (stop - start) / (num - 1) : 0;
  const computed = isFloat(dtype) ? dtype : getDefaultDtype();
  const attrs = creationAttrs([num], computed, options.place);
  const x = engine.call(LINSPACE, [start, stop, step], attrs);
  return finished(op.cast(x, dtype), options);
}

/** Options of {@linkcode logspace}. */
export interface LogspaceOptions extends CreationOptions {
  /** Default 10. */
  readonly base?: number;
}

/**
 * `num` powers of `base` whose exponents lie at equal distances from `start` to `stop`, both included.
 *
 * @param start The first exponent.
 * @param stop The last exponent.
 * @param num How many.
 * @returns Shape `[num]`.
 * @throws {ShapeError} if `num` is negative or not whole.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { logspace } from "../mod.ts";
 *
 * assertEquals(await logspace(0, 4, 3, { base: 2 }).toArray(), [1, 4, 16]);
 * ```
 */
export function logspace(
  start: number,
  stop: number,
  num: number,
  options: LogspaceOptions = {},
): Tensor {
  expectOptions("logspace", options);
  checkCount("logspace", num);
  const dtype = patternType("logspace", options.dtype, getDefaultDtype());
  const computed = isFloat(dtype) ? dtype : getDefaultDtype();
  const exponents = linspace(start, stop, num, { dtype: computed, place: options.place });
  return finished(op.cast(op.pow(options.base ?? 10, exponents), dtype), options);
}

const EYE = elementwise({
  name: "eye",
  dtype: createdRule,
  scalar: (_, { coord, attrs }) => {
    const type = k.computeType(attrs.dtype as DType);
    return k.where(k.eq(coord(0), coord(1)), k.constant(1, type), k.constant(0, type));
  },
  shape: createdShape,
  vjp: null,
  samples: () => [
    { inputs: [], attrs: creationAttrs([2, 3], "float32") },
    { inputs: [], attrs: creationAttrs([3, 3], "bool") },
    { inputs: [], attrs: creationAttrs([0, 2], "int64") },
  ],
});

/**
 * Ones on the main diagonal of a matrix, zeros elsewhere.
 *
 * @param n Rows.
 * @param m Columns; default `n`.
 * @returns Shape `[n, m]`; `dtype`, by default the default float.
 * @throws {ShapeError} if a size is negative or not whole.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { eye } from "../mod.ts";
 *
 * assertEquals(await eye(2, 3).toArray(), [[1, 0, 0], [0, 1, 0]]);
 * ```
 */
export function eye(n: number, m?: number, options: CreationOptions = {}): Tensor {
  expectOptions("eye", options);
  const shape = [n, m ?? n];
  checkShape("eye", shape);
  const dtype = patternType("eye", options.dtype, getDefaultDtype());
  return finished(engine.call(EYE, [], creationAttrs(shape, dtype, options.place)), options);
}

/** How far right of the main diagonal a point of the last two axes lies. */
function distance(coord: (axis: number) => Expr, rank: number): Expr {
  return k.sub(coord(rank - 1), coord(rank - 2));
}

/** Attrs of {@linkcode TRIL} and {@linkcode TRIU}. */
interface Triangle {
  readonly rank: number;
  readonly diagonal: number;
}

function triangleAttrs(call: string, x: Tensor, diagonal: number): { [name: string]: number } {
  expectTensors(call, x);
  if (x.rank < 2) {
    throw new ShapeError(`Cannot ${call} ${showShape(x.shape)}: it must have at least two axes`);
  }
  if (!Number.isInteger(diagonal)) {
    throw new ValueError(`Cannot ${call} from diagonal ${diagonal}: it must be a whole number`);
  }
  return { rank: x.rank, diagonal };
}

const triangles = (): readonly Sample[] => [
  { inputs: [{ shape: [3, 3] }], attrs: { rank: 2, diagonal: 0 } },
  { inputs: [{ shape: [2, 3, 4] }], attrs: { rank: 3, diagonal: 1 } },
  { inputs: [{ shape: [4, 3] }], attrs: { rank: 2, diagonal: -2 } },
  { inputs: [{ shape: [0, 3] }], attrs: { rank: 2, diagonal: 0 } },
  {
    inputs: [{ values: [1, NaN, Infinity, 1], shape: [2, 2] }],
    attrs: { rank: 2, diagonal: 0 },
    noGrad: true,
  },
];

const TRIL = elementwise({
  name: "tril",
  dtype: promote,
  scalar: ([x], { coord, attrs }) => {
    const { rank, diagonal } = attrs as unknown as Triangle;
    return k.where(k.le(distance(coord, rank), diagonal), x, 0);
  },
  vjp: ([g], { attrs }) => [op.tril(g, attrs.diagonal as number)],
  saves: "none",
  samples: triangles,
});

/**
 * The lower triangle of each matrix: elements above a diagonal become 0.
 *
 * @param x `[…, rows, columns]`, any real dtype.
 * @param diagonal The last diagonal that is kept: 0 is the main one, positive ones lie above it.
 * @returns The shape and dtype of `x`.
 * @throws {ShapeError} if `x` has fewer than two axes.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { tensor, tril } from "../mod.ts";
 *
 * assertEquals(await tril(tensor([[1, 2], [3, 4]])).toArray(), [[1, 0], [3, 4]]);
 * ```
 */
export function tril(x: Tensor, diagonal = 0): Tensor {
  return engine.call(TRIL, [x], triangleAttrs("tril", x, diagonal));
}

const TRIU = elementwise({
  name: "triu",
  dtype: promote,
  scalar: ([x], { coord, attrs }) => {
    const { rank, diagonal } = attrs as unknown as Triangle;
    return k.where(k.ge(distance(coord, rank), diagonal), x, 0);
  },
  vjp: ([g], { attrs }) => [op.triu(g, attrs.diagonal as number)],
  saves: "none",
  samples: triangles,
});

/**
 * The upper triangle of each matrix: elements below a diagonal become 0.
 *
 * @param x `[…, rows, columns]`, any real dtype.
 * @param diagonal The first diagonal that is kept: 0 is the main one, positive ones lie above it.
 * @returns The shape and dtype of `x`.
 * @throws {ShapeError} if `x` has fewer than two axes.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { tensor, triu } from "../mod.ts";
 *
 * assertEquals(await triu(tensor([[1, 2], [3, 4]])).toArray(), [[1, 2], [0, 4]]);
 * ```
 */
export function triu(x: Tensor, diagonal = 0): Tensor {
  return engine.call(TRIU, [x], triangleAttrs("triu", x, diagonal));
}

const DIAG = elementwise({
  name: "diag",
  dtype: promote,
  shape: ([x], attrs) => {
    const n = x.shape[0] + Math.abs(attrs.offset as number);
    return [n, n];
  },
  indexed: [0],
  scalar: (_, ctx) => {
    const offset = ctx.attrs.offset as number;
    // Held within the vector: what lies beside the diagonal is not used.
    const last = k.sub(ctx.size(0), Math.abs(offset) + 1);
    const along = offset >= 0 ? ctx.coord(0) : ctx.coord(1);
    const value = ctx.at(0, [k.max(k.min(along, last), 0)]);
    return k.where(k.eq(distance(ctx.coord, 2), offset), value, 0);
  },
  vjp: ([g], { attrs }) => [op.diagonal(g, { offset: attrs.offset as number })],
  saves: "none",
  samples: () => [
    { inputs: [{ shape: [3] }], attrs: { offset: 0 } },
    { inputs: [{ shape: [2] }], attrs: { offset: 2 } },
    { inputs: [{ shape: [2] }], attrs: { offset: -1 } },
  ],
});

/**
 * A square matrix with a vector on one diagonal, or one diagonal of a matrix.
 *
 * @param x A vector, or a matrix.
 * @param offset Which diagonal: 0 is the main one, positive ones lie above it.
 * @returns For a vector of n elements `[n + |offset|, n + |offset|]`, zeros elsewhere; for a matrix the
 * vector on that diagonal, as a view.
 * @throws {ShapeError} if `x` has neither one nor two axes.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { diag, tensor } from "../mod.ts";
 *
 * assertEquals(await diag(tensor([1, 2])).toArray(), [[1, 0], [0, 2]]);
 * assertEquals(await diag(tensor([[1, 2], [3, 4]]), 1).toArray(), [2]);
 * ```
 */
export function diag(x: Tensor, offset = 0): Tensor {
  expectTensors("diag", x);
  if (x.rank === 2) return op.diagonal(x, { offset });
  if (x.rank !== 1) {
    throw new ShapeError(`Cannot diag ${showShape(x.shape)}: it must be a vector or a matrix`);
  }
  if (!Number.isInteger(offset)) {
    throw new ValueError(`Cannot diag at offset ${offset}: it must be a whole number`);
  }
  // Nothing to read: every point lies beside the empty diagonal.
  if (x.numel === 0) {
    return op.zeros([Math.abs(offset), Math.abs(offset)], { dtype: x.dtype, place: x.place });
  }
  return engine.call(DIAG, [x], { offset });
}

/** Options of {@linkcode meshgrid}. */
export interface MeshgridOptions {
  /** "ij": the first tensor varies along axis 0 (default, as in Paddle); "xy": along axis 1. */
  readonly indexing?: "ij" | "xy";
}

/**
 * Coordinates of a grid: each vector stretched over all axes.
 *
 * @param tensors Vectors or scalars.
 * @returns One tensor for each, all of shape `[n0, n1, …]` (with "xy" the first two swapped), as views.
 * @throws {ShapeError} if one has more than one axis.
 * @throws {ValueError} if `indexing` is neither "ij" nor "xy".
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { meshgrid, tensor } from "../mod.ts";
 *
 * const [rows, columns] = meshgrid([tensor([1, 2]), tensor([5, 6])]);
 * assertEquals(await rows.toArray(), [[1, 1], [2, 2]]);
 * assertEquals(await columns.toArray(), [[5, 6], [5, 6]]);
 * ```
 */
export function meshgrid(tensors: readonly Tensor[], options: MeshgridOptions = {}): Tensor[] {
  expectTensors("meshgrid", ...expectList("meshgrid", "operands", tensors));
  expectOptions("meshgrid", options);
  const { indexing = "ij" } = options;
  if (indexing !== "ij" && indexing !== "xy") {
    throw new ValueError(`Cannot meshgrid with indexing "${indexing}": it must be "ij" or "xy"`);
  }
  const axisOf = (i: number) => (indexing === "xy" && i < 2 && tensors.length > 1 ? 1 - i : i);
  const shape = new Array<number>(tensors.length);
  tensors.forEach((x, i) => {
    if (x.rank > 1) {
      throw new ShapeError(
        `Cannot meshgrid ${
          tensors.map((t) => showShape(t.shape)).join(", ")
        }: each must be a vector ` +
          `or a scalar: got ${x.rank} axes for number ${i}`,
      );
    }
    shape[axisOf(i)] = x.numel;
  });
  return tensors.map((x, i) => {
    const own = shape.map((n, axis) => (axis === axisOf(i) ? n : 1));
    return op.expand(op.reshape(x, own), shape);
  });
}
