// The inner kernels of all contractions: a few rows of A times panels of B, sums kept in registers.
// They read A by rows with adjacent elements and write whole tiles; packing, edges and blocking are
// the business of their callers.

import type { FunctionBuilder, Local, ModuleBuilder } from "../asm/mod.ts";
import type { ElementSpec } from "./spec.ts";

/** Rounds of the reduction that are written out one after the other. */
const UNROLL = 4;

/** Sets vector locals to zero. */
export function clear(f: FunctionBuilder, locals: readonly Local[]): void {
  for (const local of locals) f.v128(ZERO).set(local);
}

const ZERO = new Uint8Array(16);

/**
 * Sets `count` to how many of the `left` > 0 items to take next: `most`, or, when few are left, so
 * many that the remaining rounds are as equal as can be (8 by at most 6 are 4 + 4, not 6 + 2).
 */
export function takeEvenly(f: FunctionBuilder, left: Local, most: number, count: Local): void {
  f.ptrConst(most).set(count);
  f.get(left).ptrConst(3 * most).ptrOp("lt_s").if(() => {
    f.get(left).get(left).ptrConst(most - 1).ptrOp("add").ptrConst(most).ptrOp("div_u");
    f.tee(count).ptrOp("add").ptrConst(1).ptrOp("sub").get(count).ptrOp("div_u").set(count);
  });
}

/** Sets `to` to the smaller of a local and what is left of a range: `end` − `start`. */
export function takeUpTo(
  f: FunctionBuilder,
  limit: Local,
  start: Local,
  end: Local,
  to: Local,
): void {
  f.get(end).get(start).ptrOp("sub").tee(to).get(limit).ptrOp("gt_s");
  f.if(() => f.get(limit).set(to));
}

/** How a kernel finds the row of B for each step of the reduction. */
export type PanelSource =
  /** Rows of a panel are a fixed number of bytes apart. */
  | "step"
  /** A table of int32 byte offsets gives each row's place. */
  | "table";

/**
 * One kernel: `rows` × `vectors`·lanes sums per panel, for `count` ≥ 1 panels.
 *
 * Parameters, all of pointer width: count, k, a, aRow (bytes between rows of A), b, bStep (bytes
 * between rows of a panel, or the table's address), bPanel (bytes between panels), c, cRow (bytes
 * between rows of C), add (1: add to C, 0: overwrite it).
 */
export function emitPanelKernel(
  module: ModuleBuilder,
  spec: ElementSpec,
  rows: number,
  vectors: number,
  source: PanelSource,
): FunctionBuilder {
  const ptr = module.ptr;
  const f = module.func({ params: Array(10).fill(ptr) });
  const [count, k, a, aRow, b, bStep, bPanel, c, cRow, add] = f.params;
  const sums = Array.from({ length: rows * vectors }, () => f.local("v128"));
  const panel = Array.from({ length: vectors }, () => f.local("v128"));
  const factor = f.local("v128");
  const at = Array.from({ length: rows }, () => f.local(ptr));
  const row = f.local(ptr);
  const left = f.local(ptr);
  const entry = f.local(ptr);
  const out = f.local(ptr);

  const step = (unroll: number) => {
    for (let u = 0; u < unroll; u++) {
      if (source === "table") {
        f.get(b).get(entry).mem("i32.load", { offset: 4 * u }).toPtrSigned().ptrOp("add").set(row);
      }
      for (let v = 0; v < vectors; v++) {
        f.get(row).mem("v128.load", { offset: 16 * v, align: spec.shift }).set(panel[v]);
      }
      for (let r = 0; r < rows; r++) {
        f.get(at[r]).mem(spec.loadSplat, { offset: spec.size * u }).set(factor);
        for (let v = 0; v < vectors; v++) spec.madd(f, factor, panel[v], sums[r * vectors + v]);
      }
      if (source === "step") f.get(row).get(bStep).ptrOp("add").set(row);
    }
    for (const pointer of at) f.increment(pointer, spec.size * unroll);
    if (source === "table") f.increment(entry, 4 * unroll);
  };

  f.loop((nextPanel) => {
    clear(f, sums);
    f.get(a).set(at[0]);
    for (let r = 1; r < rows; r++) f.get(at[r - 1]).get(aRow).ptrOp("add").set(at[r]);
    if (source === "step") f.get(b).set(row);
    else f.get(bStep).set(entry);
    for (const unroll of [UNROLL, 1]) {
      f.get(k);
      if (unroll === 1) f.ptrConst(UNROLL - 1).ptrOp("and").set(left);
      else f.ptrConst(Math.log2(UNROLL)).ptrOp("shr_u").set(left);
      f.block((done) => {
        f.get(left).ptrOp("eqz").brIf(done);
        f.loop((again) => {
          step(unroll);
          f.increment(left, -1);
          f.get(left).ptrConst(0).ptrOp("ne").brIf(again);
        });
      });
    }
    const store = (adding: boolean) => {
      f.get(c).set(out);
      for (let r = 0; r < rows; r++) {
        for (let v = 0; v < vectors; v++) {
          const place = { offset: 16 * v, align: spec.shift };
          f.get(out).get(sums[r * vectors + v]);
          if (adding) f.get(out).mem("v128.load", place).op(spec.add);
          f.mem("v128.store", place);
        }
        if (r < rows - 1) f.get(out).get(cRow).ptrOp("add").set(out);
      }
    };
    f.get(add).ptrOp("eqz").if(() => store(false), () => store(true));
    f.get(b).get(bPanel).ptrOp("add").set(b);
    f.increment(c, 16 * vectors);
    f.increment(count, -1);
    f.get(count).ptrConst(0).ptrOp("ne").brIf(nextPanel);
  });
  return f;
}

/**
 * A function with the parameters of a panel kernel and one more, the number of rows (1 to `most`),
 * that calls the kernel for it. `vectors` is 2 for full panels, 1 for narrow ones.
 */
export function emitPanelDispatch(
  module: ModuleBuilder,
  spec: ElementSpec,
  vectors: number,
  source: PanelSource,
  most: number = spec.rows,
): FunctionBuilder {
  const kernels = Array.from(
    { length: most },
    (_, index) => emitPanelKernel(module, spec, index + 1, vectors, source),
  );
  const f = module.func({ params: Array(11).fill(module.ptr) });
  const rows = f.params[10];
  const pick = (index: number, labels: Parameters<FunctionBuilder["brTable"]>[0]) => {
    if (index < 0) {
      f.get(rows).ptrConst(1).ptrOp("sub");
      if (module.ptr === "i64") f.op("i32.wrap_i64");
      f.brTable(labels.slice(0, -1), labels[labels.length - 1]);
      return;
    }
    f.block((label) => pick(index - 1, [label, ...labels]));
    for (const param of f.params.slice(0, 10)) f.get(param);
    f.call(kernels[index]).op("return");
  };
  pick(most - 1, []);
  return f;
}

/**
 * Copies a finished tile into C, element by element: for edges where whole vectors would write
 * outside. Parameters, of pointer width: tile, tileRow, c, cRow, cColumn (bytes between columns of
 * C), rows, columns, add.
 */
export function emitTileCopy(module: ModuleBuilder, spec: ElementSpec): FunctionBuilder {
  const ptr = module.ptr;
  const f = module.func({ params: Array(8).fill(ptr) });
  const [tile, tileRow, c, cRow, cColumn, rows, columns, add] = f.params;
  const r = f.local(ptr);
  const j = f.local(ptr);
  const from = f.local(ptr);
  const to = f.local(ptr);
  f.while(r, rows, 1, () => {
    f.get(tile).set(from);
    f.get(c).set(to);
    f.ptrConst(0).set(j);
    f.while(j, columns, 1, () => {
      f.get(add).ptrOp("eqz").if(
        () => f.get(to).get(from).mem(spec.loadBits).mem(spec.storeBits),
        () => {
          f.get(to).get(from).mem(spec.loadZero).get(to).mem(spec.loadZero).op(spec.add);
          f.memLane(spec.size === 4 ? "v128.store32_lane" : "v128.store64_lane", 0);
        },
      );
      f.increment(from, spec.size);
      f.get(to).get(cColumn).ptrOp("add").set(to);
    });
    f.get(tile).get(tileRow).ptrOp("add").set(tile);
    f.get(c).get(cRow).ptrOp("add").set(c);
  });
  return f;
}
