// Largest element of each window of each plane, with its place, and the gradient that goes back there. Windows slide;
// adaptive ones and averages are left to rendered kernels.
import { type FunctionBuilder, type Local, ModuleBuilder } from "../asm/mod.ts";

/** Element types that have a kernel. */
export type PoolDType = "float32" | "float64";

/** How windows lie on a plane. */
export interface PoolShape {
  readonly planes: number;
  readonly h: number;
  readonly w: number;
  readonly oh: number;
  readonly ow: number;
  readonly kh: number;
  readonly kw: number;
  readonly strideH: number;
  readonly strideW: number;
  readonly padTop: number;
  readonly padLeft: number;
}

type Forward = (...numbers: number[]) => void;

/** The kernels of one element type. */
export interface PoolKernels {
  /** Planes [h, w] at `x` to values [oh, ow] at `y` and places (int32, row · w + column) at `mask`. */
  forward(shape: PoolShape, x: number, y: number, mask: number): void;
  /** Adds gradients at `g` to zeros at `dx` where `mask` says. */
  backward(
    planes: number,
    size: number,
    windows: number,
    g: number,
    mask: number,
    dx: number,
  ): void;
}

const ARGS = [
  "x",
  "y",
  "mask",
  "planes",
  "h",
  "w",
  "oh",
  "ow",
  "kh",
  "kw",
  "sh",
  "sw",
  "pt",
  "pl",
] as const;

/** Counts `counter` from 0 to `end` - 1. */
function count(f: FunctionBuilder, counter: Local, end: Local, body: () => void): void {
  f.i32(0).set(counter);
  f.while(counter, end, 1, body);
}

/** start = max(0, o · stride - pad) and end = min(size, o · stride - pad + kernel). */
function clip(
  f: FunctionBuilder,
  [o, stride, pad, kernel, size]: readonly Local[],
  start: Local,
  end: Local,
): void {
  f.get(o).get(stride).op("i32.mul").get(pad).op("i32.sub").set(start);
  f.get(start).get(kernel).op("i32.add").set(end);
  f.get(end).get(size).get(end).get(size).op("i32.lt_s").op("select").set(end);
  f.get(start).i32(0).get(start).i32(0).op("i32.gt_s").op("select").set(start);
}

function writeForward(module: ModuleBuilder, dtype: PoolDType): void {
  const type = dtype === "float32" ? "f32" : "f64";
  const shift = dtype === "float32" ? 2 : 3;
  const f = module.func({ params: ARGS.map(() => "i32"), export: "forward" });
  const p = Object.fromEntries(ARGS.map((name, i) => [name, f.params[i]])) as Record<
    typeof ARGS[number],
    Local
  >;
  const [plane, row, column, top, bottom, left, right, i, j, at, best, line] = Array.from(
    { length: 12 },
    () => f.local("i32"),
  );
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
  const f = module.func({ params: ["i32", "i32", "i32", "i32", "i32", "i32"], export: "backward" });
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

/** Makes the kernels of an element type on a memory. */
export function createPool(memory: WebAssembly.Memory, dtype: PoolDType): PoolKernels {
  const module = new ModuleBuilder({ ptr: "i32" });
  const shared = typeof SharedArrayBuffer !== "undefined" &&
    memory.buffer instanceof SharedArrayBuffer;
  module.importMemory("env", "memory", shared ? { shared, max: 65536 } : {});
  writeForward(module, dtype);
  writeBackward(module, dtype);
  const { exports } = new WebAssembly.Instance(module.compile(), { env: { memory } });
  const forward = exports.forward as Forward;
  const backward = exports.backward as Forward;
  return {
    forward(s, x, y, mask) {
      forward(
        x,
        y,
        mask,
        s.planes,
        s.h,
        s.w,
        s.oh,
        s.ow,
        s.kh,
        s.kw,
        s.strideH,
        s.strideW,
        s.padTop,
        s.padLeft,
      );
    },
    backward(planes, size, windows, g, mask, dx) {
      backward(planes, size, windows, g, mask, dx);
    },
  };
}
