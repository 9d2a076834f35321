// Tensors made from values on the host, and filled ones. Patterns that follow from coordinates (arange,
// eye, …) are in pattern.ts, random ones in random.ts.
import { convert } from "../core/convert.ts";
import { type DType, DTYPES, getDefaultDtype, isInteger } from "../core/dtype.ts";
import { ValueError } from "../core/errors.ts";
import { flatten, type TensorLike } from "../core/nested.ts";
import { elementwise, engine, type Operand } from "../core/op.ts";
import { expectOptions, expectTensors } from "../core/operands.ts";
import { checkShape, type Shape, sizeOf } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import {
  createdRule,
  createdShape,
  creationAttrs,
  type CreationOptions,
  dtypeOf,
  finished,
  placeOf,
} from "./making.ts";

export type { AnyTypedArray, TensorLike } from "../core/nested.ts";
export type { CreationOptions } from "./making.ts";

/**
 * A tensor of given values.
 *
 * @param data A number, boolean or bigint; arrays of them, nested and equally long at each depth; a typed
 * array; or arrays of typed arrays.
 * @param options `dtype`: default by what the data are: numbers give the default float (JavaScript cannot
 * tell 1.0 from 1), booleans bool, bigints int64, typed arrays what they hold. Conversion is that of
 * `cast`, but rounded only once. `place`, `requiresGrad` as everywhere.
 * @returns A tensor of its own memory.
 * @throws {ShapeError} if nested arrays are not equally long; the message says where.
 * @throws {DTypeError} if bigints and numbers, or rows of different kinds, are mixed.
 * @throws {ValueError} if an element is no number, or exceeds int64.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { tensor } from "../mod.ts";
 *
 * const x = tensor([[1, 2], [3, 4]]);
 * assertEquals([x.shape, x.dtype], [[2, 2], "float32"]);
 * assertEquals(tensor([1n, 2n]).dtype, "int64");
 * assertEquals(await tensor(Int8Array.of(1, 2), { dtype: "float64" }).toArray(), [1, 2]);
 * ```
 */
export function tensor(data: TensorLike, options: CreationOptions = {}): Tensor {
  expectOptions("tensor", options);
  const flat = flatten(data);
  const dtype = dtypeOf("tensor", options.dtype, flat.plain ? getDefaultDtype() : flat.dtype);
  const elements = flat.dtype === dtype ? flat.data : convert(flat.data, flat.dtype, dtype);
  return finished(engine.fromData(elements, flat.shape, dtype, placeOf(options)), options);
}

const FULL = elementwise({
  name: "full",
  dtype: createdRule,
  scalar: ([value]) => value,
  shape: createdShape,
  vjp: ([g]) => [g],
  saves: "none",
  samples: () => [
    { inputs: [2.5], attrs: creationAttrs([2, 3], "float32") },
    { inputs: [-7], attrs: creationAttrs([], "int64") },
    { inputs: [1], attrs: creationAttrs([0], "bool") },
  ],
});

const RANGES: Partial<Record<DType, readonly [number, number]>> = {
  uint8: [0, 255],
  int8: [-128, 127],
  int16: [-32768, 32767],
  int32: [-2147483648, 2147483647],
  int64: [-(2 ** 63), 2 ** 63],
};

/** A number that the dtype can hold: integers lose their fraction. */
function fitting(call: string, value: number | bigint | boolean, dtype: DType): Operand {
  if (!isInteger(dtype) || typeof value === "boolean") return value;
  const [low, high] = RANGES[dtype]!;
  if (!(value >= low && value <= high) || (dtype === "int64" && value === high)) {
    throw new ValueError(`Cannot ${call} ${dtype} with ${value}: it must lie in ${low} to ${high}`);
  }
  return typeof value === "number" ? Math.trunc(value) : value;
}

function filled(call: string, shape: Shape, value: Operand, options: CreationOptions): Tensor {
  checkShape(call, shape);
  const dtype = dtypeOf(call, options.dtype, getDefaultDtype());
  if (DTYPES[dtype].kind === "complex") {
    const values = new Float64Array(sizeOf(shape)).fill(Number(value));
    const pairs = convert(values, "float64", dtype);
    return finished(engine.fromData(pairs, shape, dtype, placeOf(options)), options);
  }
  const number = typeof value === "object" ? value : fitting(call, value, dtype);
  const x = engine.call(FULL, [number], creationAttrs(shape, dtype, options.place));
  return finished(x, options);
}

/**
 * A tensor of zeros.
 *
 * @param shape Sizes along the axes; `[]` for a scalar.
 * @returns That shape; `dtype`, by default the default float.
 * @throws {ShapeError} if a size is negative or not whole.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { zeros } from "../mod.ts";
 *
 * assertEquals(await zeros([2, 2]).toArray(), [[0, 0], [0, 0]]);
 * ```
 */
export function zeros(shape: Shape, options: CreationOptions = {}): Tensor {
  expectOptions("zeros", options);
  return filled("zeros", shape, 0, options);
}

/**
 * A tensor of ones.
 *
 * @param shape Sizes along the axes; `[]` for a scalar.
 * @returns That shape; `dtype`, by default the default float.
 * @throws {ShapeError} if a size is negative or not whole.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { ones } from "../mod.ts";
 *
 * assertEquals(await ones([2], { dtype: "int32" }).toArray(), [1, 1]);
 * ```
 */
export function ones(shape: Shape, options: CreationOptions = {}): Tensor {
  expectOptions("ones", options);
  return filled("ones", shape, 1, options);
}

/**
 * A tensor with one value everywhere.
 *
 * @param shape Sizes along the axes; `[]` for a scalar.
 * @param value The value; for integers its fraction is dropped.
 * @returns That shape; `dtype`, by default the default float.
 * @throws {ShapeError} if a size is negative or not whole.
 * @throws {ValueError} if an integer dtype cannot hold the value.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { full } from "../mod.ts";
 *
 * assertEquals(await full([2], 2.5).toArray(), [2.5, 2.5]);
 * ```
 */
export function full(
  shape: Shape,
  value: number | bigint | boolean,
  options: CreationOptions = {},
): Tensor {
  expectOptions("full", options);
  return filled("full", shape, value, options);
}

/**
 * A tensor whose elements are whatever the memory held: to be written before it is read.
 *
 * @param shape Sizes along the axes; `[]` for a scalar.
 * @returns That shape; `dtype`, by default the default float.
 * @throws {ShapeError} if a size is negative or not whole.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { empty } from "../mod.ts";
 *
 * assertEquals(empty([2, 3]).shape, [2, 3]);
 * ```
 */
export function empty(shape: Shape, options: CreationOptions = {}): Tensor {
  expectOptions("empty", options);
  checkShape("empty", shape);
  const dtype = dtypeOf("empty", options.dtype, getDefaultDtype());
  return finished(engine.empty([...shape], dtype, placeOf(options)), options);
}

/** Options of a tensor like another: its dtype and place unless they are given. */
function like(call: string, x: Tensor, options: CreationOptions): CreationOptions {
  expectOptions(call, options);
  return { ...options, dtype: options.dtype ?? x.dtype, place: options.place ?? x.place };
}

/**
 * Zeros of the shape, dtype and place of another tensor.
 *
 * @param x Any tensor.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { tensor, zerosLike } from "../mod.ts";
 *
 * assertEquals(await zerosLike(tensor([1, 2])).toArray(), [0, 0]);
 * ```
 */
export function zerosLike(x: Tensor, options: CreationOptions = {}): Tensor {
  expectTensors("zerosLike", x);
  return filled("zerosLike", x.shape, 0, like("zerosLike", x, options));
}

/**
 * Ones of the shape, dtype and place of another tensor.
 *
 * @param x Any tensor.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { onesLike, tensor } from "../mod.ts";
 *
 * assertEquals(await onesLike(tensor([5, 2])).toArray(), [1, 1]);
 * ```
 */
export function onesLike(x: Tensor, options: CreationOptions = {}): Tensor {
  expectTensors("onesLike", x);
  return filled("onesLike", x.shape, 1, like("onesLike", x, options));
}

/**
 * One value everywhere, in the shape, dtype and place of another tensor.
 *
 * @param x Any tensor.
 * @param value A number, or a tensor of one element.
 * @throws {ValueError} if an integer dtype cannot hold the value.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { fullLike, tensor } from "../mod.ts";
 *
 * assertEquals(await fullLike(tensor([5, 2]), 0.5).toArray(), [0.5, 0.5]);
 * ```
 */
export function fullLike(x: Tensor, value: Operand, options: CreationOptions = {}): Tensor {
  expectTensors("fullLike", x);
  return filled("fullLike", x.shape, value, like("fullLike", x, options));
}

/**
 * Elements not set, in the shape, dtype and place of another tensor.
 *
 * @param x Any tensor.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { emptyLike, tensor } from "../mod.ts";
 *
 * assertEquals(emptyLike(tensor([5, 2])).shape, [2]);
 * ```
 */
export function emptyLike(x: Tensor, options: CreationOptions = {}): Tensor {
  expectTensors("emptyLike", x);
  return empty(x.shape, like("emptyLike", x, options));
}
