// Writing rows by index, out of place: indexAdd and scatter. Along one axis with an index of full rank:
// along_axis.ts; in place: indexing.ts.
import { ShapeError } from "../core/errors.ts";
import type { Operand } from "../core/op.ts";
import { expectOptions, expectTensors } from "../core/operands.ts";
import { normalizeAxis, showShape } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { checkIndexRange, valuesFor } from "./common.ts";
import { putAt, readShape } from "./positions.ts";

function checkRows(name: string, x: Tensor, index: Tensor, axis: number): void {
  if (index.rank !== 1) {
    throw new ShapeError(
      `Cannot ${name} ${showShape(x.shape)} with an index of shape ${showShape(index.shape)}: ` +
        `the index must have rank 1: got rank ${index.rank}; flatten it`,
    );
  }
  checkIndexRange(name, index, x.shape[axis]);
}

/**
 * A copy of `x` with slices added along an axis; slices of one index add up, always in the same order.
 *
 * @param x Rank of at least 1.
 * @param index Integers of rank 1, negative ones counting from the end.
 * @param axis The axis that is indexed.
 * @param value Broadcasts to `x`'s shape with the index's length on the axis.
 * @returns The shape and dtype of `x`.
 * @throws {ShapeError} if shapes do not fit.
 * @throws {IndexError} if a position is out of range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { indexAdd, tensor, zeros } from "../mod.ts";
 *
 * const index = tensor([1, 1, 0], { dtype: "int32" });
 * const y = indexAdd(zeros([2, 2]), index, 0, tensor([[1, 2], [3, 4], [5, 6]]));
 * assertEquals(await y.toArray(), [[5, 6], [4, 6]]);
 * ```
 */
export function indexAdd(x: Tensor, index: Tensor, axis: number, value: Operand): Tensor {
  expectTensors("indexAdd", x, index);
  const a = normalizeAxis("indexAdd", axis, x.rank);
  checkRows("indexAdd", x, index, a);
  const shape = readShape(x.shape, index.shape, { axes: [a], at: a });
  return putAt(x, valuesFor("indexAdd", x, value, shape), [index], [a], a, "add");
}

/** Options of `scatter`. */
export interface ScatterOptions {
  /** Replace the rows (default); else the named rows are zeroed and all updates added to them. */
  readonly overwrite?: boolean;
}

/**
 * A copy of `x` with rows (slices of the first axis) replaced or, with `overwrite: false`, zeroed and
 * then added to (Paddle's scatter).
 *
 * @param x Rank of at least 1.
 * @param index Integers of rank 1, negative ones counting from the end.
 * @param updates Broadcasts to `x`'s shape with the index's length on the first axis.
 * @returns The shape and dtype of `x`. Of rows written twice the last one stays.
 * @throws {ShapeError} if shapes do not fit.
 * @throws {IndexError} if a position is out of range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { ones, scatter, tensor } from "../mod.ts";
 *
 * const index = tensor([2, 0], { dtype: "int32" });
 * assertEquals(await scatter(ones([3]), index, tensor([7, 8])).toArray(), [8, 1, 7]);
 * ```
 */
export function scatter(
  x: Tensor,
  index: Tensor,
  updates: Operand,
  options: ScatterOptions = {},
): Tensor {
  expectTensors("scatter", x, index);
  expectOptions("scatter", options);
  const a = normalizeAxis("scatter", 0, x.rank);
  checkRows("scatter", x, index, a);
  const shape = readShape(x.shape, index.shape, { axes: [a], at: 0 });
  const values = valuesFor("scatter", x, updates, shape);
  if (options.overwrite ?? true) return putAt(x, values, [index], [a], 0, "assign");
  const cleared = putAt(x, valuesFor("scatter", x, 0, shape), [index], [a], 0, "assign");
  return putAt(cleared, values, [index], [a], 0, "add");
}
