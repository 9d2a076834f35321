// Copies between tensors of one place, with any strides on both sides.
import { type DType, DTYPES } from "../dtype.ts";
import * as k from "../ir/expr.ts";
import { makeKernel, type StrideClass } from "../ir/kernel.ts";
import { broadcastStrides, contiguousStrides, sizeOf } from "../shape.ts";
import { Storage } from "../storage.ts";
import { Tensor } from "../tensor.ts";
import { allocate, bytesOf } from "./run.ts";

/** An axis that a copy walks: its size and the steps on both sides. */
interface Axis {
  size: number;
  from: number;
  to: number;
}

/** Complex numbers of one dtype are copied as the words of 64 bits that they are. */
function wordsOf(target: DType, source: DType): { read: DType; write: DType; count: number } {
  if (DTYPES[source].kind !== "complex" || source !== target) {
    return { read: source, write: target, count: 1 };
  }
  return { read: "int64", write: "int64", count: DTYPES[source].bytes / 8 };
}

/** Axes of a copy, joined where they lie one in the other. */
function axesOf(target: Tensor, source: Tensor, count: number): Axis[] {
  const from = broadcastStrides(source.shape, source.impl.strides, target.shape);
  const axes: Axis[] = [];
  const add = (axis: Axis): void => {
    const last = axes[axes.length - 1];
    if (
      last !== undefined && last.from === axis.from * axis.size && last.to === axis.to * axis.size
    ) {
      last.size *= axis.size;
      last.from = axis.from;
      last.to = axis.to;
    } else axes.push(axis);
  };
  target.shape.forEach((size, i) => {
    if (size !== 1) add({ size, from: count * from[i], to: count * target.impl.strides[i] });
  });
  if (count !== 1) add({ size: count, from: 1, to: 1 });
  return axes;
}

/** Writes `source` (broadcast, cast) over the elements of `target`. Neither history nor version changes. */
export function copyInto(target: Tensor, source: Tensor): void {
  if (target.numel === 0) return;
  const { read, write, count } = wordsOf(target.dtype, source.dtype);
  const axes = axesOf(target, source, count);
  const classOf = (
    s: number | undefined,
  ): StrideClass => (s === 1 ? "unit" : s === 0 || s === undefined ? "zero" : "any");
  const last = axes[axes.length - 1];
  const type = k.computeType(read);
  const kernel = makeKernel({
    outerRank: axes.length,
    innerRank: 0,
    inputs: [{ dtype: read, outer: classOf(last?.from), inner: "zero" }],
    outputs: [{ dtype: write, outer: classOf(last?.to), inner: "zero", stage: 0, value: 0 }],
    args: [],
    stages: [{
      kind: "map",
      values: [k.cast(k.leaf("load", type, 0), k.computeType(write))],
    }],
    index32: true,
  });
  const storage = target.storageOrThrow();
  storage.backend.compile(kernel).run({
    sizes: axes.map((a) => a.size),
    strides: [axes.map((a) => a.from), axes.map((a) => a.to)],
    offsets: [count * source.impl.offset, count * target.impl.offset],
    args: [],
  }, [source.storageOrThrow().buffer, storage.buffer]);
}

/** The same elements dense, as a new tensor where they are not (or always, with `copy`). Not recorded. */
export function makeContiguous(x: Tensor, copy = false): Tensor {
  if (!copy && x.isContiguous) return x;
  const storage = x.storageOrThrow();
  const out = new Tensor({
    storage: new Storage(
      storage.backend,
      allocate(storage.backend, bytesOf(x.dtype, sizeOf(x.shape))),
      bytesOf(x.dtype, sizeOf(x.shape)),
    ),
    shape: x.shape,
    strides: contiguousStrides(x.shape),
    offset: 0,
    dtype: x.dtype,
    place: x.place,
  });
  copyInto(out, x);
  return out;
}
