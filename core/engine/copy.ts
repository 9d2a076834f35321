// Copies between tensors of one place, with any strides on both sides.
import * as k from "../ir/expr.ts";
import { makeKernel, type StrideClass } from "../ir/kernel.ts";
import { broadcastStrides, contiguousStrides, sizeOf } from "../shape.ts";
import { Storage } from "../storage.ts";
import { Tensor } from "../tensor.ts";
import { allocate, bytesOf } from "./run.ts";

/** Writes `source` (broadcast, cast) over the elements of `target`. Neither history nor version changes. */
export function copyInto(target: Tensor, source: Tensor): void {
  if (target.numel === 0) return;
  const from = broadcastStrides(source.shape, source.impl.strides, target.shape);
  const axes: { size: number; from: number; to: number }[] = [];
  for (let i = 0; i < target.shape.length; i++) {
    const size = target.shape[i];
    if (size === 1) continue;
    const axis = { size, from: from[i], to: target.impl.strides[i] };
    const last = axes[axes.length - 1];
    if (last !== undefined && last.from === axis.from * size && last.to === axis.to * size) {
      last.size *= size;
      last.from = axis.from;
      last.to = axis.to;
    } else axes.push(axis);
  }
  const classOf = (
    s: number | undefined,
  ): StrideClass => (s === 1 ? "unit" : s === 0 || s === undefined ? "zero" : "any");
  const last = axes[axes.length - 1];
  const type = k.computeType(source.dtype);
  const kernel = makeKernel({
    outerRank: axes.length,
    innerRank: 0,
    inputs: [{ dtype: source.dtype, outer: classOf(last?.from), inner: "zero" }],
    outputs: [{ dtype: target.dtype, outer: classOf(last?.to), inner: "zero", stage: 0, value: 0 }],
    args: [],
    stages: [{
      kind: "map",
      values: [k.cast(k.leaf("load", type, 0), k.computeType(target.dtype))],
    }],
    index32: true,
  });
  const storage = target.storageOrThrow();
  storage.backend.compile(kernel).run({
    sizes: axes.map((a) => a.size),
    strides: [axes.map((a) => a.from), axes.map((a) => a.to)],
    offsets: [source.impl.offset, target.impl.offset],
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
