// Reading nested arrays of numbers into a flat typed array with a shape and a dtype. Not here: making a
// tensor of it (ops/creation.ts), conversion of typed arrays (convert.ts).
import { describe } from "./describe.ts";
import type { DataArray, DType } from "./dtype.ts";
import { DTypeError, ShapeError, ValueError } from "./errors.ts";

/** A typed array of any kind that JavaScript has. */
export type AnyTypedArray =
  | DataArray
  | Uint8ClampedArray
  | Uint32Array
  | BigUint64Array
  | {
    readonly [Symbol.toStringTag]: "Float16Array";
    readonly length: number;
    readonly buffer: ArrayBufferLike;
  };

/** What `tensor` takes: a number, a typed array, or arrays of these, equally long at each depth. */
export type TensorLike = number | bigint | boolean | AnyTypedArray | readonly TensorLike[];

/** Elements in storage form. */
export interface Flat {
  readonly data: DataArray;
  readonly shape: number[];
  readonly dtype: DType;
  /** Whether they were plain numbers: these come as float64 and take the dtype of the place. */
  readonly plain: boolean;
}

/** The dtype and storage array of a typed array. May share its memory. */
function fromTyped(x: ArrayBufferView): { data: DataArray; dtype: DType } {
  switch ((x as unknown as { [Symbol.toStringTag]: string })[Symbol.toStringTag]) {
    case "Float32Array":
      return { data: x as Float32Array, dtype: "float32" };
    case "Float64Array":
      return { data: x as Float64Array, dtype: "float64" };
    case "Float16Array":
      return { data: new Uint16Array(x.buffer, x.byteOffset, x.byteLength / 2), dtype: "float16" };
    case "Int8Array":
      return { data: x as Int8Array, dtype: "int8" };
    case "Uint8Array":
      return { data: x as Uint8Array, dtype: "uint8" };
    case "Uint8ClampedArray":
      return { data: new Uint8Array(x.buffer, x.byteOffset, x.byteLength), dtype: "uint8" };
    case "Int16Array":
      return { data: x as Int16Array, dtype: "int16" };
    case "Int32Array":
      return { data: x as Int32Array, dtype: "int32" };
    case "BigInt64Array":
      return { data: x as BigInt64Array, dtype: "int64" };
    // The next wider dtype holds what there is no dtype for.
    case "Uint16Array":
      return { data: Int32Array.from(x as Uint16Array), dtype: "int32" };
    case "Uint32Array":
      return { data: BigInt64Array.from(x as Uint32Array, BigInt), dtype: "int64" };
    case "BigUint64Array":
      return { data: fromUnsigned(x as BigUint64Array), dtype: "int64" };
    default:
      throw new DTypeError(
        `Cannot tensor of ${x.constructor.name}: it has no elements; wrap its buffer in a typed array`,
      );
  }
}

function fromUnsigned(x: BigUint64Array): BigInt64Array {
  const big = x.findIndex((v) => v >= 2n ** 63n);
  if (big >= 0) {
    throw new ValueError(
      `Cannot tensor of a BigUint64Array: element ${big} (${x[big]}) exceeds int64`,
    );
  }
  return BigInt64Array.from(x);
}

function place(path: readonly number[]): string {
  return path.length === 0 ? "the value" : `element [${path.join("][")}]`;
}

/** More axes than this are a mistake: an array that contains itself has no end. */
const DEEPEST = 256;

/** The shape along the first elements; every other element is checked against it while reading. */
function shapeOf(data: TensorLike): number[] {
  const shape: number[] = [];
  let x: unknown = data;
  while (Array.isArray(x) || ArrayBuffer.isView(x)) {
    const { length } = x as unknown as ArrayLike<unknown>;
    shape.push(length);
    if (shape.length > DEEPEST) {
      throw new ShapeError(
        `Cannot tensor: arrays are nested more than ${DEEPEST} deep; is one of them inside itself?`,
      );
    }
    if (!Array.isArray(x) || length === 0) break;
    x = x[0];
  }
  return shape;
}

type Leaf = number | bigint | boolean;

class Reader {
  readonly leaves: Leaf[] = [];
  readonly typed: ArrayBufferView[] = [];
  readonly #shape: readonly number[];

  constructor(shape: readonly number[]) {
    this.#shape = shape;
  }

  read(x: unknown, path: readonly number[]): void {
    const depth = path.length;
    if (Array.isArray(x) || ArrayBuffer.isView(x)) {
      const { length } = x as unknown as ArrayLike<unknown>;
      if (depth >= this.#shape.length || length !== this.#shape[depth]) {
        this.#ragged(path, `has ${length} elements`);
      }
      if (Array.isArray(x)) this.#readAll(x, path);
      else if (depth !== this.#shape.length - 1) this.#ragged(path, "is a typed array");
      else this.typed.push(x);
    } else if (typeof x === "number" || typeof x === "bigint" || typeof x === "boolean") {
      if (depth < this.#shape.length) this.#ragged(path, `is the ${typeof x} ${x}`);
      this.leaves.push(x);
    } else {
      throw new ValueError(
        `Cannot tensor: elements must be numbers, booleans or bigints: ${place(path)} is ` +
          describe(x) +
          (x instanceof Object && "dtype" in x ? "; of tensors use stack(…) or clone()" : ""),
      );
    }
  }

  #readAll(row: readonly unknown[], path: readonly number[]): void {
    const last = path.length === this.#shape.length - 1;
    for (let i = 0; i < row.length; i++) {
      const x = row[i];
      if (last && typeof x === "number") this.leaves.push(x);
      else this.read(x, [...path, i]);
    }
  }

  #ragged(path: readonly number[], what: string): never {
    const { length } = path;
    const wanted = length < this.#shape.length
      ? `an array of ${this.#shape[length]} elements`
      : "a number";
    throw new ShapeError(
      `Cannot tensor: arrays must be equally long at each depth: ${place(path)} ${what}, but ` +
        `${place(path.map(() => 0))} is ${wanted}; pad the rows or make a tensor of each`,
    );
  }
}

/** The flat elements of a number, a typed array or nested arrays of them. Typed arrays are not copied. */
export function flatten(data: TensorLike): Flat {
  if (ArrayBuffer.isView(data)) {
    const { data: flat, dtype } = fromTyped(data as ArrayBufferView);
    return { data: flat, shape: [flat.length], dtype, plain: false };
  }
  const shape = shapeOf(data);
  const reader = new Reader(shape);
  reader.read(data, []);
  const { leaves, typed } = reader;
  if (typed.length > 0) return { ...joined(typed, leaves.length), shape, plain: false };
  return { ...ofLeaves(leaves), shape };
}

function joined(
  parts: readonly ArrayBufferView[],
  others: number,
): { data: DataArray; dtype: DType } {
  const list = parts.map(fromTyped);
  const { dtype, data: first } = list[0];
  const odd = list.find((p) => p.dtype !== dtype);
  if (odd !== undefined || others > 0) {
    throw new DTypeError(
      `Cannot tensor of rows of different kinds: got ${dtype} and ${
        odd?.dtype ?? "plain arrays"
      }; ` +
        "convert the rows to one kind of typed array",
    );
  }
  const data = new (first.constructor as new (n: number) => DataArray)(
    list.reduce((n, p) => n + p.data.length, 0),
  );
  let at = 0;
  for (const p of list) {
    (data as Float64Array).set(p.data as Float64Array, at);
    at += p.data.length;
  }
  return { data, dtype };
}

function ofLeaves(leaves: readonly Leaf[]): Omit<Flat, "shape"> {
  let bigs = 0;
  let bools = 0;
  for (const x of leaves) {
    if (typeof x === "bigint") bigs++;
    else if (typeof x === "boolean") bools++;
  }
  if (leaves.length > 0 && bools === leaves.length) {
    return { data: Uint8Array.from(leaves as boolean[], Number), dtype: "bool", plain: false };
  }
  if (bigs > 0) {
    if (bigs !== leaves.length) {
      throw new DTypeError(
        "Cannot tensor of bigints mixed with other values: bigints mean int64, numbers a float dtype; " +
          "write all of them one way",
      );
    }
    const wide = leaves.find((x) => BigInt.asIntN(64, x as bigint) !== x);
    if (wide !== undefined) throw new ValueError(`Cannot tensor of ${wide}n: it exceeds int64`);
    return { data: BigInt64Array.from(leaves as bigint[]), dtype: "int64", plain: false };
  }
  // In full precision: the caller converts to the dtype, whichever it is, with one rounding.
  return { data: Float64Array.from(leaves as number[], Number), dtype: "float64", plain: true };
}
