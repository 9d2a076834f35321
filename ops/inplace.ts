// In-place arithmetic: the results of ordinary ops written over the tensor, with versions and gradients
// kept right by the engine. Writing a part is setAt, in indexing.ts.
import { allOps, engine, type Op, type Operand } from "../core/op.ts";
import { expectTensors } from "../core/operands.ts";
import type { Tensor } from "../core/tensor.ts";
import { COPY } from "./placing.ts";

const named = (name: string): Op => allOps().get(name) as Op;

function into(name: string, x: Tensor, others: readonly Operand[], attrs = {}): Tensor {
  expectTensors(`${name} in place`, x);
  engine.callInto(named(name), [x, ...others], attrs, [x]);
  return x;
}

/**
 * x += y, in place.
 *
 * @param x Changed in place.
 * @param y Tensor or number that broadcasts to `x`'s shape.
 * @returns `x`.
 * @throws {ShapeError} if the result would have another shape.
 * @throws {DTypeError} if the result would have another dtype.
 * @throws {GradError} if `x` is a leaf that requires grad, outside of noGrad.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { add_, tensor } from "../mod.ts";
 *
 * const x = tensor([1, 2]);
 * add_(x, 3);
 * assertEquals(await x.toArray(), [4, 5]);
 * ```
 */
export function add_(x: Tensor, y: Operand): Tensor {
  return into("add", x, [y]);
}

/**
 * x -= y, in place; see {@linkcode add_}.
 *
 * @throws {ShapeError} if the result would have another shape.
 * @throws {DTypeError} if the result would have another dtype.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { sub_, tensor } from "../mod.ts";
 *
 * assertEquals(await sub_(tensor([1, 2]), 3).toArray(), [-2, -1]);
 * ```
 */
export function sub_(x: Tensor, y: Operand): Tensor {
  return into("sub", x, [y]);
}

/**
 * x *= y, in place; see {@linkcode add_}.
 *
 * @throws {ShapeError} if the result would have another shape.
 * @throws {DTypeError} if the result would have another dtype.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { mul_, tensor } from "../mod.ts";
 *
 * assertEquals(await mul_(tensor([1, 2]), 3).toArray(), [3, 6]);
 * ```
 */
export function mul_(x: Tensor, y: Operand): Tensor {
  return into("mul", x, [y]);
}

/**
 * x /= y, in place; see {@linkcode add_}. Integers cannot be divided in place, since quotients are floats.
 *
 * @throws {ShapeError} if the result would have another shape.
 * @throws {DTypeError} if the result would have another dtype.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { div_, tensor } from "../mod.ts";
 *
 * assertEquals(await div_(tensor([1, 2]), 2).toArray(), [0.5, 1]);
 * ```
 */
export function div_(x: Tensor, y: Operand): Tensor {
  return into("div", x, [y]);
}

/**
 * Every element becomes `value`, in place.
 *
 * @param x Changed in place.
 * @param value A number, or a tensor of rank 0; converted to `x`'s dtype.
 * @returns `x`.
 * @throws {GradError} if `x` is a leaf that requires grad, outside of noGrad.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { fill_, tensor } from "../mod.ts";
 *
 * assertEquals(await fill_(tensor([1, 2]), 7).toArray(), [7, 7]);
 * ```
 */
export function fill_(x: Tensor, value: Operand): Tensor {
  expectTensors("fill_", x);
  engine.callInto(COPY, [x, value], {}, [x]);
  return x;
}

/**
 * Every element becomes 0, in place.
 *
 * @throws {GradError} if `x` is a leaf that requires grad, outside of noGrad.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { tensor, zero_ } from "../mod.ts";
 *
 * assertEquals(await zero_(tensor([1, 2])).toArray(), [0, 0]);
 * ```
 */
export function zero_(x: Tensor): Tensor {
  return fill_(x, 0);
}

/**
 * The elements become those of another tensor, in place.
 *
 * @param x Changed in place.
 * @param source Broadcasts to `x`'s shape; converted to its dtype.
 * @returns `x`.
 * @throws {ShapeError} if the source does not broadcast to `x`'s shape.
 * @throws {GradError} if `x` is a leaf that requires grad, outside of noGrad.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { copy_, tensor, zeros } from "../mod.ts";
 *
 * assertEquals(await copy_(zeros([2, 2]), tensor([1, 2])).toArray(), [[1, 2], [1, 2]]);
 * ```
 */
export function copy_(x: Tensor, source: Operand): Tensor {
  return fill_(x, source);
}

/**
 * Holds every element within bounds, in place; either bound may be left out.
 *
 * @throws {ShapeError} if the result would have another shape.
 * @throws {DTypeError} if the result would have another dtype.
 * @throws {GradError} if `x` is a leaf that requires grad, outside of noGrad.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { clip_, tensor } from "../mod.ts";
 *
 * assertEquals(await clip_(tensor([-5, 0.5, 5]), -1, 1).toArray(), [-1, 0.5, 1]);
 * ```
 */
export function clip_(x: Tensor, min?: Operand, max?: Operand): Tensor {
  expectTensors("clip_", x);
  const bounds = [min, max].filter((b) => b !== undefined);
  if (bounds.length === 0) return x;
  return into("clip", x, bounds, { low: min !== undefined, high: max !== undefined });
}
