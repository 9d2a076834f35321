// Largest element or average of each window of each plane, and the gradients that go back. Windows slide;
// adaptive ones are left to rendered kernels. Float32 goes by vectors (max.ts, avg.ts).
import type { Fork } from "../../threads/pool.ts";
import { ModuleBuilder } from "../asm/mod.ts";
import {
  avgScratch,
  type Counts,
  emitAvgBackward,
  emitAvgForward,
  runAvgBackward,
  runAvgForward,
} from "./avg.ts";
import { clip, count, integers, named, planesOf, type PoolShape, SHAPE_ARGS } from "./emit.ts";
import { emitMaxForward, maxForwardScratch, runMaxForward } from "./max.ts";
import { plane, PlaneCalls, PLANES } from "./planes.ts";

/** Element types that have a kernel. */
export type PoolDType = "float32" | "float64";

/** The kernels of one element type. `scratch` is an address divisible by 16. */
export interface PoolKernels {
  /** Bytes of scratch memory that any of the kernels needs, on all threads together. */
  scratchBytes(shape: PoolShape): number;
  /** Planes [h, w] at `x` to values [oh, ow] at `y` and places (int32, row · w + column) at `mask`. */
  maxForward(shape: PoolShape, x: number, y: number, mask: number, scratch: number): void;
  /** Adds gradients at `g` to zeros at `dx` where `mask` says. */
  maxBackward(shape: PoolShape, g: number, mask: number, dx: number): void;
  /** Averages, which float32 alone has. */
  readonly average: AverageKernels | null;
}

/** `counts` are the elements of a window down and along. */
export interface AverageKernels {
  /** Planes [h, w] at `x` to averages [oh, ow] at `y`. */
  forward(
    shape: PoolShape,
    addresses: readonly [x: number, y: number, scratch: number],
    counts: readonly [Counts, Counts],
  ): void;
  /** Shares gradients at `g` out over `dx`. */
  backward(
    shape: PoolShape,
    addresses: readonly [g: number, dx: number, scratch: number],
    counts: readonly [Counts, Counts],
  ): void;
}

const ARGS = ["x", "y", "mask", ...SHAPE_ARGS] as const;

/** The float64 kernel, point by point. */
function writeForward(module: ModuleBuilder): void {
  const [type, shift] = ["f64", 3] as const;
  const f = module.func({ params: ARGS.map(() => "i32"), export: "maxForward" });
  const p = named(f, ARGS);
  const [plane, row, column, top, bottom, left, right, i, j, at, best, line] = integers(f, 12);
  const value = f.local(type);
  const largest = f.local(type);
  const bytes = f.local("i32");
  f.get(p.h).get(p.w).op("i32.mul").i32(shift).op("i32.shl").set(bytes);
  count(f, plane, p.planes, () => {
    count(f, row, p.oh, () => {
      clip(f, [row, p.sh, p.pt, p.kh, p.h], top, bottom);
      count(f, column, p.ow, () => {
        clip(f, [column, p.sw, p.pl, p.kw, p.w], left, right);
        f[type](-Infinity).set(largest);
        f.get(top).get(p.w).op("i32.mul").get(left).op("i32.add").set(best);
        f.get(top).set(i);
        f.while(i, bottom, 1, () => {
          f.get(i).get(p.w).op("i32.mul").set(line);
          f.get(left).set(j);
          f.while(j, right, 1, () => {
            f.get(line).get(j).op("i32.add").set(at);
            f.get(p.x).get(at).i32(shift).op("i32.shl").op("i32.add").mem(`${type}.load`).set(
              value,
            );
            // Larger, or the first NaN.
            f.get(value).get(largest).op(`${type}.gt`);
            f.get(value).get(value).op(`${type}.ne`).get(largest).get(largest).op(`${type}.eq`).op(
              "i32.and",
            );
            f.op("i32.or").if(() => {
              f.get(value).set(largest);
              f.get(at).set(best);
            });
          });
        });
        f.get(p.y).get(largest).mem(`${type}.store`);
        f.get(p.mask).get(best).mem("i32.store");
        f.increment(p.y, 1 << shift);
        f.increment(p.mask, 4);
      });
    });
    f.get(p.x).get(bytes).op("i32.add").set(p.x);
  });
}

function writeBackward(module: ModuleBuilder, dtype: PoolDType): void {
  const type = dtype === "float32" ? "f32" : "f64";
  const shift = dtype === "float32" ? 2 : 3;
  const f = module.func({
    params: ["i32", "i32", "i32", "i32", "i32", "i32"],
    export: "maxBackward",
  });
  const [planes, size, windows, g, mask, dx] = f.params;
  const [plane, i, target] = [f.local("i32"), f.local("i32"), f.local("i32")];
  const bytes = f.local("i32");
  f.get(size).i32(shift).op("i32.shl").set(bytes);
  f.get(dx).i32(0).get(bytes).get(planes).op("i32.mul").memoryFill();
  count(f, plane, planes, () => {
    count(f, i, windows, () => {
      f.get(dx).get(mask).mem("i32.load").i32(shift).op("i32.shl").op("i32.add").set(target);
      f.get(target).get(target).mem(`${type}.load`).get(g).mem(`${type}.load`).op(`${type}.add`)
        .mem(`${type}.store`);
      f.increment(g, 1 << shift);
      f.increment(mask, 4);
    });
    f.get(dx).get(bytes).op("i32.add").set(dx);
  });
}

/** Nanoseconds, roughly, of an element that is read or written: by vectors, and one by one. */
const VECTOR_NS = 0.5;
const SINGLE_NS = 1.5;

function foldCost({ planes, h, w, oh, ow, kh }: PoolShape): number {
  return planes * (h * w + oh * ow * kh) * VECTOR_NS;
}

/** Makes the kernels of an element type on a memory; with `fork`, planes are shared out over threads. */
export function createPool(
  memory: WebAssembly.Memory,
  dtype: PoolDType,
  fork: Fork | null = null,
): PoolKernels {
  const module = new ModuleBuilder({ ptr: "i32" });
  const shared = typeof SharedArrayBuffer !== "undefined" &&
    memory.buffer instanceof SharedArrayBuffer;
  module.importMemory("env", "memory", shared ? { shared, max: 65536 } : {});
  writeBackward(module, dtype);
  if (dtype === "float64") writeForward(module);
  else {
    emitMaxForward(module);
    emitAvgForward(module);
    emitAvgBackward(module);
  }
  const bytes = module.bytes();
  const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes), { env: { memory } });
  const calls = new PlaneCalls(memory, bytes, instance, fork);
  const element = dtype === "float64" ? 8 : 4;
  const maxBackward: PoolKernels["maxBackward"] = ({ planes, h, w, oh, ow }, g, mask, dx) =>
    calls.run("maxBackward", planes, planes * oh * ow * SINGLE_NS, () => [
      PLANES,
      h * w,
      oh * ow,
      plane(g, element * oh * ow),
      plane(mask, 4 * oh * ow),
      plane(dx, element * h * w),
    ]);
  if (dtype === "float64") {
    return {
      scratchBytes: () => 0,
      maxForward: (shape, x, y, mask) => {
        const { planes, h, w, oh, ow, kh, kw } = shape;
        calls.run("maxForward", planes, planes * oh * ow * kh * kw * SINGLE_NS, () => [
          plane(x, 8 * h * w),
          plane(y, 8 * oh * ow),
          plane(mask, 4 * oh * ow),
          ...planesOf(shape),
        ]);
      },
      maxBackward,
      average: null,
    };
  }
  return {
    scratchBytes: (shape) =>
      calls.scratchBytes(Math.max(maxForwardScratch(shape), avgScratch(shape))),
    maxForward: (shape, x, y, mask, scratch) =>
      runMaxForward(calls, shape, [x, y, mask, scratch], foldCost(shape)),
    maxBackward,
    average: {
      forward: (shape, addresses, counts) =>
        runAvgForward(calls, shape, addresses, counts, foldCost(shape)),
      backward: (shape, addresses, counts) =>
        runAvgBackward(calls, shape, addresses, counts, foldCost(shape)),
    },
  };
}
