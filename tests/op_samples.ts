// Turns the samples written beside each op into operands and numbers. Shared by the generated op tests;
// not a test itself.
import { setRequiresGrad } from "../core/autograd.ts";
import { type DataArray, type DType, DTYPES, isFloat } from "../core/dtype.ts";
import {
  allOps,
  engine,
  type Op,
  type Operand,
  type Sample,
  type SampleInput,
} from "../core/op.ts";
import { Place } from "../core/place.ts";
import { sizeOf } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import "../mod.ts";

/** A repeatable stream of numbers in [0, 1). */
export function numbers(seed: number): () => number {
  let s = (seed * 2654435761) >>> 0;
  return () => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    return s / 2 ** 32;
  };
}

/** A sample's operand before it is on a place. */
export type HostInput = number | HostTensor;

/** A tensor as plain numbers. */
export interface HostTensor {
  readonly shape: readonly number[];
  readonly values: readonly number[];
  readonly dtype: DType;
}

/** Draws the operands of a sample; operands that name no dtype take `float`. */
export function draw(sample: Sample, float: DType, seed: number): HostInput[] {
  const next = numbers(seed);
  return sample.inputs.map((x: SampleInput): HostInput => {
    if (typeof x === "number") return x;
    if ("values" in x) {
      return { shape: x.shape ?? [x.values.length], values: x.values, dtype: x.dtype ?? float };
    }
    const [low, high] = x.range ?? [-2, 2];
    const dtype = x.dtype ?? float;
    const values = Array.from({ length: sizeOf(x.shape) }, () => {
      const v = low + (high - low) * next();
      if (isFloat(dtype)) return v;
      return dtype === "bool" ? Number(v > (low + high) / 2) : Math.floor(v);
    });
    return { shape: x.shape, values, dtype };
  });
}

/** A tensor on a place. */
export function toTensor(x: HostTensor, where: string, requiresGrad = false): Tensor {
  const Store = DTYPES[x.dtype].array as unknown as new (n: number) => DataArray;
  const data = new Store(x.values.length);
  x.values.forEach((v, i) => data[i] = data instanceof BigInt64Array ? BigInt(Math.trunc(v)) : v);
  const t = engine.fromData(data, x.shape, x.dtype, Place.of(where));
  if (requiresGrad && isFloat(x.dtype)) setRequiresGrad(t, true);
  return t;
}

/** Operands on a place. */
export function toOperands(
  inputs: readonly HostInput[],
  where: string,
  requiresGrad = false,
): Operand[] {
  return inputs.map((x) => (typeof x === "number" ? x : toTensor(x, where, requiresGrad)));
}

/** The elements as plain numbers. */
export function valuesOf(t: Tensor): number[] {
  return Array.from(t.dataSync() as ArrayLike<number | bigint>, Number);
}

/** Ops with samples, in the order they are defined. */
export function sampledOps(): { readonly op: Op; readonly samples: readonly Sample[] }[] {
  return [...allOps().values()].flatMap((
    op,
  ) => (op.samples === undefined ? [] : [{ op, samples: op.samples() }]));
}

/** Calls an op on a sample's operands. */
export function callOp(op: Op, operands: readonly Operand[], sample: Sample): Tensor[] {
  return engine.callMany(op, operands, sample.attrs ?? {});
}
