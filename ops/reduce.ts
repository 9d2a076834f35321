// Reductions over axes.
import { engine, type Meta, promote, reduction } from "../core/op.ts";
import { isInteger } from "../core/dtype.ts";
import * as k from "../core/ir/expr.ts";
import { normalizeAxes } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";

/** Which axes a reduction folds, and whether they stay with size 1. */
export interface ReduceOptions {
  readonly keepdim?: boolean;
}

/** Attrs of every reduction. */
export function reduceAttrs(
  name: string,
  x: Tensor,
  axis: number | readonly number[] | undefined,
  options: ReduceOptions,
): { axes: number[]; keepdim: boolean } {
  return { axes: normalizeAxes(name, axis, x.rank), keepdim: options.keepdim ?? false };
}

/** A gradient of the reduced shape, stretched over the operand's shape. */
export function expandReduced(
  g: Tensor,
  shape: readonly number[],
  attrs: Record<string, unknown>,
): Tensor {
  const axes = attrs.axes as readonly number[];
  const kept = shape.map((n, i) => (axes.includes(i) ? 1 : n));
  return op.expand(attrs.keepdim ? g : op.reshape(g, kept), shape);
}

const SUM = reduction({
  name: "sum",
  dtype: (name, metas: readonly Meta[], attrs) => {
    const r = promote(name, metas, attrs);
    // bool and narrow integers are counted in int64 (array API standard).
    return isInteger(r.out) || r.out === "bool" ? { compute: "int64", out: "int64" } : r;
  },
  init: (t) => [k.constant(0, t)],
  lift: ([x]) => [x],
  combine: ([a], [b]) => [k.add(a, b)],
  vjp: ([g], { shapes: [s], attrs }) => [expandReduced(g, s, attrs)],
  saves: "none",
  samples: () => [
    { inputs: [{ shape: [2, 3] }], attrs: { axes: [1], keepdim: false } },
    { inputs: [{ shape: [0, 3] }], attrs: { axes: [0], keepdim: true } },
  ],
});

/**
 * Sum over axes.
 *
 * @param x Any shape; integers and bools are summed in int64.
 * @param axis One axis, several, or none for all.
 * @returns `x`'s shape without the axes, or with size 1 there if `keepdim`. Nothing sums to 0.
 * @throws {ShapeError} if an axis is out of range or repeated.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { sum, tensor } from "../mod.ts";
 *
 * assertEquals(await sum(tensor([[1, 2], [3, 4]]), 0).toArray(), [4, 6]);
 * ```
 */
export function sum(
  x: Tensor,
  axis?: number | readonly number[],
  options: ReduceOptions = {},
): Tensor {
  return engine.call(SUM, [x], reduceAttrs("sum", x, axis, options));
}
