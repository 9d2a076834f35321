// Matrix products: the functions people call. The kernel and its gradient are in contraction.ts, sums of
// products by index letters in einsum.ts.
import { ShapeError } from "../core/errors.ts";
import { composite, engine, type Operand } from "../core/op.ts";
import { expectOptions, expectTensors } from "../core/operands.ts";
import { sameShape, type Shape, showShape, tryBroadcast } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { checkShapes, contractible, MATMUL, product } from "./contraction.ts";

/** Options of `matmul`. */
export interface MatmulOptions {
  /** Swap the last two axes of the first operand before the product. Default false. */
  readonly transposeX?: boolean;
  /** Swap the last two axes of the second operand before the product. Default false. */
  readonly transposeY?: boolean;
}

/**
 * Matrix product over the last two axes; axes before them are batches that broadcast. A vector on the
 * left is a row, on the right a column, and its axis is gone from the result; two vectors give rank 0.
 *
 * @param a `[..., m, k]` or `[k]`.
 * @param b `[..., k, n]` or `[k]`.
 * @param options Whether to swap the last two axes of an operand first (vectors stay as they are).
 * @returns `[..., m, n]` in the promoted dtype. Sums over no elements are 0; integers wrap.
 * @throws {ShapeError} if the inner sizes differ, the batches do not broadcast, or an operand has rank 0.
 * @throws {DTypeError} if an operand is bool with bool, or complex.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { matmul, tensor } from "../mod.ts";
 *
 * const a = tensor([[1, 2], [3, 4]]);
 * assertEquals(await matmul(a, tensor([[1], [10]])).toArray(), [[21], [43]]);
 * assertEquals(await matmul(a, a, { transposeY: true }).toArray(), [[5, 11], [11, 25]]);
 * ```
 */
export function matmul(a: Tensor, b: Tensor, options: MatmulOptions = {}): Tensor {
  expectTensors("matmul", a, b);
  expectOptions("matmul", options);
  const swap = (x: Tensor, on: boolean | undefined): { x: Tensor; text: string } =>
    on && x.rank > 1
      ? { x: op.transpose(x, -2, -1), text: `transposed ${showShape(x.shape)}` }
      : { x, text: showShape(x.shape) };
  const left = swap(a, options.transposeX);
  const right = swap(b, options.transposeY);
  return product(left.x, right.x, { call: "matmul", left: left.text, right: right.text });
}

function requireRanks(call: string, a: Tensor, b: Tensor, rank: number, form: string): void {
  expectTensors(call, a, b);
  if (a.rank === rank && b.rank === rank) return;
  throw new ShapeError(
    `Cannot ${call} ${showShape(a.shape)} with ${showShape(b.shape)}: both must be ${form}: ` +
      `got ranks ${a.rank} and ${b.rank}; use matmul for other ranks`,
  );
}

function plain(call: string, a: Tensor, b: Tensor): Tensor {
  return product(a, b, { call, left: showShape(a.shape), right: showShape(b.shape) });
}

/**
 * Product of two matrices; like {@linkcode matmul}, but nothing broadcasts.
 *
 * @param a `[m, k]`.
 * @param b `[k, n]`.
 * @returns `[m, n]` in the promoted dtype.
 * @throws {ShapeError} if an operand is not a matrix or the inner sizes differ.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { mm, tensor } from "../mod.ts";
 *
 * assertEquals(await mm(tensor([[1, 2]]), tensor([[3], [4]])).toArray(), [[11]]);
 * ```
 */
export function mm(a: Tensor, b: Tensor): Tensor {
  expectTensors("mm", a, b);
  requireRanks("mm", a, b, 2, "matrices");
  return plain("mm", a, b);
}

/**
 * Products of two batches of matrices, pair by pair; like {@linkcode matmul}, but nothing broadcasts.
 *
 * @param a `[b, m, k]`.
 * @param b `[b, k, n]`.
 * @returns `[b, m, n]` in the promoted dtype.
 * @throws {ShapeError} if an operand has another rank, or the batch or inner sizes differ.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { bmm, tensor } from "../mod.ts";
 *
 * const a = tensor([[[1, 2]], [[3, 4]]]);
 * assertEquals(await bmm(a, a.transpose(1, 2)).toArray(), [[[5]], [[25]]]);
 * ```
 */
export function bmm(a: Tensor, b: Tensor): Tensor {
  expectTensors("bmm", a, b);
  requireRanks("bmm", a, b, 3, "batches of matrices");
  if (a.shape[0] !== b.shape[0]) {
    throw new ShapeError(
      `Cannot bmm ${showShape(a.shape)} with ${showShape(b.shape)}: batch sizes must match: got ${
        a.shape[0]
      } and ${b.shape[0]}; use matmul to broadcast`,
    );
  }
  return plain("bmm", a, b);
}

/**
 * Inner product of two vectors.
 *
 * @param a `[n]`.
 * @param b `[n]`.
 * @returns Rank 0, in the promoted dtype; 0 for empty vectors.
 * @throws {ShapeError} if an operand is not a vector or the sizes differ.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { dot, tensor } from "../mod.ts";
 *
 * assertEquals(await dot(tensor([1, 2]), tensor([3, 4])).item(), 11);
 * ```
 */
export function dot(a: Tensor, b: Tensor): Tensor {
  expectTensors("dot", a, b);
  requireRanks("dot", a, b, 1, "vectors");
  return plain("dot", a, b);
}

/**
 * Products of every element of one tensor with every element of another, both flattened (Paddle).
 *
 * @param a Any shape, with n elements.
 * @param b Any shape, with m elements.
 * @returns `[n, m]` in the promoted dtype.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { outer, tensor } from "../mod.ts";
 *
 * assertEquals(await outer(tensor([1, 2]), tensor([3, 4])).toArray(), [[3, 4], [6, 8]]);
 * ```
 */
export function outer(a: Tensor, b: Tensor): Tensor {
  expectTensors("outer", a, b);
  return op.mul(op.reshape(a, [a.numel, 1]), op.reshape(b, [1, b.numel]));
}

const ADDMM = composite({
  name: "addmm",
  amp: "white",
  body: ([input, a, b, alpha, beta]) => {
    const scaled = op.mul(engine.call(MATMUL, [a, b]), alpha);
    return op.add(scaled, op.mul(input, beta));
  },
  samples: () => [
    { inputs: [{ shape: [4] }, { shape: [2, 3] }, { shape: [3, 4] }, 1, 1] },
    { inputs: [{ shape: [2, 4] }, { shape: [2, 3] }, { shape: [3, 4] }, 0.5, -2] },
  ],
});

/** Options of `addmm`. */
export interface AddmmOptions {
  /** Factor of the product. Default 1. */
  readonly alpha?: number;
  /** Factor of `input`. Default 1. */
  readonly beta?: number;
}

/**
 * `beta * input + alpha * (a @ b)`.
 *
 * @param input Broadcasts to `[m, n]`.
 * @param a `[m, k]`.
 * @param b `[k, n]`.
 * @returns `[m, n]` in the promoted dtype.
 * @throws {ShapeError} if `a` or `b` is not a matrix, the inner sizes differ, or `input` does not broadcast.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { addmm, tensor } from "../mod.ts";
 *
 * const a = tensor([[1, 2]]);
 * const b = tensor([[3], [4]]);
 * assertEquals(await addmm(tensor([100]), a, b, { alpha: 2 }).toArray(), [[122]]);
 * ```
 */
export function addmm(
  input: Tensor,
  a: Tensor,
  b: Tensor,
  options: AddmmOptions = {},
): Tensor {
  expectTensors("addmm", input, a, b);
  expectOptions("addmm", options);
  requireRanks("addmm", a, b, 2, "matrices");
  checkShapes(a.shape, b.shape, {
    call: "addmm",
    left: showShape(a.shape),
    right: showShape(b.shape),
  });
  requireFits("addmm", input.shape, [a.shape[0], b.shape[1]]);
  const operands: Operand[] = contractible("addmm", input, a, b);
  return engine.call(ADDMM, [...operands, options.alpha ?? 1, options.beta ?? 1]);
}

/** Throws unless what is added stretches to the shape of the product. */
function requireFits(call: string, shape: Shape, out: Shape): void {
  const met = tryBroadcast(shape, out);
  if (met !== null && sameShape(met, out)) return;
  throw new ShapeError(
    `Cannot ${call} ${showShape(shape)} to a product of shape ${
      showShape(out)
    }: what is added must ` +
      "broadcast to the product",
  );
}
