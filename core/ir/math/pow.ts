// Powers.
import * as k from "../expr.ts";
import type { Expr } from "../expr.ts";
import { exp2 } from "./exp.ts";
import { log2 } from "./log.ts";

/** a to the power of b. */
export function pow(a: Expr, b: Expr): Expr {
  return exp2(k.mul(b, log2(k.abs(a))));
}
