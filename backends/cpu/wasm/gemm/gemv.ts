// Matrix times vector, where packing would cost more than the product: `dot` when the elements of a
// matrix line are adjacent, `axpy` when the elements of neighbouring outputs are.

import type { FunctionBuilder, Local, ModuleBuilder } from "../asm/mod.ts";
import { clear } from "./micro.ts";
import type { ElementSpec } from "./spec.ts";

/** Lines that `dot` multiplies at a time, each with two vectors of sums. */
const DOT_LINES = 4;
/** Lines that one round of `axpy` adds up before it touches the output. */
const AXPY_LINES = 8;

/** Replaces a vector by the sum of its lanes, in every lane. */
function sumLanes(f: FunctionBuilder, spec: ElementSpec, sum: Local): void {
  for (let by = 8; by >= spec.size; by /= 2) {
    const rotated = Array.from({ length: 16 }, (_, byte) => (byte + by) % 16);
    f.get(sum).get(sum).get(sum).shuffle(rotated).op(spec.add).set(sum);
  }
}

function storeLane(f: FunctionBuilder, spec: ElementSpec): void {
  f.memLane(spec.size === 4 ? "v128.store32_lane" : "v128.store64_lane", 0);
}

/**
 * Emits the export `dot`: out[j] = Σ x[i]·matrix[j][i], lines of adjacent elements. Parameters, of
 * pointer width: x (adjacent), matrix, line (bytes between lines), out, outStep (bytes), start, end
 * (range of j), k, add.
 */
export function emitDot(module: ModuleBuilder, spec: ElementSpec): FunctionBuilder {
  const ptr = module.ptr;
  const product = (lines: number) => {
    const f = module.func({ params: Array(7).fill(ptr) });
    const [x, matrix, line, out, outStep, k, add] = f.params;
    const left = f.local(ptr);
    const at = Array.from({ length: lines }, () => f.local(ptr));
    const sums = Array.from({ length: 2 * lines }, () => f.local("v128"));
    const factors = [f.local("v128"), f.local("v128")];
    const item = f.local("v128");
    f.get(matrix).set(at[0]);
    for (let l = 1; l < lines; l++) f.get(at[l - 1]).get(line).ptrOp("add").set(at[l]);
    const round = (vectors: number, op: "v128.load" | typeof spec.loadZero, bytes: number) => {
      f.block((done) => {
        f.get(left).ptrOp("eqz").brIf(done);
        f.loop((again) => {
          for (let v = 0; v < vectors; v++) {
            f.get(x).mem(op, { offset: 16 * v, align: spec.shift }).set(factors[v]);
          }
          for (let l = 0; l < lines; l++) {
            for (let v = 0; v < vectors; v++) {
              f.get(at[l]).mem(op, { offset: 16 * v, align: spec.shift }).set(item);
              spec.madd(f, factors[v], item, sums[2 * l + v]);
            }
            f.increment(at[l], bytes);
          }
          f.increment(x, bytes).increment(left, -1);
          f.get(left).ptrConst(0).ptrOp("ne").brIf(again);
        });
      });
    };
    f.get(k).ptrConst(Math.log2(spec.width)).ptrOp("shr_u").set(left);
    round(2, "v128.load", 32);
    f.get(k).ptrConst(spec.width - 1).ptrOp("and").set(left);
    round(1, spec.loadZero, spec.size);
    for (let l = 0; l < lines; l++) {
      f.get(sums[2 * l]).get(sums[2 * l + 1]).op(spec.add).set(item);
      sumLanes(f, spec, item);
      f.get(add).ptrConst(0).ptrOp("ne").if(() => {
        f.get(out).mem(spec.loadZero).get(item).op(spec.add).set(item);
      });
      f.get(out).get(item);
      storeLane(f, spec);
      f.get(out).get(outStep).ptrOp("add").set(out);
    }
    return f;
  };
  const several = product(DOT_LINES);
  const one = product(1);
  const f = module.func({ params: Array(9).fill(ptr), export: "dot" });
  const [x, matrix, line, out, outStep, start, end, k, add] = f.params;
  const j = f.local(ptr);
  const call = (target: FunctionBuilder, lines: number) => {
    f.get(x).get(matrix).get(j).get(line).ptrOp("mul").ptrOp("add").get(line);
    f.get(out).get(j).get(outStep).ptrOp("mul").ptrOp("add");
    f.get(outStep).get(k).get(add).call(target);
    f.increment(j, lines);
  };
  const whole = f.local(ptr);
  f.get(start).set(j);
  f.get(end).get(start).ptrOp("sub").ptrConst(-DOT_LINES).ptrOp("and").get(start).ptrOp("add");
  f.set(whole);
  for (const [limit, target, lines] of [[whole, several, DOT_LINES], [end, one, 1]] as const) {
    f.block((done) =>
      f.loop((again) => {
        f.get(j).get(limit).ptrOp("ge_s").brIf(done);
        call(target, lines);
        f.br(again);
      })
    );
  }
  return f;
}

/**
 * Emits the export `axpy`: out[j] = Σ x[i]·matrix[i][j], for adjacent outputs. Parameters, of
 * pointer width: x, xStep (bytes), matrix, line (bytes between lines), out, n, k ≥ 1, add.
 */
export function emitAxpy(module: ModuleBuilder, spec: ElementSpec): FunctionBuilder {
  const ptr = module.ptr;
  const round = (lines: number) => {
    const f = module.func({ params: Array(7).fill(ptr) });
    const [x, xStep, matrix, line, out, n, add] = f.params;
    const factors = Array.from({ length: lines }, () => f.local("v128"));
    const at = Array.from({ length: lines }, () => f.local(ptr));
    const sums = [f.local("v128"), f.local("v128")];
    const item = f.local("v128");
    const left = f.local(ptr);
    factors.forEach((factor, l) => {
      if (l > 0) f.get(x).get(xStep).ptrOp("add").set(x);
      f.get(x).mem(spec.loadSplat).set(factor);
      if (l === 0) f.get(matrix).set(at[0]);
      else f.get(at[l - 1]).get(line).ptrOp("add").set(at[l]);
    });
    const columns = (op: "v128.load" | typeof spec.loadZero, vectors: number, bytes: number) => {
      f.block((done) => {
        f.get(left).ptrOp("eqz").brIf(done);
        f.loop((again) => {
          clear(f, sums.slice(0, vectors));
          for (let l = 0; l < lines; l++) {
            for (let v = 0; v < vectors; v++) {
              f.get(at[l]).mem(op, { offset: 16 * v, align: spec.shift }).set(item);
              spec.madd(f, factors[l], item, sums[v]);
            }
            f.increment(at[l], bytes);
          }
          f.get(add).ptrConst(0).ptrOp("ne").if(() => {
            for (let v = 0; v < vectors; v++) {
              f.get(out).mem(op, { offset: 16 * v, align: spec.shift }).get(sums[v]).op(spec.add);
              f.set(sums[v]);
            }
          });
          for (let v = 0; v < vectors; v++) {
            f.get(out).get(sums[v]);
            if (op === "v128.load") f.mem("v128.store", { offset: 16 * v, align: spec.shift });
            else storeLane(f, spec);
          }
          f.increment(out, bytes).increment(left, -1);
          f.get(left).ptrConst(0).ptrOp("ne").brIf(again);
        });
      });
    };
    f.get(n).ptrConst(Math.log2(spec.width)).ptrOp("shr_u").set(left);
    columns("v128.load", 2, 32);
    f.get(n).ptrConst(spec.width - 1).ptrOp("and").set(left);
    columns(spec.loadZero, 1, spec.size);
    return f;
  };
  const several = round(AXPY_LINES);
  const one = round(1);
  const f = module.func({ params: Array(8).fill(ptr), export: "axpy" });
  const [x, xStep, matrix, line, out, n, k, add] = f.params;
  for (const [target, lines] of [[several, AXPY_LINES], [one, 1]] as const) {
    f.block((done) =>
      f.loop((again) => {
        f.get(k).ptrConst(lines).ptrOp("lt_s").brIf(done);
        f.get(x).get(xStep).get(matrix).get(line).get(out).get(n).get(add).call(target);
        f.get(x).get(xStep).ptrConst(lines).ptrOp("mul").ptrOp("add").set(x);
        f.get(matrix).get(line).ptrConst(lines).ptrOp("mul").ptrOp("add").set(matrix);
        f.get(k).ptrConst(lines).ptrOp("sub").set(k);
        f.ptrConst(1).set(add).br(again);
      })
    );
  }
  return f;
}
