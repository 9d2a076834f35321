// The gradient of the filters: dW[m][k] = Σ over images and positions of dY[m][position] times the
// tap k of the image there. Positions are the vector lanes, so nothing is packed or transposed; each
// tile's sums stay in registers over a whole set of images or a band of lines.

import type { FunctionBuilder, Local, ModuleBuilder } from "../asm/mod.ts";
import { clear, takeEvenly, takeUpTo } from "../gemm/micro.ts";
import { emitTranspose } from "../gemm/pack.ts";
import type { ElementSpec } from "../gemm/spec.ts";
import { TILE_BYTES } from "./correlate.ts";
import { loadJob } from "./job.ts";

/** Rows (output channels) and columns (taps) of a full tile: nine vectors of sums. */
const ROWS = 3;
const COLUMNS = 3;

/** Lane numbers, as the bytes of a vector of integers of the element's width. */
function laneNumbers(spec: ElementSpec): Uint8Array {
  const numbers = spec.size === 4 ? new Int32Array([0, 1, 2, 3]) : new BigInt64Array([0n, 1n]);
  return new Uint8Array(numbers.buffer);
}

/**
 * One tile. Parameters, of pointer width: images, lines, width, a, aPlane, aLine, aImage, b, table,
 * bLine, bImage, out, outRow, add.
 */
function emitTile(
  module: ModuleBuilder,
  spec: ElementSpec,
  rows: number,
  columns: number,
): FunctionBuilder {
  const ptr = module.ptr;
  const f = module.func({ params: Array(14).fill(ptr) });
  const [images, lines, width, a, aPlane, aLine, aImage] = f.params;
  const [b, table, bLine, bImage, out, outRow, add] = f.params.slice(7);
  const sums = Array.from({ length: rows * columns }, () => f.local("v128"));
  const factors = Array.from({ length: rows }, () => f.local("v128"));
  const tap = f.local("v128");
  const mask = f.local("v128");
  const spare = Array.from({ length: spec.lanes }, () => f.local("v128"));
  const as = Array.from({ length: rows }, () => f.local(ptr));
  const bs = Array.from({ length: columns }, () => f.local(ptr));
  const pointers = [...as, ...bs];
  const locals = Array.from({ length: 7 }, () => f.local(ptr));
  const [left, line, vectors, rest, back, aNext, bNext] = locals;
  const plain = { align: spec.shift };

  const move = (group: readonly Local[], by: Local) => {
    for (const pointer of group) f.get(pointer).get(by).ptrOp("add").set(pointer);
  };
  const products = (load: (pointer: Local) => void) => {
    as.forEach((pointer, r) => {
      load(pointer);
      f.set(factors[r]);
    });
    bs.forEach((pointer, c) => {
      load(pointer);
      f.set(tap);
      for (let r = 0; r < rows; r++) spec.madd(f, factors[r], tap, sums[r * columns + c]);
    });
  };
  const repeat = (count: () => void, body: () => void, bytes: number) => {
    f.block((done) => {
      count();
      f.tee(left).ptrOp("eqz").brIf(done);
      f.loop((again) => {
        body();
        for (const pointer of pointers) f.increment(pointer, bytes);
        f.increment(left, -1);
        f.get(left).ptrConst(0).ptrOp("ne").brIf(again);
      });
    });
  };

  clear(f, sums);
  f.get(a).set(as[0]);
  for (let r = 1; r < rows; r++) f.get(as[r - 1]).get(aPlane).ptrOp("add").set(as[r]);
  bs.forEach((pointer, c) => {
    f.get(b).get(table).mem("i32.load", { offset: 4 * c }).toPtrSigned().ptrOp("add").set(pointer);
  });
  f.get(width).ptrConst(Math.log2(spec.lanes)).ptrOp("shr_u").set(vectors);
  f.get(width).ptrConst(spec.lanes - 1).ptrOp("and").set(rest);
  // The end of a line is read as the vector that ends there; lanes already summed are masked out.
  f.ptrConst(spec.lanes).get(rest).ptrOp("sub").ptrConst(spec.shift).ptrOp("shl").set(back);
  f.v128(laneNumbers(spec)).ptrConst(spec.lanes).get(rest).ptrOp("sub");
  if (spec.size === 4) {
    if (ptr === "i64") f.op("i32.wrap_i64");
    f.ops("i32x4.splat", "i32x4.ge_s").set(mask);
  } else {
    if (ptr === "i32") f.op("i64.extend_i32_s");
    f.ops("i64x2.splat", "i64x2.ge_s").set(mask);
  }
  // From the end of a line's whole vectors to the next line; from the last line to the next image.
  const skip = (line: Local, to: Local) =>
    f.get(line).get(vectors).ptrConst(4).ptrOp("shl").ptrOp("sub").set(to);
  f.get(aImage).get(lines).get(aLine).ptrOp("mul").ptrOp("sub").set(aImage);
  f.get(bImage).get(lines).get(bLine).ptrOp("mul").ptrOp("sub").set(bImage);
  skip(aLine, aNext);
  skip(bLine, bNext);
  f.get(vectors).ptrOp("eqz").if(() => {
    // Lines shorter than a vector go element by element.
    f.get(aLine).get(rest).ptrConst(spec.shift).ptrOp("shl").ptrOp("sub").set(aNext);
    f.get(bLine).get(rest).ptrConst(spec.shift).ptrOp("shl").ptrOp("sub").set(bNext);
  });

  f.loop((nextImage) => {
    f.get(lines).set(line);
    f.loop((nextLine) => {
      f.get(vectors).ptrOp("eqz").if(
        () =>
          repeat(() => f.get(rest), () => products((p) => f.get(p).mem(spec.loadZero)), spec.size),
        () => {
          for (const unroll of [2, 1]) {
            repeat(
              () => {
                f.get(vectors).ptrConst(1).ptrOp(unroll === 2 ? "shr_u" : "and");
              },
              () => {
                for (let u = 0; u < unroll; u++) {
                  products((p) => f.get(p).mem("v128.load", { ...plain, offset: 16 * u }));
                }
              },
              16 * unroll,
            );
          }
          f.get(rest).ptrConst(0).ptrOp("ne").if(() =>
            products((p) => {
              f.get(p).get(back).ptrOp("sub").mem("v128.load", plain).get(mask).op("v128.and");
            })
          );
        },
      );
      move(as, aNext);
      move(bs, bNext);
      f.increment(line, -1);
      f.get(line).ptrConst(0).ptrOp("ne").brIf(nextLine);
    });
    move(as, aImage);
    move(bs, bImage);
    f.increment(images, -1);
    f.get(images).ptrConst(0).ptrOp("ne").brIf(nextImage);
  });

  // Sums of lanes: a square of sums is transposed and added up, so that neighbours stay neighbours.
  const saveLanes = (count: number, offset: number) => {
    const place = { offset, align: spec.shift };
    if (count === spec.lanes) f.get(out).get(tap).mem("v128.store", place);
    else if (spec.size === 8) f.get(out).get(tap).memLane("v128.store64_lane", 0, place);
    else {
      if (count > 1) f.get(out).get(tap).memLane("v128.store64_lane", 0, place);
      if (count === 2) return;
      place.offset += 4 * (count - 1);
      f.get(out).get(tap).memLane("v128.store32_lane", count - 1, place);
    }
  };
  const loadLanes = (count: number, offset: number) => {
    const place = { offset, align: spec.shift };
    if (count === spec.lanes) f.get(out).mem("v128.load", place);
    else if (count === 1) f.get(out).mem(spec.loadZero, place);
    else if (count === 2) f.get(out).mem("v128.load64_zero", place);
    else {
      f.get(out).get(out).mem("v128.load64_zero", place);
      f.memLane("v128.load32_lane", 2, { ...place, offset: offset + 8 });
    }
  };
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c += spec.lanes) {
      const own = sums.slice(
        r * columns + c,
        Math.min(r * columns + c + spec.lanes, (r + 1) * columns),
      );
      // Locals that are free by now stand in for missing columns; their lanes are not stored.
      const missing = [factors[0], tap, mask].slice(0, spec.lanes - own.length);
      const square = [...own, ...missing];
      clear(f, missing);
      emitTranspose(f, spec, square, spare);
      f.get(square[0]);
      for (const vector of square.slice(1)) f.get(vector).op(spec.add);
      f.set(tap);
      const offset = c * spec.size;
      f.get(add).ptrConst(0).ptrOp("ne").if(() => {
        loadLanes(own.length, offset);
        f.get(tap).op(spec.add).set(tap);
      });
      saveLanes(own.length, offset);
    }
    f.get(out).get(outRow).ptrOp("add").set(out);
  }
  return f;
}

/**
 * Emits the export `weights`. Parameters, of pointer width: job, scratch (staged images come after a
 * tile's room), start, end (range of output channels within a group).
 */
export function emitWeights(
  module: ModuleBuilder,
  spec: ElementSpec,
  stage: FunctionBuilder,
): FunctionBuilder {
  const ptr = module.ptr;
  const tiles: FunctionBuilder[] = [];
  for (let rows = 1; rows <= ROWS; rows++) {
    for (let columns = 1; columns <= COLUMNS; columns++) {
      tiles.push(emitTile(module, spec, rows, columns));
    }
  }
  const f = module.func({ params: [ptr, ptr, ptr, ptr], export: "weights" });
  const [jobAt, scratch, start, end] = f.params;
  const job = loadJob(f, jobAt);
  const local = () => f.local(ptr);
  const [group, item, images, band, lines, channel, channels, depth] = Array.from(
    { length: 8 },
    local,
  );
  const [add, base, step, image, row, rows, left, tap, taps, tapsLeft, aBase, lineStep] = Array
    .from({ length: 12 }, local);
  const offset = (value: Local, stride: Local) =>
    f.get(value).get(stride).ptrOp("mul").ptrOp("add");

  const stageSet = () => {
    f.get(job.source);
    offset(item, job.sourceImage);
    offset(group, job.sourceGroup);
    offset(channel, job.sourcePlane);
    f.set(base);
    f.get(job.direct).ptrConst(0).ptrOp("ne").if(
      () => {
        f.get(base).get(band).get(lineStep).ptrOp("mul").ptrOp("add").set(base);
        f.get(job.sourceImage).set(step);
      },
      () => {
        f.ptrConst(0).set(image);
        f.while(image, images, 1, () => {
          f.get(scratch).ptrConst(TILE_BYTES).ptrOp("add");
          offset(image, job.stageImage);
          f.get(job.planePitch).get(job.pitch).get(base);
          offset(image, job.sourceImage);
          f.get(job.sourcePlane).get(job.sourceHeight).get(job.sourceWidth).get(channels);
          f.get(band).get(job.rowStep).ptrOp("mul").get(job.rowOrigin).ptrOp("add");
          f.get(lines).ptrConst(1).ptrOp("sub").get(job.rowStep).ptrOp("mul");
          f.get(job.extraRows).ptrOp("add");
          f.get(job.columnOrigin).get(job.phases).get(job.phaseWidth).call(stage);
        });
        f.get(scratch).ptrConst(TILE_BYTES).ptrOp("add").set(base);
        f.get(job.stageImage).set(step);
      },
    );
  };

  const callTile = () => {
    const pick = (index: number, labels: Parameters<FunctionBuilder["brTable"]>[0]) => {
      if (index < 0) {
        f.get(rows).ptrConst(1).ptrOp("sub").ptrConst(COLUMNS).ptrOp("mul");
        f.get(taps).ptrOp("add").ptrConst(1).ptrOp("sub");
        if (ptr === "i64") f.op("i32.wrap_i64");
        f.brTable(labels.slice(1, -1), labels[labels.length - 1]);
        return;
      }
      f.block((label) => pick(index - 1, [labels[0], label, ...labels.slice(1)]));
      f.get(images).get(lines).get(job.width).get(aBase).get(job.aRow).get(job.aLine);
      f.get(job.aImage).get(base).address(job.table, tap, 2).get(lineStep).get(step);
      f.get(job.c);
      offset(group, job.cGroup);
      offset(row, job.cRow);
      f.get(channel).get(job.taps).ptrOp("mul").get(tap).ptrOp("add");
      f.ptrConst(spec.shift).ptrOp("shl").ptrOp("add").get(job.cRow).get(add);
      f.call(tiles[index]).br(labels[0]);
    };
    f.block((done) => pick(tiles.length - 1, [done]));
  };

  const walkTiles = () => {
    f.get(start).set(row);
    f.get(end).get(start).ptrOp("sub").set(left);
    f.loop((nextRows) => {
      takeEvenly(f, left, ROWS, rows);
      f.get(job.a);
      offset(item, job.aImage);
      offset(group, job.aGroup);
      offset(row, job.aRow);
      offset(band, job.aLine);
      f.set(aBase);
      f.ptrConst(0).set(tap);
      f.get(depth).set(tapsLeft);
      f.loop((nextTaps) => {
        takeEvenly(f, tapsLeft, COLUMNS, taps);
        callTile();
        f.get(tap).get(taps).ptrOp("add").set(tap);
        f.get(tapsLeft).get(taps).ptrOp("sub").tee(tapsLeft).ptrConst(0).ptrOp("ne");
        f.brIf(nextTaps);
      });
      f.get(row).get(rows).ptrOp("add").set(row);
      f.get(left).get(rows).ptrOp("sub").tee(left).ptrConst(0).ptrOp("ne").brIf(nextRows);
    });
  };

  f.get(job.pitch).get(job.rowStep).ptrOp("mul").set(lineStep);
  f.while(group, job.groups, 1, () => {
    f.ptrConst(0).set(add);
    f.ptrConst(0).set(item);
    f.loop((nextSet) => {
      takeUpTo(f, job.setImages, item, job.images, images);
      f.ptrConst(0).set(band);
      f.loop((nextBand) => {
        takeUpTo(f, job.bandRows, band, job.height, lines);
        f.ptrConst(0).set(channel);
        f.loop((nextChannels) => {
          takeUpTo(f, job.blockChannels, channel, job.channels, channels);
          f.get(channels).get(job.taps).ptrOp("mul").set(depth);
          stageSet();
          walkTiles();
          f.get(channel).get(channels).ptrOp("add").tee(channel).get(job.channels).ptrOp("lt_s");
          f.brIf(nextChannels);
        });
        f.ptrConst(1).set(add);
        f.get(band).get(lines).ptrOp("add").tee(band).get(job.height).ptrOp("lt_s").brIf(nextBand);
      });
      f.get(item).get(images).ptrOp("add").tee(item).get(job.images).ptrOp("lt_s").brIf(nextSet);
    });
  });
  return f;
}
