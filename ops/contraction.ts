// The contraction that all products of matrices come down to: one kernel op, whose gradients are
// contractions again, and the checks and shapes around it. Not part of the public surface: ops/mod.ts
// does not export it; what people call is in matmul.ts, linear.ts and einsum.ts.
import { computeType, type Expr } from "../core/ir/expr.ts";
import * as k from "../core/ir/expr.ts";
import { makeKernel } from "../core/ir/kernel.ts";
import { type DType, DTYPES } from "../core/dtype.ts";
import { DTypeError, ShapeError } from "../core/errors.ts";
import { commonDType, engine, kernelOp, type LoweredKernel, type Meta } from "../core/op.ts";
import {
  broadcastStrides,
  contiguousStrides,
  type Shape,
  showShape,
  sizeOf,
  tryBroadcast,
} from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";

/** Dot products of rows and columns, with both operands dense; renderers block the sum. */
function lower(metas: readonly Meta[], outs: readonly Meta[]): LoweredKernel {
  const { shape, dtype } = outs[0];
  const batch = shape.slice(0, -2);
  const depth = metas[0].shape[metas[0].shape.length - 1];
  const type = computeType(dtype);
  const item = (i: number): Expr => k.leaf("load", type, i);
  const strides = metas.map((m, i) => {
    const own = contiguousStrides(m.shape);
    const [row, column] = own.slice(-2);
    const lead = broadcastStrides(m.shape.slice(0, -2), own.slice(0, -2), batch);
    return i === 0 ? [...lead, row, 0, column] : [...lead, 0, column, row];
  });
  const kernel = makeKernel({
    outerRank: shape.length,
    innerRank: 1,
    inputs: [{ dtype, outer: "zero", inner: "unit" }, { dtype, outer: "unit", inner: "any" }],
    outputs: [{ dtype, outer: "unit", inner: "zero", stage: 1, value: 0 }],
    args: [],
    stages: [
      {
        kind: "reduce",
        init: [k.constant(0, type)],
        lift: [k.mul(item(0), item(1))],
        combine: [k.add(k.leaf("left", type, 0), k.leaf("right", type, 0))],
      },
      { kind: "final", values: [k.leaf("result", type, 0, 0)] },
    ],
    index32: true,
  });
  const launch = {
    sizes: [...shape, depth],
    strides: [...strides, [...contiguousStrides(shape), 0]],
    offsets: [0, 0, 0],
    args: [],
  };
  return { kernel, launch };
}

/** `[..., m, k]` times `[..., k, n]`, both of rank 2 or more and of one dtype; batches broadcast. */
export const MATMUL: ReturnType<typeof kernelOp> = kernelOp({
  name: "matmul",
  amp: "white",
  epilogue: true,
  infer: ([a, b]) => {
    const [m, n] = [a.shape[a.shape.length - 2], b.shape[b.shape.length - 1]];
    const batch = tryBroadcast(a.shape.slice(0, -2), b.shape.slice(0, -2))!;
    return [{ shape: [...batch, m, n], dtype: a.dtype }];
  },
  lower,
  vjp: ([g], { inputs, needs }) => [
    needs[0] ? engine.call(MATMUL, [g, op.transpose(inputs[1] as Tensor, -2, -1)]) : null,
    needs[1] ? engine.call(MATMUL, [op.transpose(inputs[0] as Tensor, -2, -1), g]) : null,
  ],
  reads: [[1], [0]],
  samples: () => [
    { inputs: [{ shape: [2, 3] }, { shape: [3, 4] }] },
    { inputs: [{ shape: [2, 1, 2, 3] }, { shape: [3, 3, 2] }] },
    { inputs: [{ shape: [5, 1] }, { shape: [1, 1] }] },
    { inputs: [{ shape: [9, 17] }, { shape: [17, 11] }] },
    { inputs: [{ shape: [2, 0] }, { shape: [0, 3] }] },
    { inputs: [{ shape: [0, 3] }, { shape: [3, 2] }] },
    {
      inputs: [{ values: [NaN, 0, 1, Infinity], shape: [2, 2] }, { shape: [2, 2] }],
      noGrad: true,
    },
    {
      inputs: [
        { values: [65536, -3, 7, 2147483647], shape: [2, 2], dtype: "int32" },
        { values: [65536, 1, -1, 2], shape: [2, 2], dtype: "int32" },
      ],
      noGrad: true,
    },
    {
      inputs: [
        { values: [4294967296, -3], shape: [1, 2], dtype: "int64" },
        { values: [1048576, 5], shape: [2, 1], dtype: "int64" },
      ],
      noGrad: true,
    },
  ],
});

/** Operands of a contraction in the dtype they meet in. */
export function contractible(call: string, ...xs: readonly Tensor[]): Tensor[] {
  const dtype: DType = commonDType(xs);
  if (dtype === "bool" || DTYPES[dtype].kind === "complex") {
    throw new DTypeError(
      `Cannot ${call} ${xs.map((x) => x.dtype).join(" with ")}: ` +
        (dtype === "bool"
          ? `truth values do not add up; cast them to "int32" or "float32" first`
          : "complex dtypes are not supported by this op yet"),
    );
  }
  return xs.map((x) => (x.dtype === dtype ? x : op.cast(x, dtype)));
}

/** How a call of `matmul` is named in errors. */
export interface Wording {
  readonly call: string;
  readonly left: string;
  readonly right: string;
}

/** Throws unless the shapes can be multiplied. */
export function checkShapes(a: Shape, b: Shape, { call, left, right }: Wording): void {
  if (a.length === 0 || b.length === 0) {
    throw new ShapeError(
      `Cannot ${call} ${left} with ${right}: both need at least one axis; use mul for scalars`,
    );
  }
  const inner = b.length === 1 ? b[0] : b[b.length - 2];
  if (a[a.length - 1] !== inner) {
    throw new ShapeError(
      `Cannot ${call} ${left} with ${right}: inner sizes must match: got ${
        a[a.length - 1]
      } and ${inner}`,
    );
  }
  const [x, y] = [a.slice(0, -2), b.slice(0, -2)];
  if (tryBroadcast(x, y) === null) {
    throw new ShapeError(
      `Cannot ${call} ${left} with ${right}: batch sizes must be equal or 1: got ${
        showShape(x)
      } and ${showShape(y)}`,
    );
  }
}

/** The product of tensors of any rank of 1 or more. */
export function product(a: Tensor, b: Tensor, wording: Wording): Tensor {
  checkShapes(a.shape, b.shape, wording);
  const [x, y] = contractible(wording.call, a, b);
  const depth = x.shape[x.rank - 1];
  const columns = y.rank === 1 ? 1 : y.shape[y.rank - 1];
  const tail = y.rank === 1 ? [] : [columns];
  const right = y.rank === 1 ? op.reshape(y, [depth, 1]) : y;
  if (right.rank === 2 && (x.rank !== 2 || y.rank === 1)) {
    // One matrix on the right: all rows of the left make one matrix, with one product as its gradient.
    const lead = x.shape.slice(0, -1);
    const rows = op.reshape(x, [sizeOf(lead), depth]);
    return op.reshape(engine.call(MATMUL, [rows, right]), [...lead, ...tail]);
  }
  if (x.rank > 1) return engine.call(MATMUL, [x, right]);
  const out = engine.call(MATMUL, [op.reshape(x, [1, depth]), right]);
  return op.reshape(out, [...right.shape.slice(0, -2), columns]);
}
