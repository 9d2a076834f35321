// Selection by truth or by value, where the size of the result depends on the data: such functions are
// async on every place. maskedFill, whose size does not, is here beside maskedSelect.
import { type DataArray, DTYPES } from "../core/dtype.ts";
import { DTypeError } from "../core/errors.ts";
import { engine, type Operand } from "../core/op.ts";
import { expectTensors } from "../core/operands.ts";
import { broadcastShapes, sizeOf } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { refuseComplex } from "./common.ts";
import { coordinatesOf, newArray, truePositions } from "./host_arrays.ts";
import { sortOrder } from "./host_sort.ts";
import { readAt } from "./positions.ts";

function checkMask(name: string, mask: Tensor): void {
  if (mask.dtype !== "bool") {
    throw new DTypeError(
      `Cannot ${name} with a ${mask.dtype} mask: the mask must be bool; ` +
        "compare with notEqual(0), or cast it",
    );
  }
}

/**
 * `x` with another value where the mask holds.
 *
 * @param x Any shape.
 * @param mask bool; broadcasts with `x`.
 * @param value A number or a tensor that broadcasts with both.
 * @returns The broadcast shape; the dtype of `x` and value together.
 * @throws {DTypeError} if the mask is not bool.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { maskedFill, tensor } from "../mod.ts";
 *
 * const x = tensor([1, -2, 3]);
 * assertEquals(await maskedFill(x, x.lessThan(0), 0).toArray(), [1, 0, 3]);
 * ```
 */
export function maskedFill(x: Tensor, mask: Tensor, value: Operand): Tensor {
  expectTensors("maskedFill", x, mask);
  checkMask("maskedFill", mask);
  return op.where(mask, value, x);
}

/**
 * The elements at which the mask holds, in row-major order. Gradients flow to them.
 *
 * @param x Any shape.
 * @param mask bool; broadcasts with `x`.
 * @returns Rank 1.
 * @throws {DTypeError} if the mask is not bool.
 * @throws {ShapeError} if the shapes do not broadcast.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { maskedSelect, tensor } from "../mod.ts";
 *
 * const x = tensor([1, -2, 3]);
 * const positive = await maskedSelect(x, x.greaterThan(0));
 * assertEquals(await positive.toArray(), [1, 3]);
 * ```
 */
export async function maskedSelect(x: Tensor, mask: Tensor): Promise<Tensor> {
  expectTensors("maskedSelect", x, mask);
  checkMask("maskedSelect", mask);
  const shape = broadcastShapes("maskedSelect", x.shape, mask.shape);
  const flat = op.reshape(op.expand(x, shape), [sizeOf(shape)]);
  const held = await op.expand(mask, shape).data();
  const positions = truePositions(held);
  const index = engine.fromData(positions, [positions.length], "int32", x.place);
  return readAt(flat, [index], [0], 0);
}

/**
 * Where the elements are that are not 0 (NaN is not 0), in row-major order.
 *
 * @param x Any shape and real dtype.
 * @returns int32 of shape [number found, rank of `x`]: one row of coordinates each.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nonzero, tensor } from "../mod.ts";
 *
 * const found = await nonzero(tensor([[0, 1], [2, 0]]));
 * assertEquals(await found.toArray(), [[0, 1], [1, 0]]);
 * ```
 */
export async function nonzero(x: Tensor): Promise<Tensor> {
  expectTensors("nonzero", x);
  refuseComplex("nonzero", x.dtype);
  const positions = truePositions(await x.data());
  const out = new Int32Array(positions.length * x.rank);
  for (let axis = 0; axis < x.rank; axis++) {
    const coordinates = coordinatesOf(positions, x.shape, axis);
    for (let i = 0; i < positions.length; i++) out[i * x.rank + axis] = coordinates[i];
  }
  return engine.fromData(out, [positions.length, x.rank], "int32", x.place);
}

/**
 * The distinct elements in ascending order, NaN last; every NaN is one.
 *
 * @param x Any shape and real dtype.
 * @returns Rank 1, the dtype of `x`.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { tensor, unique } from "../mod.ts";
 *
 * assertEquals(await (await unique(tensor([3, 1, 3]))).toArray(), [1, 3]);
 * ```
 */
export async function unique(x: Tensor): Promise<Tensor> {
  expectTensors("unique", x);
  refuseComplex("unique", x.dtype);
  const data = await x.data();
  // data() gives float16 and bfloat16 as float32.
  const half = DTYPES[x.dtype].array === Uint16Array;
  const dtype = half ? "float32" : x.dtype;
  const order = sortOrder({ dtype, shape: [x.numel], strides: [1], offset: 0, data }, false);
  const kept = new Array<number | bigint>();
  for (let i = 0; i < order.length; i++) {
    const v = data[order[i]];
    if (
      i === 0 ||
      (v !== data[order[i - 1]] && !(Number.isNaN(v) && Number.isNaN(data[order[i - 1]])))
    ) {
      kept.push(v);
    }
  }
  const out = newArray(dtype, kept.length) as DataArray;
  for (let i = 0; i < kept.length; i++) out[i] = kept[i];
  const made = engine.fromData(out, [kept.length], dtype, x.place);
  return half ? op.cast(made, x.dtype) : made;
}
