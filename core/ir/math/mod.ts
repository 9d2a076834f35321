// Extra ops in terms of core ops, for renderers that do not emit them themselves. Not here: the
// formulas, which stand in the files beside this one.
import { add, type Expr, type ExprOp, type ExtraOp, mul, rewrite } from "../expr.ts";
import { acos, asin, atan, atan2 } from "./arc.ts";
import { erf, erfc, erfinv } from "./erf.ts";
import { cosh, exp, exp2, expm1, sinh, tanh } from "./exp.ts";
import { acosh, asinh, atanh, log, log10, log1p, log2 } from "./log.ts";
import { pow } from "./pow.ts";
import { cos, sin, tan } from "./trig.ts";

const one = (f: (x: Expr) => Expr) => (e: Expr): Expr => f(e.args[0]);
const two = (f: (a: Expr, b: Expr) => Expr) => (e: Expr): Expr => f(e.args[0], e.args[1]);

/**
 * How each extra op is computed from core ops and fma, within two units of the last place of the
 * correctly rounded value, for float32 and float64. A missing one is a type error.
 */
export const decomposeExtra: Readonly<Record<ExtraOp, (e: Expr) => Expr>> = {
  fma: (e) => add(mul(e.args[0], e.args[1]), e.args[2]),
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

/** A function that gives the first of equal nodes; the arguments must have gone through it. */
function unifier(): (e: Expr) => Expr {
  const ids = new Map<Expr, number>();
  const known = new Map<string, Expr>();
  return (e) => {
    const value = Object.is(e.value, -0) ? "-0" : String(e.value);
    const inside = e.args.map((a) => ids.get(a)).join(",");
    const key = `${e.op} ${e.dtype} ${value} ${e.index} ${e.stage} ${inside}`;
    const first = known.get(key);
    if (first !== undefined) return first;
    known.set(key, e);
    ids.set(e, ids.size);
    return e;
  };
}

/**
 * Rewrites extra ops that `supports` refuses into ops that it accepts, and makes equal nodes one, so
 * that sin x and cos x share the reduction of x.
 */
export function legalize(
  roots: readonly Expr[],
  supports: (op: ExprOp) => boolean,
): Expr[] {
  const memo = new Map<Expr, Expr>();
  const unify = unifier();
  const step = (e: Expr): Expr => {
    if (!Object.hasOwn(decomposeExtra, e.op) || supports(e.op)) return unify(e);
    return rewrite([decomposeExtra[e.op as ExtraOp](e)], step, memo)[0];
  };
  return rewrite(roots, step, memo);
}
