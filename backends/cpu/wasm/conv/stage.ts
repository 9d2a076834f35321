// Staging: copies a window of an image with its border of zeros, columns split by their remainder
// modulo the stride. After it, every tap of every output position is one addition away, in range,
// and neighbouring positions are neighbours in memory, whatever padding, stride and dilation are.

import type { FunctionBuilder, Local, ModuleBuilder } from "../asm/mod.ts";
import type { ElementSpec } from "../gemm/spec.ts";

/**
 * Emits the staging function. Parameters, of pointer width: to, planePitch, pitch (bytes), from,
 * plane (bytes), height, width, channels, rowOrigin, rows, columnOrigin, phases, phaseWidth.
 */
export function emitStage(module: ModuleBuilder, spec: ElementSpec): FunctionBuilder {
  const ptr = module.ptr;

  // count zeros at `to`.
  const zeros = module.func({ params: [ptr, ptr] });
  {
    const [to, count] = zeros.params;
    const end = zeros.local(ptr);
    zeros.address(to, count, spec.shift).set(end);
    zeros.block((done) =>
      zeros.loop((again) => {
        zeros.get(to).get(end).ptrOp("ge_u").brIf(done);
        zeros.get(to);
        if (spec.size === 4) zeros.i32(0).mem("i32.store");
        else zeros.i64(0).mem("i64.store");
        zeros.increment(to, spec.size).br(again);
      })
    );
  }

  // count elements, `step` bytes apart, to adjacent places.
  const line = module.func({ params: [ptr, ptr, ptr, ptr] });
  {
    const [to, from, step, count] = line.params;
    line.get(step).ptrConst(spec.size).ptrOp("eq").if(() => {
      line.block((done) =>
        line.loop((again) => {
          line.get(count).ptrConst(spec.lanes).ptrOp("lt_s").brIf(done);
          line.get(to).get(from).mem("v128.load", { align: spec.shift });
          line.mem("v128.store", { align: spec.shift });
          line.increment(to, 16).increment(from, 16).increment(count, -spec.lanes).br(again);
        })
      );
    });
    line.block((done) =>
      line.loop((again) => {
        line.get(count).ptrConst(0).ptrOp("le_s").brIf(done);
        line.get(to).get(from).mem(spec.loadBits).mem(spec.storeBits);
        line.get(from).get(step).ptrOp("add").set(from);
        line.increment(to, spec.size).increment(count, -1).br(again);
      })
    );
  }

  const f = module.func({ params: Array(13).fill(ptr) });
  const [to, planePitch, pitch, from, plane, height, width] = f.params;
  const [channels, rowOrigin, rows, columnOrigin, phases, phaseWidth] = f.params.slice(7);
  const locals = Array.from({ length: 10 }, () => f.local(ptr));
  const [phase, first, last, channel, row, target, source, at, step, origin] = locals;

  // The first j of a phase whose column origin + j·phases is at least `limit`, within the line.
  const firstAtLeast = (limit: () => void, result: Local) => {
    limit();
    f.get(origin).ptrOp("sub").get(phases).ptrOp("add").ptrConst(1).ptrOp("sub");
    f.get(phases).ptrOp("div_s").set(result);
    f.get(result).ptrConst(0).ptrOp("lt_s").if(() => f.ptrConst(0).set(result));
    f.get(result).get(phaseWidth).ptrOp("gt_s").if(() => f.get(phaseWidth).set(result));
  };

  f.get(phases).ptrConst(spec.shift).ptrOp("shl").set(step);
  f.while(phase, phases, 1, () => {
    f.get(columnOrigin).get(phase).ptrOp("add").set(origin);
    firstAtLeast(() => f.ptrConst(0), first);
    firstAtLeast(() => f.get(width), last);
    f.ptrConst(0).set(channel);
    f.while(channel, channels, 1, () => {
      f.get(to).get(channel).get(planePitch).ptrOp("mul").ptrOp("add");
      f.get(phase).get(phaseWidth).ptrOp("mul").ptrConst(spec.shift).ptrOp("shl").ptrOp("add");
      f.set(target);
      f.get(from).get(channel).get(plane).ptrOp("mul").ptrOp("add");
      f.get(origin).ptrConst(spec.shift).ptrOp("shl").ptrOp("add");
      f.get(first).get(step).ptrOp("mul").ptrOp("add").set(source);
      f.ptrConst(0).set(row);
      f.while(row, rows, 1, () => {
        f.get(rowOrigin).get(row).ptrOp("add").tee(at).get(height).ptrOp("lt_u").if(
          () => {
            f.get(target).get(first).call(zeros);
            f.address(target, first, spec.shift).get(source);
            f.get(at).get(width).ptrOp("mul").ptrConst(spec.shift).ptrOp("shl").ptrOp("add");
            f.get(step).get(last).get(first).ptrOp("sub").call(line);
            f.address(target, last, spec.shift);
            f.get(phaseWidth).get(last).ptrOp("sub").call(zeros);
          },
          () => f.get(target).get(phaseWidth).call(zeros),
        );
        f.get(target).get(pitch).ptrOp("add").set(target);
      });
    });
  });
  return f;
}
