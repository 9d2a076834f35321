// Largest float32 of each window with vectors: each line is folded along its windows, then the folded lines
// of a window are folded together. Other element types are in pool.ts.
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

const ARGS = ["x", "y", "mask", "line", "values", "places", "pitch", ...SHAPE_ARGS] as const;

/** Takes `v` at `place` over `best` at `where` wherever it is larger, or the first NaN. Ties keep the old. */
function take(
  f: FunctionBuilder,
  [v, place]: readonly [Local, Local],
  [best, where, mask]: readonly [Local, Local, Local],
): void {
  // best is a number, and v is not at most best.
  f.get(best).get(best).op("f32x4.eq").get(v).get(best).op("f32x4.le").op("v128.andnot").set(mask);
  f.get(v).get(best).get(mask).op("v128.bitselect").set(best);
  f.get(place).get(where).get(mask).op("v128.bitselect").set(where);
}

/** Emits the export `maxForward`. */
export function emitMaxForward(module: ModuleBuilder): void {
  const f = module.func({ params: ARGS.map(() => "i32"), export: "maxForward" });
  const p = named(f, ARGS);
  const [plane, row, i, o, from, at, value, place, top, bottom, left] = integers(f, 11);
  const [best, where, mask, v, here, columns, by, one] = Array.from(
    { length: 8 },
    () => f.local("v128"),
  );
  const lineBytes = f.local("i32");
  f.get(p.w).i32(2).op("i32.shl").set(lineBytes);
  f.i32(1).op("i32x4.splat").set(one);

  /** Folds the padded line along its windows, to one vector after the other. */
  const foldLine = (load: (at: Local) => void): void => {
    f.get(p.line).set(from);
    f.i32(0).op("i32x4.splat").i32(1).lane("i32x4.replace_lane", 1);
    f.i32(2).lane("i32x4.replace_lane", 2).i32(3).lane("i32x4.replace_lane", 3);
    f.get(p.sw).op("i32x4.splat").op("i32x4.mul").get(p.pl).op("i32x4.splat").op("i32x4.sub");
    f.set(columns);
    f.i32(0).set(o);
    f.while(o, p.ow, 4, () => {
      // The first element inside stands for a window of nothing but -Infinity.
      f.f32(-Infinity).op("f32x4.splat").set(best);
      f.get(columns).i32(0).op("i32x4.splat").op("i32x4.max_s").set(where);
      f.get(columns).set(here);
      f.get(from).set(at);
      count(f, i, p.kw, () => {
        load(at);
        f.set(v);
        take(f, [v, here], [best, where, mask]);
        f.get(here).get(one).op("i32x4.add").set(here);
        f.increment(at, 4);
      });
      f.get(value).get(best).mem("v128.store").get(place).get(where).mem("v128.store");
      f.increment(value, 16).increment(place, 16);
      f.get(p.sw).i32(4).op("i32.shl").get(from).op("i32.add").set(from);
      f.get(p.sw).i32(2).op("i32.shl").op("i32x4.splat").get(columns).op("i32x4.add").set(columns);
    });
  };

  /** Folds the lines of the windows of an output row. */
  const foldRow = (): void => {
    clip(f, [row, p.sh, p.pt, p.kh, p.h], top, bottom);
    f.get(p.ow).set(left);
    f.i32(0).set(o);
    f.while(o, p.ow, 4, () => {
      f.get(top).get(p.pitch).op("i32.mul").get(o).i32(2).op("i32.shl").op("i32.add").set(at);
      f.get(top).get(p.w).op("i32.mul").op("i32x4.splat").set(by);
      f.get(p.values).get(at).op("i32.add").mem("v128.load").set(best);
      f.get(p.places).get(at).op("i32.add").mem("v128.load").get(by).op("i32x4.add").set(where);
      f.get(top).i32(1).op("i32.add").set(i);
      f.while(i, bottom, 1, () => {
        f.get(at).get(p.pitch).op("i32.add").set(at);
        f.get(by).get(p.w).op("i32x4.splat").op("i32x4.add").set(by);
        f.get(p.values).get(at).op("i32.add").mem("v128.load").set(v);
        f.get(p.places).get(at).op("i32.add").mem("v128.load").get(by).op("i32x4.add").set(here);
        take(f, [v, here], [best, where, mask]);
      });
      storeUpTo(f, p.y, best, left);
      storeUpTo(f, p.mask, where, left);
      f.increment(p.y, 16).increment(p.mask, 16).increment(left, -4);
    });
    // The last vector may have been a part of one.
    f.get(o).get(p.ow).op("i32.sub").i32(2).op("i32.shl").set(at);
    f.get(p.y).get(at).op("i32.sub").set(p.y);
    f.get(p.mask).get(at).op("i32.sub").set(p.mask);
  };

  count(f, plane, p.planes, () => {
    f.get(p.values).set(value);
    f.get(p.places).set(place);
    count(f, row, p.h, () => {
      f.get(p.line).get(p.pl).i32(2).op("i32.shl").op("i32.add").get(p.x).get(lineBytes)
        .memoryCopy();
      f.get(p.x).get(lineBytes).op("i32.add").set(p.x);
      byStride(f, p.sw, foldLine);
    });
    count(f, row, p.oh, foldRow);
  });
}

/** Bytes of scratch memory that {@linkcode runMaxForward} needs. */
export function maxForwardScratch(shape: PoolShape): number {
  return 4 * (paddedLine(shape) + 2 * shape.h * wholeVectors(shape.ow));
}

/** Runs the export on planes at `x`; `scratch` is divisible by 16. */
export function runMaxForward(
  calls: PlaneCalls,
  shape: PoolShape,
  [x, y, mask, scratch]: readonly number[],
  ns: number,
): void {
  const { h, w, oh, ow } = shape;
  const line = paddedLine(shape);
  const pitch = 4 * wholeVectors(ow);
  calls.run("maxForward", shape.planes, ns, (slots) => {
    const stride = strideOf(maxForwardScratch(shape));
    const memory = calls.memory.buffer;
    for (let slot = 0; slot < slots; slot++) {
      new Float32Array(memory, scratch + slot * stride, line).fill(-Infinity);
    }
    const own = (base: number) => ({ base, slot: stride });
    const values = scratch + 4 * line;
    return [
      plane(x, 4 * h * w),
      plane(y, 4 * oh * ow),
      plane(mask, 4 * oh * ow),
      own(scratch),
      own(values),
      own(values + h * pitch),
      pitch,
      ...planesOf(shape),
    ];
  });
}
