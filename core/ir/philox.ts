// Philox 4x32-10 as scalar expressions: the block that a kernel computes at a point, the same on every
// backend, and the same as core/random/philox.ts gives on the host. Not here: the kernel, and what is made
// of the words (ops/random_ops.ts).
//
// J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
import type { Expr } from "./expr.ts";
import * as k from "./expr.ts";

/** A reserved range as four int32 expressions: the key, and the counter of the first block. */
export interface PhiloxExprs {
  readonly key0: Expr;
  readonly key1: Expr;
  readonly offsetLo: Expr;
  readonly offsetHi: Expr;
}

/** The four words of a block. */
export type PhiloxBlock = readonly [Expr, Expr, Expr, Expr];

/** a < b for int32 taken as unsigned. */
function below(a: Expr, b: Expr): Expr {
  const flip = -(2 ** 31);
  return k.lt(k.xor(a, flip), k.xor(b, flip));
}

const ZERO = k.constant(0, "int32");

/** Exclusive or; half of the counter is 0, which need not be computed with. */
function mix(a: Expr, b: Expr): Expr {
  if (a === ZERO) return b;
  return b === ZERO ? a : k.xor(a, b);
}

/** Both halves of a product of unsigned numbers. */
function product(x: Expr, factor: number): readonly [high: Expr, low: Expr] {
  return x === ZERO ? [ZERO, ZERO] : [k.mulhiu(x, factor), k.mul(x, factor)];
}

/** The words of block `block` (an int32, not negative) of a range. */
export function philoxBlock(range: PhiloxExprs, block: Expr): PhiloxBlock {
  const low = k.add(range.offsetLo, block);
  const high = k.add(range.offsetHi, k.cast(below(low, block), "int32"));
  let c: PhiloxBlock = [low, high, ZERO, ZERO];
  let { key0, key1 } = range;
  for (let round = 0; round < 10; round++) {
    const [high0, low0] = product(c[0], 0xd2511f53);
    const [high1, low1] = product(c[2], 0xcd9e8d57);
    c = [mix(mix(high1, c[1]), key0), low1, mix(mix(high0, c[3]), key1), low0];
    // The key steps by the golden ratio and sqrt(3) - 1, as 32-bit fractions.
    key0 = k.add(key0, 0x9e3779b9);
    key1 = k.add(key1, 0xbb67ae85);
  }
  return c;
}
