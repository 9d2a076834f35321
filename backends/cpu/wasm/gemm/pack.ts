// Packing: copies blocks of A and B with any strides into the layouts that the inner kernels read.
// A becomes rows of adjacent elements; B becomes panels of `width` columns, row after row.

import type { FunctionBuilder, Local, ModuleBuilder } from "../asm/mod.ts";
import type { ElementSpec } from "./spec.ts";

/** Byte indexes of a shuffle that takes 4- or 8-byte units from two vectors. */
function units(size: number, picks: readonly number[]): number[] {
  return picks.flatMap((pick) => Array.from({ length: size }, (_, byte) => pick * size + byte));
}

/** Transposes a square of lanes × lanes elements held in `square`, in place. */
export function emitTranspose(
  f: FunctionBuilder,
  spec: ElementSpec,
  square: readonly Local[],
  spare: readonly Local[],
): void {
  const mix = (x: Local, y: Local, size: number, picks: readonly number[], to: Local) =>
    f.get(x).get(y).shuffle(units(size, picks)).set(to);
  if (spec.lanes === 2) {
    const [x, y] = square;
    mix(x, y, 8, [0, 2], spare[0]);
    mix(x, y, 8, [1, 3], y);
    f.get(spare[0]).set(x);
    return;
  }
  const [p, q, r, s] = square;
  const [pqLow, pqHigh, rsLow, rsHigh] = spare;
  mix(p, q, 4, [0, 4, 1, 5], pqLow);
  mix(p, q, 4, [2, 6, 3, 7], pqHigh);
  mix(r, s, 4, [0, 4, 1, 5], rsLow);
  mix(r, s, 4, [2, 6, 3, 7], rsHigh);
  mix(pqLow, rsLow, 8, [0, 2], p);
  mix(pqLow, rsLow, 8, [1, 3], q);
  mix(pqHigh, rsHigh, 8, [0, 2], r);
  mix(pqHigh, rsHigh, 8, [1, 3], s);
}

/**
 * Copies a strided matrix, element by element, to another strided place. Parameters, of pointer
 * width: to, toRow, toColumn, from, fromRow, fromColumn (bytes), rows, columns.
 */
export function emitCopy(module: ModuleBuilder, spec: ElementSpec): FunctionBuilder {
  const ptr = module.ptr;
  const f = module.func({ params: Array(8).fill(ptr), export: "copy" });
  const [to, toRow, toColumn, from, fromRow, fromColumn, rows, columns] = f.params;
  const i = f.local(ptr);
  const j = f.local(ptr);
  const source = f.local(ptr);
  const target = f.local(ptr);
  f.while(i, rows, 1, () => {
    f.get(from).set(source);
    f.get(to).set(target);
    f.ptrConst(0).set(j);
    f.while(j, columns, 1, () => {
      f.get(target).get(source).mem(spec.loadBits).mem(spec.storeBits);
      f.get(source).get(fromColumn).ptrOp("add").set(source);
      f.get(target).get(toColumn).ptrOp("add").set(target);
    });
    f.get(from).get(fromRow).ptrOp("add").set(from);
    f.get(to).get(toRow).ptrOp("add").set(to);
  });
  return f;
}

/**
 * Copies the transpose: `lines` lines of `length` adjacent elements, `fromLine` bytes apart, become
 * columns: element e of line l goes to to + e·toStep + l·size. Works on squares of lanes × lanes;
 * the rest goes through `copy`. Parameters, of pointer width: to, toStep, from, fromLine, lines,
 * length.
 */
export function emitTransposedCopy(
  module: ModuleBuilder,
  spec: ElementSpec,
  copy: FunctionBuilder,
): FunctionBuilder {
  const ptr = module.ptr;
  const f = module.func({ params: Array(6).fill(ptr) });
  const [to, toStep, from, fromLine, lines, length] = f.params;
  const square = Array.from({ length: spec.lanes }, () => f.local("v128"));
  const spare = Array.from({ length: spec.lanes }, () => f.local("v128"));
  const wholeLines = f.local(ptr);
  const wholeLength = f.local(ptr);
  const l = f.local(ptr);
  const e = f.local(ptr);
  const source = f.local(ptr);
  const target = f.local(ptr);
  const walk = f.local(ptr);
  const plain = { align: spec.shift };
  f.get(lines).ptrConst(-spec.lanes).ptrOp("and").set(wholeLines);
  f.get(length).ptrConst(-spec.lanes).ptrOp("and").set(wholeLength);
  f.while(l, wholeLines, spec.lanes, () => {
    f.get(from).get(l).get(fromLine).ptrOp("mul").ptrOp("add").set(source);
    f.address(to, l, spec.shift).set(target);
    f.ptrConst(0).set(e);
    f.while(e, wholeLength, spec.lanes, () => {
      f.get(source).set(walk);
      square.forEach((vector, index) => {
        if (index > 0) f.get(walk).get(fromLine).ptrOp("add").set(walk);
        f.get(walk).mem("v128.load", plain).set(vector);
      });
      emitTranspose(f, spec, square, spare);
      for (const vector of square) {
        f.get(target).get(vector).mem("v128.store", plain);
        f.get(target).get(toStep).ptrOp("add").set(target);
      }
      f.increment(source, 16);
    });
  });
  // What is left: the ends of the whole lines, then the last lines entirely.
  f.get(to).get(wholeLength).get(toStep).ptrOp("mul").ptrOp("add").ptrConst(spec.size).get(toStep);
  f.address(from, wholeLength, spec.shift).get(fromLine).ptrConst(spec.size);
  f.get(wholeLines).get(length).get(wholeLength).ptrOp("sub").call(copy);
  f.address(to, wholeLines, spec.shift).ptrConst(spec.size).get(toStep);
  f.get(from).get(wholeLines).get(fromLine).ptrOp("mul").ptrOp("add").get(fromLine);
  f.ptrConst(spec.size).get(lines).get(wholeLines).ptrOp("sub").get(length).call(copy);
  return f;
}

/** Panels of B that are packed together when its rows are adjacent elements. */
const PANELS_AT_ONCE = 4;

/** The packing functions of a module. */
export interface Packers {
  /** See `emitCopy`. */
  readonly copy: FunctionBuilder;
  /**
   * Packs `rows` rows of A, `k` long, into adjacent rows of `k` elements. Parameters: to, from,
   * fromRow, fromColumn, rows, k.
   */
  readonly packA: FunctionBuilder;
  /**
   * Packs columns of B into panels of k rows. The last panel is one vector wide if what remains
   * fits into it; columns beyond the last are zero. Parameters: to, from, fromRow, fromColumn, k,
   * columns.
   */
  readonly packB: FunctionBuilder;
}

/** Emits the packing functions. */
export function emitPackers(module: ModuleBuilder, spec: ElementSpec): Packers {
  const ptr = module.ptr;
  const copy = emitCopy(module, spec);
  const transposed = emitTransposedCopy(module, spec, copy);

  const packA = module.func({ params: Array(6).fill(ptr) });
  {
    const f = packA;
    const [to, from, fromRow, fromColumn, rows, k] = f.params;
    const toRow = f.local(ptr);
    f.get(k).ptrConst(spec.shift).ptrOp("shl").set(toRow);
    f.get(fromRow).ptrConst(spec.size).ptrOp("eq").if(
      () => f.get(to).get(toRow).get(from).get(fromColumn).get(k).get(rows).call(transposed),
      () => {
        f.get(to).get(toRow).ptrConst(spec.size).get(from).get(fromRow).get(fromColumn);
        f.get(rows).get(k).call(copy);
      },
    );
  }

  // Panels whose rows are adjacent elements. Several at a time, so that whole cache lines are used
  // at once: with rows a power of two apart they would not stay in a cache until the next panel.
  const copyPanels = (count: number) => {
    const f = module.func({ params: Array(5).fill(ptr) });
    const [to, from, fromRow, k, panelBytes] = f.params;
    const i = f.local(ptr);
    const targets = [to, ...Array.from({ length: count - 1 }, () => f.local(ptr))];
    const plain = { align: spec.shift };
    for (let p = 1; p < count; p++) {
      f.get(targets[p - 1]).get(panelBytes).ptrOp("add").set(targets[p]);
    }
    f.while(i, k, 1, () => {
      targets.forEach((target, p) => {
        for (const offset of [0, 16]) {
          f.get(target).get(from).mem("v128.load", { ...plain, offset: 32 * p + offset });
          f.mem("v128.store", { ...plain, offset });
        }
        f.increment(target, 32);
      });
      f.get(from).get(fromRow).ptrOp("add").set(from);
    });
    return f;
  };
  const copyPanel = copyPanels(1);
  const copySeveral = copyPanels(PANELS_AT_ONCE);

  const packB = module.func({ params: Array(6).fill(ptr), export: "packB" });
  {
    const f = packB;
    const [to, from, fromRow, fromColumn, k, columns] = f.params;
    const panelBytes = f.local(ptr);
    const panelSource = f.local(ptr);
    const step = f.local(ptr);
    f.get(k).ptrConst(5).ptrOp("shl").set(panelBytes);
    f.get(fromColumn).ptrConst(spec.width).ptrOp("mul").set(panelSource);
    f.block((done) =>
      f.loop((again) => {
        f.get(columns).ptrConst(spec.width).ptrOp("lt_s").brIf(done);
        f.get(fromColumn).ptrConst(spec.size).ptrOp("eq").if(
          () => {
            f.get(columns).ptrConst(PANELS_AT_ONCE * spec.width).ptrOp("ge_s").if(() => {
              f.get(to).get(from).get(fromRow).get(k).get(panelBytes).call(copySeveral);
              f.get(to).get(panelBytes).ptrConst(PANELS_AT_ONCE).ptrOp("mul").ptrOp("add").set(to);
              f.increment(from, 32 * PANELS_AT_ONCE);
              f.increment(columns, -PANELS_AT_ONCE * spec.width);
              f.br(again);
            });
            f.get(to).get(from).get(fromRow).get(k).get(panelBytes).call(copyPanel);
          },
          () =>
            f.get(fromRow).ptrConst(spec.size).ptrOp("eq").if(
              () => {
                f.get(to).ptrConst(32).get(from).get(fromColumn).ptrConst(spec.width).get(k);
                f.call(transposed);
              },
              () => {
                f.get(to).ptrConst(spec.size).ptrConst(32).get(from).get(fromColumn).get(fromRow);
                f.ptrConst(spec.width).get(k).call(copy);
              },
            ),
        );
        f.get(to).get(panelBytes).ptrOp("add").set(to);
        f.get(from).get(panelSource).ptrOp("add").set(from);
        f.increment(columns, -spec.width).br(again);
      })
    );
    f.block((done) => {
      f.get(columns).ptrOp("eqz").brIf(done);
      f.ptrConst(16).ptrConst(32).get(columns).ptrConst(spec.lanes).ptrOp("le_s").op("select");
      f.set(step);
      // The lanes beyond are never stored; zeros keep the kernels away from slow subnormal numbers.
      f.get(to).i32(0).get(k).get(step).ptrOp("mul").memoryFill();
      // Column by column: the inner loop of `copy` should be the long one.
      f.get(to).ptrConst(spec.size).get(step).get(from).get(fromColumn).get(fromRow);
      f.get(columns).get(k).call(copy);
    });
  }
  return { copy, packA, packB };
}
