// Copies of a tensor in memory of their own.
import { elementwise, engine } from "../core/op.ts";
import { expectTensors } from "../core/operands.ts";
import type { Tensor } from "../core/tensor.ts";
import { refuseComplex } from "./common.ts";

const CLONE = elementwise({
  name: "clone",
  dtype: (name, [x]) => {
    refuseComplex(name, x.dtype);
    return { compute: x.dtype, out: x.dtype };
  },
  scalar: ([x]) => x,
  vjp: ([g]) => [g],
  saves: "none",
  samples: () => [
    { inputs: [{ shape: [2, 3] }] },
    { inputs: [{ values: [0, -0, NaN, Infinity] }], noGrad: true },
    { inputs: [{ shape: [0, 3] }] },
    { inputs: [{ values: [1, 0], dtype: "bool" }], noGrad: true },
  ],
});

/**
 * A copy in memory of its own, dense in row-major order. Gradients flow through; `detach()` first for a
 * copy that they do not reach.
 *
 * @param x Any shape and real dtype.
 * @returns The shape and dtype of `x`.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { clone, tensor } from "../mod.ts";
 *
 * const x = tensor([1, 2]);
 * const y = clone(x);
 * x.fill_(0);
 * assertEquals(await y.toArray(), [1, 2]);
 * ```
 */
export function clone(x: Tensor): Tensor {
  return engine.call(CLONE, [x]);
}

/**
 * `x` itself if its elements lie dense in row-major order, else a copy that does.
 *
 * @param x Any shape and real dtype.
 * @returns The shape and dtype of `x`.
 * @example
 * ```ts
 * import { assert } from "jsr:@std/assert@1";
 * import { contiguous, zeros } from "../mod.ts";
 *
 * assert(contiguous(zeros([2, 3]).T).isContiguous);
 * ```
 */
export function contiguous(x: Tensor): Tensor {
  expectTensors("contiguous", x);
  return x.isContiguous ? x : clone(x);
}
