// Average float32 of each window, and its gradient, with vectors: lines of a window are added to one line,
// which is added along the windows; the gradient goes the other way.
import type { Arg } from "../../threads/job.ts";
import type { FunctionBuilder, Local, ModuleBuilder } from "../asm/mod.ts";
import {
  byStride,
  clip,
  count,
  integers,
  named,
  paddedLine,
  planesOf,
  type PoolShape,
  SHAPE_ARGS,
  storeUpTo,
  wholeVectors,
} from "./emit.ts";
import { plane, type PlaneCalls, strideOf } from "./planes.ts";

const FORWARD = ["x", "y", "line", "rowCounts", "columnCounts", ...SHAPE_ARGS] as const;
const BACKWARD = [
  "g",
  "dx",
  "line",
  "lineBytes",
  "rowCounts",
  "columnCounts",
  ...SHAPE_ARGS,
] as const;

/** Adds `n` floats at `from` to those at `to`; both are moved past them. */
function addLine(f: FunctionBuilder, to: Local, from: Local, n: Local): void {
  const left = f.local("i32");
  const step = (
    bytes: number,
    load: "v128.load" | "f32.load",
    add: "f32x4.add" | "f32.add",
  ): void => {
    f.get(to).get(to).mem(load, { align: 2 }).get(from).mem(load, { align: 2 }).op(add);
    f.mem(load === "v128.load" ? "v128.store" : "f32.store", { align: 2 });
    f.increment(to, bytes).increment(from, bytes);
  };
  const end = f.local("i32");
  f.get(n).i32(2).op("i32.shr_u").set(end);
  count(f, left, end, () => step(16, "v128.load", "f32x4.add"));
  f.get(n).i32(3).op("i32.and").set(end);
  count(f, left, end, () => step(4, "f32.load", "f32.add"));
}

/** Emits the export `avgForward`. */
export function emitAvgForward(module: ModuleBuilder): void {
  const f = module.func({ params: FORWARD.map(() => "i32"), export: "avgForward" });
  const p = named(f, FORWARD);
  const [plane, row, i, o, from, to, at, top, bottom, left, counts, bytes] = integers(f, 12);
  const [sum, rows] = [f.local("v128"), f.local("v128")];
  f.get(p.w).i32(2).op("i32.shl").set(bytes);
  /** The line of the plane that `i` counts. */
  const lineAt = (index: Local) => f.get(p.x).get(index).get(bytes).op("i32.mul").op("i32.add");
  const inside = () => f.get(p.line).get(p.pl).i32(2).op("i32.shl").op("i32.add");

  const foldLine = (load: (at: Local) => void): void => {
    f.get(p.line).set(from);
    f.get(p.columnCounts).set(counts);
    f.get(p.ow).set(left);
    f.i32(0).set(o);
    f.while(o, p.ow, 4, () => {
      f.i32(0).op("i32x4.splat").set(sum);
      f.get(from).set(at);
      count(f, i, p.kw, () => {
        load(at);
        f.get(sum).op("f32x4.add").set(sum);
        f.increment(at, 4);
      });
      f.get(sum).get(counts).mem("v128.load").get(rows).op("f32x4.mul").op("f32x4.div").set(sum);
      storeUpTo(f, p.y, sum, left);
      f.increment(p.y, 16).increment(counts, 16).increment(left, -4);
      f.get(p.sw).i32(4).op("i32.shl").get(from).op("i32.add").set(from);
    });
    f.get(p.y).get(o).get(p.ow).op("i32.sub").i32(2).op("i32.shl").op("i32.sub").set(p.y);
  };

  count(f, plane, p.planes, () => {
    count(f, row, p.oh, () => {
      clip(f, [row, p.sh, p.pt, p.kh, p.h], top, bottom);
      inside();
      lineAt(top).get(bytes).memoryCopy();
      f.get(top).i32(1).op("i32.add").set(i);
      f.while(i, bottom, 1, () => {
        inside().set(to);
        lineAt(i).set(from);
        addLine(f, to, from, p.w);
      });
      f.get(p.rowCounts).get(row).i32(2).op("i32.shl").op("i32.add").mem("v128.load32_splat");
      f.set(rows);
      byStride(f, p.sw, foldLine);
    });
    lineAt(p.h).set(p.x);
  });
}

/** Emits the export `avgBackward`. */
export function emitAvgBackward(module: ModuleBuilder): void {
  const f = module.func({ params: BACKWARD.map(() => "i32"), export: "avgBackward" });
  const p = named(f, BACKWARD);
  const [plane, row, i, o, from, to, at, top, bottom, bytes] = integers(f, 10);
  const [part, rows] = [f.local("f32"), f.local("f32")];
  f.get(p.w).i32(2).op("i32.shl").set(bytes);
  const lineAt = (index: Local) => f.get(p.dx).get(index).get(bytes).op("i32.mul").op("i32.add");
  count(f, plane, p.planes, () => {
    f.get(p.dx).i32(0).get(bytes).get(p.h).op("i32.mul").memoryFill();
    count(f, row, p.oh, () => {
      clip(f, [row, p.sh, p.pt, p.kh, p.h], top, bottom);
      f.get(p.rowCounts).get(row).i32(2).op("i32.shl").op("i32.add").mem("f32.load").set(rows);
      f.get(p.line).i32(0).get(p.lineBytes).memoryFill();
      f.get(p.line).set(from);
      count(f, o, p.ow, () => {
        f.get(p.g).mem("f32.load");
        f.get(p.columnCounts).get(o).i32(2).op("i32.shl").op("i32.add").mem("f32.load");
        f.get(rows).op("f32.mul").op("f32.div").set(part);
        f.increment(p.g, 4);
        f.get(from).set(at);
        count(f, i, p.kw, () => {
          f.get(at).get(at).mem("f32.load").get(part).op("f32.add").mem("f32.store");
          f.increment(at, 4);
        });
        f.get(p.sw).i32(2).op("i32.shl").get(from).op("i32.add").set(from);
      });
      f.get(top).set(i);
      f.while(i, bottom, 1, () => {
        lineAt(i).set(to);
        f.get(p.line).get(p.pl).i32(2).op("i32.shl").op("i32.add").set(from);
        addLine(f, to, from, p.w);
      });
    });
    lineAt(p.h).set(p.dx);
  });
}

/** Elements of each window along one axis. */
export type Counts = (window: number) => number;

/** Bytes of scratch memory that both kernels need. */
export function avgScratch(shape: PoolShape): number {
  return 4 * (paddedLine(shape) + wholeVectors(shape.ow) + shape.oh);
}

/** Writes the counts and clears the line of every thread; gives the addresses of the line and of both counts. */
function prepare(
  memory: WebAssembly.Memory,
  shape: PoolShape,
  scratch: number,
  [rows, columns]: readonly [Counts, Counts],
  slots: number,
): [line: Arg, rowCounts: Arg, columnCounts: Arg] {
  const line = paddedLine(shape);
  const width = wholeVectors(shape.ow);
  const stride = strideOf(avgScratch(shape));
  const first = new Float32Array(memory.buffer, scratch, avgScratch(shape) / 4);
  first.fill(0, 0, line);
  // Lanes past the last window are divided too, by anything.
  for (let i = 0; i < width; i++) first[line + i] = i < shape.ow ? columns(i) : 1;
  for (let i = 0; i < shape.oh; i++) first[line + width + i] = rows(i);
  for (let slot = 1; slot < slots; slot++) {
    new Float32Array(memory.buffer, scratch + slot * stride, first.length).set(first);
  }
  const own = (base: number) => ({ base, slot: stride });
  return [own(scratch), own(scratch + 4 * (line + width)), own(scratch + 4 * line)];
}

/** Runs the export `avgForward` on planes at `x`; `scratch` is divisible by 16. */
export function runAvgForward(
  calls: PlaneCalls,
  shape: PoolShape,
  [x, y, scratch]: readonly number[],
  counts: readonly [Counts, Counts],
  ns: number,
): void {
  const { planes, h, w, oh, ow } = shape;
  calls.run("avgForward", planes, ns, (slots) => [
    plane(x, 4 * h * w),
    plane(y, 4 * oh * ow),
    ...prepare(calls.memory, shape, scratch, counts, slots),
    ...planesOf(shape),
  ]);
}

/** Runs the export `avgBackward` from gradients at `g`; `scratch` is divisible by 16. */
export function runAvgBackward(
  calls: PlaneCalls,
  shape: PoolShape,
  [g, dx, scratch]: readonly number[],
  counts: readonly [Counts, Counts],
  ns: number,
): void {
  const { planes, h, w, oh, ow } = shape;
  calls.run("avgBackward", planes, ns, (slots) => {
    const [line, rows, columns] = prepare(calls.memory, shape, scratch, counts, slots);
    const gradients = [plane(g, 4 * oh * ow), plane(dx, 4 * h * w)];
    return [...gradients, line, 4 * paddedLine(shape), rows, columns, ...planesOf(shape)];
  });
}
