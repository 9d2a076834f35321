// The general contraction: blocks over columns and the reduction, packs B (or reads it in place),
// and walks panels of rows. Which blocks and which packing is decided by the caller.

import type { Callable, FunctionBuilder, ModuleBuilder } from "../asm/mod.ts";
import { emitPanelDispatch, emitTileCopy, takeEvenly, takeUpTo } from "./micro.ts";
import type { Packers } from "./pack.ts";
import type { ElementSpec } from "./spec.ts";

/** Bits of the `flags` argument of `tiles`. */
export const TILE_FLAGS = {
  /** Add to C instead of overwriting it. */
  accumulate: 1,
  /** Columns of B are adjacent and full panels are read in place. */
  directB: 2,
  /** Elements of a row of A are adjacent and are read in place. */
  directA: 4,
  /** Call `onRows` for finished rows. */
  report: 8,
} as const;

/** Bytes of C between two reports. */
export const REPORT_BYTES = 32 * 1024;

/** Bytes at the start of the scratch memory that hold one tile. */
export const TILE_BYTES = 256;

/** Panels of rows that are packed together: A's cache lines may hold a column of several panels. */
const PANELS_PACKED = 4;

/** Most rows that are packed together. */
export function packedRows(spec: ElementSpec): number {
  return (PANELS_PACKED + 2) * spec.rows;
}

/**
 * Emits the export `tiles`. Parameters, of pointer width: a, aRow, aColumn, b, bRow, bColumn, c,
 * cRow (bytes), n, k, rowStart, rowEnd, scratch, kBlock, nBlock, group (rows per report), flags.
 * Scratch: a tile, then rows of A (packedRows · kBlock), then the packed block of B.
 */
export function emitTiles(
  module: ModuleBuilder,
  spec: ElementSpec,
  packers: Packers,
  onRows: Callable,
): FunctionBuilder {
  const ptr = module.ptr;
  const wide = emitPanelDispatch(module, spec, 2, "step");
  const narrow = emitPanelDispatch(module, spec, 1, "step");
  const tileCopy = emitTileCopy(module, spec);
  const f = module.func({ params: Array(17).fill(ptr), export: "tiles" });
  const [a, aRow, aColumn, b, bRow, bColumn, c, cRow, n, k] = f.params;
  const [rowStart, rowEnd, scratch, kBlock, nBlock, group, flags] = f.params.slice(10);
  const local = () => f.local(ptr);
  const [packedA, packedB, column, columns, depth, rowsK] = Array.from({ length: 6 }, local);
  const [panels, rest, bBlock, bBase, bStep, bPanel, bTail] = Array.from({ length: 7 }, local);
  const [add, row, left, rows, aBase, aStride, cBase, pending] = Array.from({ length: 8 }, local);
  const [aDepth, packedStart, packedEnd, packCount] = Array.from({ length: 4 }, local);
  const flag = (bit: number) => {
    f.get(flags).ptrConst(bit).ptrOp("and").ptrConst(0).ptrOp("ne");
  };

  f.get(scratch).ptrConst(TILE_BYTES).ptrOp("add").set(packedA);
  f.get(kBlock).ptrConst(packedRows(spec) * spec.size).ptrOp("mul").get(packedA).ptrOp("add");
  f.ptrConst(15).ptrOp("add").ptrConst(-16).ptrOp("and").set(packedB);

  const reportRows = () => {
    flag(TILE_FLAGS.report);
    f.get(column).get(columns).ptrOp("add").get(n).ptrOp("eq").op("i32.and");
    f.get(depth).get(rowsK).ptrOp("add").get(k).ptrOp("eq").op("i32.and").if(() => {
      f.get(row).get(pending).ptrOp("sub").get(group).ptrOp("ge_s");
      f.get(left).ptrOp("eqz").op("i32.or").if(() => {
        for (const push of [() => f.get(pending), () => f.get(row).get(pending).ptrOp("sub")]) {
          push();
          if (ptr === "i64") f.op("i32.wrap_i64");
        }
        f.call(onRows);
        f.get(row).set(pending);
      });
    });
  };

  const walkRows = () => {
    f.get(rowStart).tee(row).set(pending);
    f.get(rowEnd).get(rowStart).ptrOp("sub").set(left);
    f.get(rowStart).set(packedEnd);
    f.get(depth).get(aColumn).ptrOp("mul").set(aDepth);
    f.get(aRow).get(rowsK).ptrConst(spec.shift).ptrOp("shl");
    flag(TILE_FLAGS.directA);
    f.op("select").set(aStride);
    f.loop((nextRows) => {
      takeEvenly(f, left, spec.rows, rows);
      flag(TILE_FLAGS.directA);
      f.if(
        () =>
          f.get(a).get(row).get(aRow).ptrOp("mul").ptrOp("add").get(aDepth).ptrOp("add").set(aBase),
        () => {
          f.get(row).get(packedEnd).ptrOp("eq").if(() => {
            f.get(row).set(packedStart);
            f.ptrConst(PANELS_PACKED * spec.rows).get(left).get(left);
            f.ptrConst(packedRows(spec)).ptrOp("gt_s").op("select").set(packCount);
            f.get(packedA).get(a).get(row).get(aRow).ptrOp("mul").ptrOp("add").get(aDepth);
            f.ptrOp("add").get(aRow).get(aColumn).get(packCount).get(rowsK).call(packers.packA);
            f.get(row).get(packCount).ptrOp("add").set(packedEnd);
          });
          f.get(packedA).get(row).get(packedStart).ptrOp("sub").get(aStride).ptrOp("mul");
          f.ptrOp("add").set(aBase);
        },
      );
      f.get(c).get(row).get(cRow).ptrOp("mul").ptrOp("add");
      f.get(column).ptrConst(spec.shift).ptrOp("shl").ptrOp("add").set(cBase);
      f.get(panels).ptrConst(0).ptrOp("ne").if(() => {
        f.get(panels).get(rowsK).get(aBase).get(aStride).get(bBase).get(bStep).get(bPanel);
        f.get(cBase).get(cRow).get(add).get(rows).call(wide);
      });
      f.get(rest).ptrConst(0).ptrOp("ne").if(() => {
        const tail = (step: number) => {
          f.ptrConst(1).get(rowsK).get(aBase).get(aStride).get(bTail).ptrConst(step).ptrConst(0);
          f.get(scratch).ptrConst(32).ptrConst(0).get(rows);
        };
        f.get(rest).ptrConst(spec.lanes).ptrOp("le_s").if(
          () => {
            tail(16);
            f.call(narrow);
          },
          () => {
            tail(32);
            f.call(wide);
          },
        );
        f.get(scratch).ptrConst(32).address(cBase, panels, 5).get(cRow).ptrConst(spec.size);
        f.get(rows).get(rest).get(add).call(tileCopy);
      });
      f.get(row).get(rows).ptrOp("add").set(row);
      f.get(left).get(rows).ptrOp("sub").set(left);
      reportRows();
      f.get(left).ptrConst(0).ptrOp("ne").brIf(nextRows);
    });
  };

  f.loop((nextColumns) => {
    takeUpTo(f, nBlock, column, n, columns);
    f.get(columns).ptrConst(Math.log2(spec.width)).ptrOp("shr_u").set(panels);
    f.get(columns).ptrConst(spec.width - 1).ptrOp("and").set(rest);
    f.ptrConst(0).set(depth);
    f.loop((nextDepth) => {
      takeUpTo(f, kBlock, depth, k, rowsK);
      f.get(flags).ptrConst(TILE_FLAGS.accumulate).ptrOp("and").set(add);
      f.ptrConst(1).get(add).get(depth).ptrConst(0).ptrOp("ne").op("select").set(add);
      f.get(b).get(depth).get(bRow).ptrOp("mul").ptrOp("add");
      f.get(column).get(bColumn).ptrOp("mul").ptrOp("add").set(bBlock);
      flag(TILE_FLAGS.directB);
      f.if(
        () => {
          f.get(bBlock).set(bBase);
          f.get(bRow).set(bStep);
          f.ptrConst(32).set(bPanel);
          f.get(packedB).tee(bTail).address(bBlock, panels, 5).get(bRow).get(bColumn);
          f.get(rowsK).get(rest).call(packers.packB);
        },
        () => {
          f.get(packedB).tee(bBase).get(bBlock).get(bRow).get(bColumn).get(rowsK).get(columns);
          f.call(packers.packB);
          f.ptrConst(32).set(bStep);
          f.get(rowsK).ptrConst(5).ptrOp("shl").tee(bPanel).get(panels).ptrOp("mul");
          f.get(bBase).ptrOp("add").set(bTail);
        },
      );
      walkRows();
      f.get(depth).get(rowsK).ptrOp("add").tee(depth).get(k).ptrOp("lt_s").brIf(nextDepth);
    });
    f.get(column).get(columns).ptrOp("add").tee(column).get(n).ptrOp("lt_s").brIf(nextColumns);
  });
  return f;
}
