// Parts that the pooling kernels share: loops, clipped windows, reading a line with a step. Not here: the
// kernels.
import type { Arg } from "../../threads/job.ts";
import type { FunctionBuilder, Local } from "../asm/mod.ts";
import { PLANES } from "./planes.ts";

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

/** Names of the parameters that describe a shape, in the order of {@linkcode planesOf}. */
export const SHAPE_ARGS = [
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

/** The values of {@linkcode SHAPE_ARGS} for a part of the planes. */
export function planesOf(s: PoolShape): (number | Arg)[] {
  return [
    PLANES,
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
  ];
}

/** The parameters of a function by name. */
export function named<Name extends string>(
  f: FunctionBuilder,
  names: readonly Name[],
): Record<Name, Local> {
  return Object.fromEntries(names.map((name, i) => [name, f.params[i]])) as Record<Name, Local>;
}

/** So many i32 locals. */
export function integers(f: FunctionBuilder, n: number): Local[] {
  return Array.from({ length: n }, () => f.local("i32"));
}

/** Counts `counter` from 0 to `end` - 1. */
export function count(f: FunctionBuilder, counter: Local, end: Local, body: () => void): void {
  f.i32(0).set(counter);
  f.while(counter, end, 1, body);
}

/** start = max(0, o · stride - pad) and end = min(size, o · stride - pad + kernel). */
export function clip(
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

/** Outputs of a line, rounded up to whole vectors of four. */
export function wholeVectors(ow: number): number {
  return Math.ceil(ow / 4) * 4;
}

/** Elements of a line with its padding, as far as whole vectors of outputs read. */
export function paddedLine({ w, ow, kw, strideW, padLeft }: PoolShape): number {
  return Math.ceil(Math.max(padLeft + w, strideW * wholeVectors(ow) + kw + 8) / 4) * 4;
}

const EVEN_WORDS = [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27];

/**
 * `body` once for each way to read four elements `stride` apart: it gets an emitter that pushes those at an
 * address. Only the one for the stride runs.
 */
export function byStride(
  f: FunctionBuilder,
  stride: Local,
  body: (load: (at: Local) => void) => void,
): void {
  const at = f.local("i32");
  const step = f.local("i32");
  const any = (from: Local): void => {
    f.get(from).tee(at).mem("v128.load32_zero");
    for (let lane = 1; lane < 4; lane++) {
      // The vector is on the stack below the address that the next lane is read from.
      const vector = f.local("v128");
      f.set(vector).get(at).get(step).op("i32.add").tee(at);
      f.get(vector).memLane("v128.load32_lane", lane);
    }
  };
  f.get(stride).i32(2).op("i32.shl").set(step);
  f.get(stride).i32(1).op("i32.eq").if(
    () => body((from) => f.get(from).mem("v128.load", { align: 2 })),
    () =>
      void f.get(stride).i32(2).op("i32.eq").if(
        () =>
          body((from) => {
            f.get(from).mem("v128.load", { align: 2 });
            f.get(from).mem("v128.load", { align: 2, offset: 16 }).shuffle(EVEN_WORDS);
          }),
        () => body(any),
      ),
  );
}

/** Stores a vector at `to`, or its first `left` lanes if they are fewer than four. */
export function storeUpTo(f: FunctionBuilder, to: Local, vector: Local, left: Local): void {
  f.get(left).i32(4).op("i32.ge_s").if(
    () => void f.get(to).get(vector).mem("v128.store", { align: 2 }),
    () => {
      f.get(to).get(vector).memLane("v128.store32_lane", 0);
      for (let lane = 1; lane < 3; lane++) {
        f.get(left).i32(lane).op("i32.gt_s").if(() =>
          void f.get(to).get(vector).memLane("v128.store32_lane", lane, { offset: 4 * lane })
        );
      }
    },
  );
}
