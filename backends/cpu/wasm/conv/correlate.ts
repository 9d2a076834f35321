// Filters against images: out[m][y][x] = Σ a[m][k] · image[y·step + …][x + …], the taps k found
// through a table of offsets, by the same inner kernels as matrix products. It is the forward pass
// and, on each phase of the stride, the gradient of the input.

import type { Callable, FunctionBuilder, Local, ModuleBuilder } from "../asm/mod.ts";
import { emitPanelDispatch, emitTileCopy, takeEvenly, takeUpTo } from "../gemm/micro.ts";
import type { ElementSpec } from "../gemm/spec.ts";
import { loadJob } from "./job.ts";

/** With so few rows a panel of two vectors has too few sums in flight; these take four. */
const BROAD_ROWS = 2;

/** Bytes at the start of a thread's scratch memory that hold one tile. */
export const TILE_BYTES = 256;

/**
 * Emits the export `correlate`. Parameters, of pointer width: job (address of the record), scratch
 * (a tile, then the staged image), start, end (range of images).
 */
export function emitCorrelate(
  module: ModuleBuilder,
  spec: ElementSpec,
  stage: FunctionBuilder,
  onRows: Callable,
): FunctionBuilder {
  const ptr = module.ptr;
  const wide = emitPanelDispatch(module, spec, 2, "table");
  const narrow = emitPanelDispatch(module, spec, 1, "table");
  const broad = emitPanelDispatch(module, spec, 4, "table", BROAD_ROWS);
  const tileCopy = emitTileCopy(module, spec);
  const f = module.func({ params: [ptr, ptr, ptr, ptr], export: "correlate" });
  const [jobAt, scratch, start, end] = f.params;
  const job = loadJob(f, jobAt);
  const local = () => f.local(ptr);
  const [item, group, band, lines, channel, channels, depth, base] = Array.from(
    { length: 8 },
    local,
  );
  const [add, chunkAt, chunk, line, left, row, rows, aBase, bBase, cBase] = Array.from(
    { length: 10 },
    local,
  );
  const [panels, rest, restWidth, restFirst, restSkip, panel, lineStep] = Array
    .from({ length: 7 }, local);
  const [lineDepth, lineSkip, lineTable, perRow] = Array.from({ length: 4 }, local);
  const restWhole = f.local("i32");

  // The last columns: a panel that ends at the line's end and overlaps the one before it, if the
  // line is long enough, else one that reads past the line.
  f.get(job.width).ptrConst(Math.log2(spec.width)).ptrOp("shr_u").set(panels);
  f.get(job.width).ptrConst(spec.width - 1).ptrOp("and").set(rest);
  f.ptrConst(spec.lanes).ptrConst(spec.width);
  f.get(rest).ptrConst(spec.lanes).ptrOp("le_s").op("select").set(restWidth);
  f.get(job.width).get(restWidth).ptrOp("ge_s").if(
    () => f.get(restWidth).get(rest).ptrOp("sub").set(restSkip),
  );
  f.get(job.width).get(rest).ptrOp("sub").get(restSkip).ptrOp("sub").set(restFirst);

  const offset = (value: Local, stride: Local) =>
    f.get(value).get(stride).ptrOp("mul").ptrOp("add");

  const stageBlock = () => {
    f.get(job.source);
    offset(item, job.sourceImage);
    offset(group, job.sourceGroup);
    offset(channel, job.sourcePlane);
    f.set(base);
    f.get(job.direct).ptrConst(0).ptrOp("ne").if(
      () => {
        f.get(base).get(band).get(lineStep).ptrOp("mul").ptrOp("add").set(base);
      },
      () => {
        f.get(scratch).ptrConst(TILE_BYTES).ptrOp("add").get(job.planePitch).get(job.pitch);
        f.get(base).get(job.sourcePlane).get(job.sourceHeight).get(job.sourceWidth).get(channels);
        f.get(band).get(job.rowStep).ptrOp("mul").get(job.rowOrigin).ptrOp("add");
        f.get(lines).ptrConst(1).ptrOp("sub").get(job.rowStep).ptrOp("mul");
        f.get(job.extraRows).ptrOp("add");
        f.get(job.columnOrigin).get(job.phases).get(job.phaseWidth).call(stage);
        f.get(scratch).ptrConst(TILE_BYTES).ptrOp("add").set(base);
      },
    );
  };

  const kernel = (count: () => void, shift: () => void, bPanel: number, c: () => void) => {
    count();
    f.get(lineDepth).get(aBase).get(job.aRow).get(bBase);
    shift();
    f.ptrOp("add").get(lineTable).ptrConst(bPanel);
    c();
  };
  const toTile = (shift: () => void) =>
    kernel(() => f.ptrConst(1), shift, 0, () => f.get(scratch).ptrConst(32).ptrConst(0).get(rows));

  const wholePanels = () => {
    f.get(panels).ptrConst(0).ptrOp("ne").if(() => {
      f.get(job.cColumn).ptrConst(spec.size).ptrOp("eq").if(
        () => {
          f.ptrConst(0).set(panel);
          f.get(rows).ptrConst(BROAD_ROWS).ptrOp("le_s").get(panels).ptrConst(2).ptrOp("ge_s");
          f.op("i32.and").if(() => {
            kernel(() => f.get(panels).ptrConst(1).ptrOp("shr_u"), () => f.ptrConst(0), 64, () => {
              f.get(cBase).get(job.cRow).get(add).get(rows);
            });
            f.call(broad).get(panels).ptrConst(-2).ptrOp("and").set(panel);
          });
          f.get(panel).get(panels).ptrOp("lt_s").if(() => {
            const first = () => f.get(panel).ptrConst(5).ptrOp("shl");
            kernel(() => f.get(panels).get(panel).ptrOp("sub"), first, 32, () => {
              f.address(cBase, panel, 5).get(job.cRow).get(add).get(rows);
            });
            f.call(wide);
          });
        },
        () => {
          f.ptrConst(0).set(panel);
          f.while(panel, panels, 1, () => {
            toTile(() => f.get(panel).ptrConst(5).ptrOp("shl"));
            f.call(wide);
            f.get(scratch).ptrConst(32).get(cBase);
            f.get(panel).ptrConst(spec.width).ptrOp("mul").get(job.cColumn).ptrOp("mul");
            f.ptrOp("add").get(job.cRow).get(job.cColumn).get(rows).ptrConst(spec.width).get(add);
            f.call(tileCopy);
          });
        },
      );
    });
  };

  const lastColumns = () => {
    const shift = () => f.get(restFirst).ptrConst(spec.shift).ptrOp("shl");
    const run = (push: () => void) => {
      f.get(restWidth).ptrConst(spec.lanes).ptrOp("eq").if(
        () => {
          push();
          f.call(narrow);
        },
        () => {
          push();
          f.call(wide);
        },
      );
    };
    f.get(rest).ptrConst(0).ptrOp("ne").if(() => {
      f.get(restWhole).get(add).ptrOp("eqz").op("i32.and").if(
        () =>
          run(() =>
            kernel(() => f.ptrConst(1), shift, 0, () => {
              f.address(cBase, restFirst, spec.shift).get(job.cRow).ptrConst(0).get(rows);
            })
          ),
        () => {
          run(() => toTile(shift));
          f.address(scratch, restSkip, spec.shift).ptrConst(32).get(cBase);
          f.get(restFirst).get(restSkip).ptrOp("add").get(job.cColumn).ptrOp("mul").ptrOp("add");
          f.get(job.cRow).get(job.cColumn).get(rows).get(rest).get(add).call(tileCopy);
        },
      );
    });
  };

  // Leaves out tap rows that lie above or below the source: ⌈(limit − origin − line) / step⌉ is the
  // first row of taps that is not below `limit`.
  const chooseTaps = () => {
    f.get(depth).set(lineDepth);
    f.ptrConst(0).set(lineSkip);
    f.get(job.table).get(job.lastTable).get(channels).get(job.blockChannels).ptrOp("eq");
    f.op("select").set(lineTable);
    f.get(job.tapRows).ptrConst(1).ptrOp("gt_s").if(() => {
      const firstFrom = (limit: () => void, to: Local) => {
        limit();
        f.get(job.rowOrigin).ptrOp("sub").get(band).ptrOp("sub").get(line).ptrOp("sub");
        f.get(job.tapStep).ptrOp("add").ptrConst(1).ptrOp("sub").tee(to);
        f.get(job.tapStep).ptrOp("div_s").ptrConst(0).get(to).ptrConst(0).ptrOp("gt_s");
        f.op("select").set(to);
        f.get(to).get(job.tapRows).ptrOp("gt_s").if(() => f.get(job.tapRows).set(to));
      };
      firstFrom(() => f.ptrConst(0), lineSkip);
      firstFrom(() => f.get(job.sourceHeight), lineDepth);
      f.get(depth).get(job.tapRows).ptrOp("div_u").set(perRow);
      f.get(lineDepth).get(lineSkip).ptrOp("sub").get(perRow).ptrOp("mul").set(lineDepth);
      f.get(lineSkip).get(perRow).ptrOp("mul").set(lineSkip);
      f.address(lineTable, lineSkip, 2).set(lineTable);
    });
  };

  const walkRows = () => {
    chooseTaps();
    f.get(chunk).set(left);
    f.get(chunkAt).set(row);
    f.loop((nextRows) => {
      takeEvenly(f, left, spec.rows, rows);
      f.get(job.a);
      offset(group, job.aGroup);
      offset(row, job.aRow);
      f.get(channel).get(job.taps).ptrOp("mul").get(lineSkip).ptrOp("add");
      f.ptrConst(spec.shift).ptrOp("shl").ptrOp("add").set(aBase);
      f.get(job.c);
      offset(item, job.cImage);
      offset(group, job.cGroup);
      offset(row, job.cRow);
      f.get(band).get(line).ptrOp("add").get(job.cLine).ptrOp("mul").ptrOp("add").set(cBase);
      wholePanels();
      lastColumns();
      f.get(row).get(rows).ptrOp("add").set(row);
      f.get(left).get(rows).ptrOp("sub").tee(left).ptrConst(0).ptrOp("ne").brIf(nextRows);
    });
  };

  const reportPlanes = () => {
    f.get(job.report).ptrConst(0).ptrOp("ne");
    f.get(band).get(lines).ptrOp("add").get(job.height).ptrOp("eq").op("i32.and");
    f.get(channel).get(channels).ptrOp("add").get(job.channels).ptrOp("eq").op("i32.and").if(() => {
      f.get(item).get(job.planes).ptrOp("mul");
      offset(group, job.m);
      f.get(chunkAt).ptrOp("add");
      if (ptr === "i64") f.op("i32.wrap_i64");
      f.get(chunk);
      if (ptr === "i64") f.op("i32.wrap_i64");
      f.call(onRows);
    });
  };

  f.get(job.cColumn).ptrConst(spec.size).ptrOp("eq").get(job.width).get(restWidth).ptrOp("ge_s");
  f.op("i32.and");
  f.set(restWhole);
  f.get(job.pitch).get(job.rowStep).ptrOp("mul").set(lineStep);
  f.get(start).set(item);
  f.while(item, end, 1, () => {
    f.ptrConst(0).set(group);
    f.while(group, job.groups, 1, () => {
      f.ptrConst(0).set(band);
      f.loop((nextBand) => {
        takeUpTo(f, job.bandRows, band, job.height, lines);
        f.ptrConst(0).set(channel);
        f.loop((nextChannels) => {
          takeUpTo(f, job.blockChannels, channel, job.channels, channels);
          f.get(channels).get(job.taps).ptrOp("mul").set(depth);
          f.ptrConst(1).ptrConst(0).get(channel).ptrConst(0).ptrOp("ne").op("select").set(add);
          stageBlock();
          f.ptrConst(0).set(chunkAt);
          f.loop((nextChunk) => {
            takeUpTo(f, job.chunk, chunkAt, job.m, chunk);
            f.get(base).set(bBase);
            f.ptrConst(0).set(line);
            f.while(line, lines, 1, () => {
              walkRows();
              f.get(bBase).get(lineStep).ptrOp("add").set(bBase);
            });
            reportPlanes();
            f.get(chunkAt).get(chunk).ptrOp("add").tee(chunkAt).get(job.m).ptrOp("lt_s");
            f.brIf(nextChunk);
          });
          f.get(channel).get(channels).ptrOp("add").tee(channel).get(job.channels).ptrOp("lt_s");
          f.brIf(nextChannels);
        });
        f.get(band).get(lines).ptrOp("add").tee(band).get(job.height).ptrOp("lt_s").brIf(nextBand);
      });
    });
  });
  return f;
}
