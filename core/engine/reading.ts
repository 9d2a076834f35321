// Getting elements in and out: reading copies, host views, moving between places. No ops are defined here.
import { checkpoint } from "./memory.ts";
import { decodeBfloat16, decodeFloat16 } from "../half.ts";
import { type DataArray, type DType, DTYPES, isDType } from "../dtype.ts";
import { PlaceError, TraceError } from "../errors.ts";
import type { HostArray } from "../host.ts";
import { attach, FunctionNode, needsGrad } from "../autograd.ts";
import { Place } from "../place.ts";
import { contiguousStrides, type Shape, showShape, sizeOf } from "../shape.ts";
import { op } from "../slots.ts";
import { Storage } from "../storage.ts";
import { Tensor } from "../tensor.ts";
import type { NestedArray } from "../tensor_base.ts";
import { backendOf, currentBackendOf } from "../../backends/registry.ts";
import { makeContiguous } from "./copy.ts";
import { allocate, bytesOf, hostArray } from "./run.ts";

function refuseTraced(x: Tensor, call: string): void {
  if (x.impl.traced !== null) {
    throw new TraceError(
      `Cannot ${call} of a ${x.dtype} tensor of shape ${
        showShape(x.shape)
      } while tracing: it has no value yet; ` +
        "compute with it, or return it and read it outside",
    );
  }
}

/** The bytes of a dense tensor as the array users get. */
function arrayOf(bytes: Uint8Array<ArrayBuffer>, dtype: DType): DataArray {
  const info = DTYPES[dtype];
  const raw = new info.array(
    bytes.buffer,
    bytes.byteOffset,
    bytes.byteLength / info.array.BYTES_PER_ELEMENT,
  ) as DataArray;
  if (dtype === "float16") return decodeFloat16(raw as Uint16Array);
  if (dtype === "bfloat16") return decodeBfloat16(raw as Uint16Array);
  return raw;
}

/** The work of `Tensor.data`. */
export async function data(x: Tensor): Promise<DataArray> {
  refuseTraced(x, "read the data");
  if (x.numel === 0) {
    x.storageOrThrow();
    await checkpoint();
    return arrayOf(new Uint8Array(0), x.dtype);
  }
  const dense = makeContiguous(x);
  const storage = dense.storageOrThrow();
  const bytes = await storage.backend.read(
    storage.buffer,
    bytesOf(x.dtype, dense.impl.offset),
    bytesOf(x.dtype, x.numel),
  );
  if (dense !== x) dense.dispose();
  await checkpoint();
  return arrayOf(bytes, x.dtype);
}

/** The work of `Tensor.dataSync`. */
export function dataSync(x: Tensor): DataArray {
  refuseTraced(x, "read the data");
  const storage = x.storageOrThrow();
  if (storage.backend.readSync === undefined) {
    throw new PlaceError(`Cannot read synchronously from ${x.place}: use await t.data()`);
  }
  // A view of nothing may begin behind its buffer.
  if (x.numel === 0) return arrayOf(new Uint8Array(0), x.dtype);
  const dense = makeContiguous(x);
  const own = dense.storageOrThrow();
  const bytes = own.backend.readSync!(
    own.buffer,
    bytesOf(x.dtype, dense.impl.offset),
    bytesOf(x.dtype, x.numel),
  );
  if (dense !== x) dense.dispose();
  return arrayOf(bytes, x.dtype);
}

/** Elements as nested arrays, numbers where they are safe. Complex elements are [re, im] pairs. */
export function toNested(x: Tensor, elements: DataArray): NestedArray {
  const { dtype, shape } = x;
  const one = (i: number): NestedArray => {
    if (DTYPES[dtype].lanes === 2) {
      return [elements[2 * i] as number, elements[2 * i + 1] as number];
    }
    const v = elements[i];
    if (dtype === "bool") return v !== 0;
    if (typeof v === "bigint") {
      const n = Number(v);
      return Number.isSafeInteger(n) ? n : v;
    }
    return v;
  };
  const build = (axis: number, from: number, step: number): NestedArray => {
    if (axis === shape.length) return one(from);
    const inner = shape[axis] === 0 ? 0 : step / shape[axis];
    return Array.from({ length: shape[axis] }, (_, i) => build(axis + 1, from + i * inner, inner));
  };
  return build(0, 0, sizeOf(shape));
}

/** A tensor of elements in storage form, row-major. */
export function fromData(
  elements: DataArray,
  shape: Shape,
  dtype: DType,
  place: Place | undefined,
): Tensor {
  const out = empty(shape, dtype, place);
  if (elements.byteLength > 0) {
    const storage = out.storageOrThrow();
    storage.backend.write(
      storage.buffer,
      0,
      new Uint8Array(elements.buffer, elements.byteOffset, elements.byteLength),
    );
  }
  return out;
}

/** A tensor whose elements are not set. */
export function empty(shape: Shape, dtype: DType, place: Place | undefined): Tensor {
  const backend = place === undefined ? currentBackendOf() : backendOf(place);
  const bytes = bytesOf(dtype, sizeOf(shape));
  return new Tensor({
    storage: new Storage(backend, allocate(backend, bytes), bytes),
    shape,
    strides: contiguousStrides(shape),
    offset: 0,
    dtype,
    place: backend.place,
  });
}

/** The elements where the host sees them; null if traced or elsewhere. */
export function hostView(x: Tensor): HostArray | null {
  if (x.impl.traced !== null) return null;
  const storage = x.storageOrThrow();
  if (storage.backend.host === undefined) return null;
  return hostArray(storage.backend, {
    buffer: storage.buffer,
    dtype: x.dtype,
    shape: x.shape,
    strides: x.impl.strides,
    offset: x.impl.offset,
  });
}

/** The work of `Tensor.to`: another dtype, or a copy on another place. */
export function to(x: Tensor, target: Place | string): Tensor {
  if (typeof target === "string" && isDType(target)) return op.cast(x, target);
  const place = Place.of(target);
  if (place === x.place) return x;
  refuseTraced(x, "move the elements");
  const dense = makeContiguous(x);
  const from = dense.storageOrThrow();
  const n = bytesOf(x.dtype, x.numel);
  if (from.backend.readSync === undefined) {
    throw new PlaceError(
      `Cannot move a tensor from ${x.place} to ${place} at once: read it with await data() first`,
    );
  }
  const out = empty(x.shape, x.dtype, place);
  const storage = out.storageOrThrow();
  if (n > 0) {
    storage.backend.write(
      storage.buffer,
      0,
      from.backend.readSync(from.buffer, bytesOf(x.dtype, dense.impl.offset), n),
    );
  }
  if (dense !== x) dense.dispose();
  if (needsGrad([x])) {
    const home = x.place;
    attach(new FunctionNode("to", [x], [out], [], ([g]) => [to(g, home)]), [out]);
  }
  return out;
}
