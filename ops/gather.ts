// Rows by index, and one-hot rows. Indexing by items is in indexing.ts, by an index of full rank in
// along_axis.ts.
import { elementwise, engine } from "../core/op.ts";
import { getDefaultDtype } from "../core/dtype.ts";
import { ValueError } from "../core/errors.ts";
import * as k from "../core/ir/expr.ts";
import { expectTensors } from "../core/operands.ts";
import { normalizeAxis } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { checkIndexRange, indexCompute } from "./common.ts";
import { readAt } from "./positions.ts";

/**
 * Picks slices along an axis (PyTorch's index_select, with any rank of index).
 *
 * @param x Rank of at least 1.
 * @param index Integers, negative ones counting from the end.
 * @param axis The axis that is indexed. Default 0.
 * @returns `x`'s shape with the shape of `index` in the place of the axis.
 * @throws {ShapeError} if the axis is out of range.
 * @throws {DTypeError} if the index is not of an integer dtype.
 * @throws {IndexError} if a position is out of range.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { gather, tensor } from "../mod.ts";
 *
 * const x = tensor([[1, 2], [3, 4], [5, 6]]);
 * const index = tensor([2, 0, 2], { dtype: "int32" });
 * assertEquals(await gather(x, index).toArray(), [[5, 6], [1, 2], [5, 6]]);
 * ```
 */
export function gather(x: Tensor, index: Tensor, axis = 0): Tensor {
  expectTensors("gather", x, index);
  const a = normalizeAxis("gather", axis, x.rank);
  checkIndexRange("gather", index, x.shape[a]);
  return readAt(x, [index], [a], a);
}

const ONE_HOT = elementwise({
  name: "oneHot",
  dtype: (_, [x], attrs) => ({
    compute: indexCompute(x.dtype),
    out: attrs.dtype as "float32",
  }),
  shape: ([x], attrs) => [...x.shape.slice(0, -1), attrs.classes as number],
  scalar: ([x], ctx) => {
    const here = ctx.coord(ctx.attrs.rank as number);
    const out = k.computeType(ctx.attrs.dtype as "float32");
    return k.where(k.eq(k.cast(x, "int32"), here), k.constant(1, out), k.constant(0, out));
  },
  vjp: null,
  saves: "none",
  samples: () => [
    {
      inputs: [{ values: [0, 2, 1, 1], shape: [2, 2, 1], dtype: "int32" }],
      attrs: { classes: 3, dtype: "float32", rank: 2 },
    },
    {
      inputs: [{ shape: [0, 1], dtype: "int64" }],
      attrs: { classes: 3, dtype: "float32", rank: 1 },
    },
  ],
});

/**
 * Rows with a 1 at the given position and 0 elsewhere.
 *
 * @param x Class numbers, integers in 0 to numClasses - 1.
 * @param numClasses The size of the new last axis.
 * @returns The shape of `x` and one axis more; the default float dtype (Paddle's choice).
 * @throws {DTypeError} if `x` is not of an integer dtype.
 * @throws {IndexError} if a class is out of range.
 * @throws {ValueError} if `numClasses` is not a positive whole number.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { oneHot, tensor } from "../mod.ts";
 *
 * const labels = tensor([0, 2], { dtype: "int32" });
 * assertEquals(await oneHot(labels, 3).toArray(), [[1, 0, 0], [0, 0, 1]]);
 * ```
 */
export function oneHot(x: Tensor, numClasses: number): Tensor {
  expectTensors("oneHot", x);
  if (!Number.isInteger(numClasses) || numClasses < 1) {
    throw new ValueError(
      `Cannot oneHot with ${numClasses} classes: numClasses must be a whole number of at least 1`,
    );
  }
  checkIndexRange("oneHot", x, numClasses, 0);
  const attrs = { classes: numClasses, dtype: getDefaultDtype(), rank: x.rank };
  return engine.call(ONE_HOT, [op.unsqueeze(x, -1)], attrs);
}
