// Extra ops in terms of core ops, for renderers that do not emit them themselves.
import * as k from "../expr.ts";
import type { Expr, ExprOp, ExtraOp } from "../expr.ts";
import { acos, asin, atan, atan2 } from "./arc.ts";
import { erf, erfc, erfinv } from "./erf.ts";
import { cosh, exp, exp2, expm1, sinh, tanh } from "./exp.ts";
import { acosh, asinh, atanh, log, log10, log1p, log2 } from "./log.ts";
import { pow } from "./pow.ts";
import { cos, sin, tan } from "./trig.ts";

const one = (f: (x: Expr) => Expr) => (e: Expr): Expr => f(e.args[0]);
const two = (f: (a: Expr, b: Expr) => Expr) => (e: Expr): Expr => f(e.args[0], e.args[1]);

/** How each extra op is computed from core ops (and fma). A missing one is a type error. */
export const decomposeExtra: Readonly<Record<ExtraOp, (e: Expr) => Expr>> = {
  fma: (e) => k.add(k.mul(e.args[0], e.args[1]), e.args[2]),
  exp: one(exp),
  exp2: one(exp2),
  expm1: one(expm1),
  log: one(log),
  log2: one(log2),
  log10: one(log10),
  log1p: one(log1p),
  sin: one(sin),
  cos: one(cos),
  tan: one(tan),
  asin: one(asin),
  acos: one(acos),
  atan: one(atan),
  sinh: one(sinh),
  cosh: one(cosh),
  tanh: one(tanh),
  asinh: one(asinh),
  acosh: one(acosh),
  atanh: one(atanh),
  erf: one(erf),
  erfc: one(erfc),
  erfinv: one(erfinv),
  pow: two(pow),
  atan2: two(atan2),
};

/** Rewrites extra ops that `supports` refuses into ops that it accepts. */
export function legalize(roots: readonly Expr[], supports: (op: ExprOp) => boolean): Expr[] {
  const memo = new Map<Expr, Expr>();
  const step = (e: Expr): Expr => {
    if (!(e.op in decomposeExtra) || supports(e.op)) return e;
    const made = decomposeExtra[e.op as ExtraOp](e);
    return k.rewrite([made], step, memo)[0];
  };
  return k.rewrite(roots, step, memo);
}
