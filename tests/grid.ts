// Plain arrays of numbers with a shape, for naive formulas that tests compare with. Not a test itself.
import { assertEquals } from "jsr:@std/assert@1";
import type { DType } from "../core/dtype.ts";
import type { Tensor } from "../core/tensor.ts";
import { tensor } from "../mod.ts";

/** Numbers in row-major order. */
export interface Grid {
  readonly shape: readonly number[];
  readonly values: readonly number[];
}

/** The number of elements. */
export function count(shape: readonly number[]): number {
  return shape.reduce((n, s) => n * s, 1);
}

/** A grid from a function of coordinates. */
export function grid(
  shape: readonly number[],
  f: (coords: readonly number[], position: number) => number,
): Grid {
  const values = Array.from({ length: count(shape) }, (_, i) => f(coordsOf(shape, i), i));
  return { shape, values };
}

/** Coordinates of a position. */
export function coordsOf(shape: readonly number[], position: number): number[] {
  const coords = new Array<number>(shape.length);
  let rest = position;
  for (let i = shape.length - 1; i >= 0; i--) {
    coords[i] = rest % shape[i];
    rest = Math.floor(rest / shape[i]);
  }
  return coords;
}

/** The element at coordinates; axes of size 1 take any coordinate. */
export function at(g: Grid, coords: readonly number[]): number {
  let position = 0;
  g.shape.forEach((n, i) => {
    position = position * n + (n === 1 ? 0 : coords[coords.length - g.shape.length + i]);
  });
  return g.values[position];
}

/** Repeatable numbers in -1 … 1 with few digits, so that float32 sums of products stay near exact. */
export function noise(shape: readonly number[], seed = 1): Grid {
  let s = (seed * 2654435761) >>> 0;
  return grid(shape, () => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    return Math.round((s / 2 ** 32) * 256 - 128) / 128;
  });
}

/** The same as a tensor; float32 unless another dtype is named. */
export function toTensor(g: Grid, dtype?: DType, place?: string): Tensor {
  return tensor(g.values as number[], { dtype, place }).reshape(g.shape);
}

/** Throws unless the tensor has the grid's shape and its values up to a tolerance. */
export function assertGrid(actual: Tensor, expected: Grid, tolerance = 1e-5): void {
  assertEquals(actual.shape, expected.shape, "shape");
  const values = Array.from(actual.dataSync() as ArrayLike<number | bigint>, Number);
  const scale = Math.max(1, ...expected.values.filter(Number.isFinite).map(Math.abs));
  values.forEach((v, i) => {
    const e = expected.values[i];
    const same = Number.isNaN(e)
      ? Number.isNaN(v)
      : v === e || Math.abs(v - e) <= tolerance * scale;
    if (!same) {
      const where = coordsOf(expected.shape, i).join(", ");
      throw new Error(`element [${where}] is ${v}, expected ${e} (up to ${tolerance * scale})`);
    }
  });
}
