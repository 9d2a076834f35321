// What the decompositions of this folder are built with: one kit per float width, so that each
// function is written once for both. Not here: any function of the extra ops.
//
// House rules of the folder. Only core ops and fma, which may round once or twice: so fma never
// takes part in an error-free transform. No branches and no tables. Integers by bitcast, and by
// adding 1.5 * 2^mantissa instead of casting, which SIMD lanes of 64 bits lack. Limits are written
// as `where`, with NaN on the side that keeps it.
//
// Polynomials are near-minimax, found with fpminimax of Sollya (Chevillard, Joldes, Lauter 2010;
// https://www.sollya.org) on the range beside them, for coefficients already rounded to the width.
import { InternalError } from "../../errors.ts";
import * as ex from "../expr.ts";
import type { Expr, Operand } from "../expr.ts";

/** A constant or list of them, one for each float width. */
export interface Both<T> {
  readonly float32: T;
  readonly float64: T;
}

/** The format of a float width and what depends on it. */
export class Kit {
  /** Explicit mantissa bits. */
  readonly mantissa: number;
  readonly bias: number;
  /** Bits of the whole. */
  readonly width: number;

  constructor(readonly float: "float32" | "float64", readonly int: "int32" | "int64") {
    const narrow = float === "float32";
    this.mantissa = narrow ? 23 : 52;
    this.bias = narrow ? 127 : 1023;
    this.width = narrow ? 32 : 64;
  }

  /** The one of a pair that belongs to this width. */
  pick<T>(both: Both<T>): T {
    return both[this.float];
  }

  /** A float constant. */
  num(x: number): Expr {
    return ex.constant(x, this.float);
  }

  /** An integer constant. */
  whole(x: number | bigint): Expr {
    return ex.constant(typeof x === "bigint" ? BigInt.asIntN(this.width, x) : x, this.int);
  }

  bits(x: Expr): Expr {
    return ex.bitcast(x, this.int);
  }

  ofBits(x: Expr): Expr {
    return ex.bitcast(x, this.float);
  }

  /** The exponent field of an integer: 2^n has the bits `exponent(n + bias)`. */
  exponent(n: Expr): Expr {
    return ex.shl(n, this.mantissa);
  }

  /** The bits of 2^n, for a constant n. */
  powerBits(n: number): bigint {
    return BigInt(n + this.bias) << BigInt(this.mantissa);
  }

  /** x rounded to an integer: as a float, and as bits whose low part is the integer. */
  nearest(x: Expr): { float: Expr; bits: Expr } {
    const magic = 1.5 * 2 ** this.mantissa;
    const shifted = ex.add(x, magic);
    return { float: ex.sub(shifted, magic), bits: this.bits(shifted) };
  }

  /** A small integer as a float. */
  toFloat(n: Expr): Expr {
    if (this.float === "float32") return ex.cast(n, "float32");
    const magic = 1.5 * 2 ** this.mantissa;
    return ex.sub(this.ofBits(ex.add(n, this.bits(this.num(magic)))), magic);
  }

  /** x (which has no sign) with the sign of y. */
  setSign(x: Expr, y: Expr): Expr {
    const sign = this.whole(1n << BigInt(this.width - 1));
    return this.ofBits(ex.or(this.bits(x), ex.and(this.bits(y), sign)));
  }

  /** The leading half of the mantissa of x: products of two such halves are exact. */
  high(x: Expr): Expr {
    const low = this.float === "float32" ? 12n : 27n;
    return this.ofBits(ex.and(this.bits(x), this.whole(-(1n << low))));
  }
}

const FLOAT32 = new Kit("float32", "int32");
const FLOAT64 = new Kit("float64", "int64");

/** The kit of an expression's dtype. */
export function kitOf(e: Expr): Kit {
  if (e.dtype === "float32") return FLOAT32;
  if (e.dtype === "float64") return FLOAT64;
  throw new InternalError(`Cannot decompose ${e.op} of ${e.dtype}: only floats have it`);
}

/** Coefficients[0] + x * (coefficients[1] + …), by Horner's rule. */
export function poly(x: Expr, coefficients: readonly number[]): Expr {
  const n = coefficients.length;
  let sum: Operand = coefficients[n - 1];
  for (let i = n - 2; i >= 0; i--) sum = ex.fma(x, sum, coefficients[i]);
  return sum as Expr;
}

/** x, or the limit if x is above; NaN stays. */
export function atMost(x: Expr, limit: number): Expr {
  return ex.where(ex.gt(x, limit), limit, x);
}

/** x, or the limit if x is below; NaN stays. */
export function atLeast(x: Expr, limit: number): Expr {
  return ex.where(ex.lt(x, limit), limit, x);
}
