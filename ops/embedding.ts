// Rows of a table by number. The reading and its gradient are those of `gather`; not here.
import { DTypeError, IndexError, ShapeError } from "../core/errors.ts";
import { isFloat } from "../core/dtype.ts";
import { expectOptions, expectTensors } from "../core/operands.ts";
import { showShape } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { checkIndexRange } from "./common.ts";

/** Options of `embedding`. */
export interface EmbeddingOptions {
  /** A row that reads as zeros and gets no gradient; negative counts from the end. */
  readonly paddingIdx?: number;
}

/**
 * The rows of a table that `ids` names.
 *
 * @param ids Row numbers of any integer dtype and shape, from 0.
 * @param weight The table, `[rows, size]`.
 * @param options `paddingIdx`: that row reads as zeros (Paddle; PyTorch only keeps gradients from it).
 * @returns The shape of `ids`, then `size`.
 * @throws {IndexError} if an id or `paddingIdx` is no row of the table.
 * @throws {DTypeError} if ids are not integers, or the table is not floats.
 * @throws {ShapeError} if the table is not a matrix.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const table = tensor([[1, 2], [3, 4], [5, 6]]);
 * const ids = tensor([2, 0], { dtype: "int32" });
 * assertEquals(await nn.functional.embedding(ids, table).toArray(), [[5, 6], [1, 2]]);
 * const padded = nn.functional.embedding(ids, table, { paddingIdx: 0 });
 * assertEquals(await padded.toArray(), [[5, 6], [0, 0]]);
 * ```
 */
export function embedding(ids: Tensor, weight: Tensor, options: EmbeddingOptions = {}): Tensor {
  expectTensors("embedding", ids, weight);
  expectOptions("embedding", options);
  if (weight.rank !== 2) {
    throw new ShapeError(
      `Cannot embedding with weight ${
        showShape(weight.shape)
      }: the table must be [rows, size]: got ` +
        `rank ${weight.rank}`,
    );
  }
  if (!isFloat(weight.dtype)) {
    throw new DTypeError(
      `Cannot embedding with a ${weight.dtype} weight: it must be floats; cast it first`,
    );
  }
  const [rows, size] = weight.shape;
  checkIndexRange("embedding", ids, rows, 0);
  const flat = op.reshape(ids, [ids.numel]);
  const out = op.reshape(op.gather(weight, flat, 0), [...ids.shape, size]);
  const { paddingIdx } = options;
  if (paddingIdx === undefined) return out;
  const padding = paddingIdx < 0 ? paddingIdx + rows : paddingIdx;
  if (!Number.isInteger(padding) || padding < 0 || padding >= rows) {
    throw new IndexError(
      `Cannot embedding with paddingIdx ${paddingIdx}: it must lie in ${-rows} to ${
        rows - 1
      } for ` +
        `${rows} rows`,
    );
  }
  return op.where(op.equal(op.unsqueeze(ids, -1), padding), 0, out);
}
