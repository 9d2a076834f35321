// Scalar expressions: the language in which every op says what it computes, rendered by each
// backend and run by the interpreter. Only structure and builders here: no evaluation, no
// rendering, and no decomposition of extra ops (math.ts).
import { type ComputeType, type DType, DTYPES } from "../dtype.ts";
import { InternalError } from "../errors.ts";

/** Ops that take no expression arguments. */
export type LeafOp =
  | "const" // value
  | "arg" // run-time scalar number `index` of the launch
  | "load" // input `index` at the current point, through its strides
  | "coord" // coordinate of the current point along domain axis `index` (int32)
  | "size" // size of domain axis `index` (int32)
  | "left" // accumulated state `index` of the surrounding reduce or scan
  | "right" // incoming state `index` of the surrounding reduce or scan
  | "result"; // state `index` of reduce stage `stage`, after it has run

/**
 * Ops that every renderer must emit. Integers wrap; shifts take the count modulo the width.
 * `min` and `max` give NaN if either side is NaN. `idiv` and `irem` truncate; x / 0 is 0, x rem 0 is 0.
 * Comparisons give bool. `cast` to an integer truncates and saturates, NaN gives 0; to bool it is != 0.
 * `gather` reads input `index` at explicit coordinates, one argument an axis of that input
 * (int32 or int64); the coordinates must be in range.
 */
export type CoreOp =
  | LeafOp
  | "add"
  | "sub"
  | "mul"
  | "div"
  | "idiv"
  | "irem"
  | "min"
  | "max"
  | "neg"
  | "abs"
  | "sqrt"
  | "floor"
  | "ceil"
  | "trunc"
  | "rint"
  | "and"
  | "or"
  | "xor"
  | "shl"
  | "shr"
  | "shru"
  | "mulhiu"
  | "lt"
  | "le"
  | "eq"
  | "ne"
  | "where"
  | "cast"
  | "bitcast"
  | "gather";

/** Ops a renderer may emit itself; where it does not, math.ts rewrites them to core ops. */
export type ExtraOp =
  | "fma"
  | "exp"
  | "exp2"
  | "expm1"
  | "log"
  | "log2"
  | "log10"
  | "log1p"
  | "sin"
  | "cos"
  | "tan"
  | "asin"
  | "acos"
  | "atan"
  | "sinh"
  | "cosh"
  | "tanh"
  | "asinh"
  | "acosh"
  | "atanh"
  | "erf"
  | "erfc"
  | "erfinv"
  | "pow"
  | "atan2";

/** Any op of a scalar expression. */
export type ExprOp = CoreOp | ExtraOp;

/** A node of a scalar expression DAG. Shared nodes are computed once. */
export interface Expr {
  readonly op: ExprOp;
  readonly dtype: ComputeType;
  readonly args: readonly Expr[];
  /** Of "const": the value (number for floats and int32, bigint for int64, 0 or 1 for bool). */
  readonly value?: number | bigint;
  /** Of leaves: which one. */
  readonly index?: number;
  /** Of "result": which stage. */
  readonly stage?: number;
}

/** An expression, or a number that takes the dtype of the expression beside it. */
export type Operand = Expr | number | bigint | boolean;

const NONE: readonly Expr[] = [];

/** A constant. */
export function constant(value: number | bigint | boolean, dtype: ComputeType): Expr {
  let v: number | bigint;
  if (dtype === "int64") {
    v = BigInt.asIntN(64, typeof value === "bigint" ? value : BigInt(Math.trunc(Number(value))));
  } else if (dtype === "int32") v = Number(BigInt.asIntN(32, BigInt(Math.trunc(Number(value)))));
  else if (dtype === "bool") v = Number(value) !== 0 ? 1 : 0;
  else if (dtype === "float32") v = Math.fround(Number(value));
  else v = Number(value);
  return { op: "const", dtype, args: NONE, value: v };
}

/** A leaf other than a constant. */
export function leaf(op: LeafOp, dtype: ComputeType, index: number, stage?: number): Expr {
  return stage === undefined
    ? { op, dtype, args: NONE, index }
    : { op, dtype, args: NONE, index, stage };
}

/** A number becomes a constant of the dtype; an expression must have it already. */
export function toExpr(x: Operand, dtype: ComputeType): Expr {
  return typeof x === "object" ? x : constant(x, dtype);
}

function typeOf(xs: readonly Operand[]): ComputeType {
  for (const x of xs) if (typeof x === "object") return x.dtype;
  throw new InternalError(
    "Cannot build an expression of constants alone: cast one with constant(x, dtype)",
  );
}

function build(op: ExprOp, xs: readonly Operand[], out?: ComputeType): Expr {
  const dtype = typeOf(xs);
  const args = xs.map((x) => toExpr(x, dtype));
  for (const a of args) {
    if (a.dtype !== dtype) {
      throw new InternalError(
        `Cannot build ${op} of ${args.map((x) => x.dtype).join(", ")}: dtypes must be equal`,
      );
    }
  }
  return { op, dtype: out ?? dtype, args };
}

const unary = (op: ExprOp) => (x: Expr): Expr => build(op, [x]);
const binary = (op: ExprOp) => (a: Operand, b: Operand): Expr => build(op, [a, b]);
const compare = (op: ExprOp) => (a: Operand, b: Operand): Expr => build(op, [a, b], "bool");

type Unary = (x: Expr) => Expr;
type Binary = (a: Operand, b: Operand) => Expr;

export const add: Binary = binary("add");
export const sub: Binary = binary("sub");
export const mul: Binary = binary("mul");
export const div: Binary = binary("div");
export const idiv: Binary = binary("idiv");
export const irem: Binary = binary("irem");
export const min: Binary = binary("min");
export const max: Binary = binary("max");
export const and: Binary = binary("and");
export const or: Binary = binary("or");
export const xor: Binary = binary("xor");
export const shl: Binary = binary("shl");
export const shr: Binary = binary("shr");
export const shru: Binary = binary("shru");
export const mulhiu: Binary = binary("mulhiu");
export const pow: Binary = binary("pow");
export const atan2: Binary = binary("atan2");
export const lt: Binary = compare("lt");
export const le: Binary = compare("le");
export const eq: Binary = compare("eq");
export const ne: Binary = compare("ne");
export const gt: Binary = (a, b) => lt(b, a);
export const ge: Binary = (a, b) => le(b, a);
export const neg: Unary = unary("neg");
export const abs: Unary = unary("abs");
export const sqrt: Unary = unary("sqrt");
export const floor: Unary = unary("floor");
export const ceil: Unary = unary("ceil");
export const trunc: Unary = unary("trunc");
export const rint: Unary = unary("rint");
export const exp: Unary = unary("exp");
export const exp2: Unary = unary("exp2");
export const expm1: Unary = unary("expm1");
export const log: Unary = unary("log");
export const log2: Unary = unary("log2");
export const log10: Unary = unary("log10");
export const log1p: Unary = unary("log1p");
export const sin: Unary = unary("sin");
export const cos: Unary = unary("cos");
export const tan: Unary = unary("tan");
export const asin: Unary = unary("asin");
export const acos: Unary = unary("acos");
export const atan: Unary = unary("atan");
export const sinh: Unary = unary("sinh");
export const cosh: Unary = unary("cosh");
export const tanh: Unary = unary("tanh");
export const asinh: Unary = unary("asinh");
export const acosh: Unary = unary("acosh");
export const atanh: Unary = unary("atanh");
export const erf: Unary = unary("erf");
export const erfc: Unary = unary("erfc");
export const erfinv: Unary = unary("erfinv");

/** a * b + c, rounded once where the renderer can, else twice. */
export const fma = (a: Operand, b: Operand, c: Operand): Expr => build("fma", [a, b, c]);

/** Logical not of a bool, bitwise not of an integer. */
export function not(x: Expr): Expr {
  return xor(x, constant(x.dtype === "bool" ? 1 : -1, x.dtype));
}

/** `a` where the condition holds, else `b`. Both sides are computed. */
export function where(cond: Expr, a: Operand, b: Operand): Expr {
  const dtype = typeOf([a, b]);
  const args = [cond, toExpr(a, dtype), toExpr(b, dtype)];
  if (cond.dtype !== "bool" || args[1].dtype !== args[2].dtype) {
    throw new InternalError(`Cannot build where of ${args.map((x) => x.dtype).join(", ")}`);
  }
  return { op: "where", dtype, args };
}

/** Value conversion; see {@linkcode CoreOp}. */
export function cast(x: Expr, dtype: ComputeType): Expr {
  if (x.dtype === dtype) return x;
  if (x.op === "const") {
    const v = x.value!;
    const toInt = dtype === "int32" || dtype === "int64";
    if (!toInt || typeof v === "bigint" || Number.isSafeInteger(v)) {
      if (dtype !== "int32" || Math.abs(Number(v)) < 2 ** 31) return constant(v, dtype);
    }
  }
  return { op: "cast", dtype, args: [x] };
}

/** Reinterprets the bits: float32 ↔ int32, float64 ↔ int64. */
export function bitcast(x: Expr, dtype: ComputeType): Expr {
  return { op: "bitcast", dtype, args: [x] };
}

/** Reads input `index`, of dtype `dtype`, at explicit coordinates. */
export function gather(index: number, dtype: ComputeType, coords: readonly Expr[]): Expr {
  return { op: "gather", dtype, args: coords, index };
}

/** Whether x is NaN (integers never are). */
export function isNan(x: Expr): Expr {
  return ne(x, x);
}

/** The compute dtype of a storage dtype. Throws for complex, which has none. */
export function computeType(dtype: DType): ComputeType {
  const c = DTYPES[dtype].compute;
  if (c === null) throw new InternalError(`Cannot compute in ${dtype}: it is a pair of floats`);
  return c;
}

const LEAF: ReadonlySet<ExprOp> = new Set<ExprOp>([
  "const",
  "arg",
  "load",
  "coord",
  "size",
  "left",
  "right",
  "result",
]);

/** Whether the op takes no expression arguments. */
export function isLeaf(op: ExprOp): op is LeafOp {
  return LEAF.has(op);
}

/** Visits every node once, arguments first. */
export function walk(roots: readonly Expr[], visit: (e: Expr) => void): void {
  const seen = new Set<Expr>();
  const go = (e: Expr): void => {
    if (seen.has(e)) return;
    seen.add(e);
    for (const a of e.args) go(a);
    visit(e);
  };
  for (const r of roots) go(r);
}

/** Rebuilds the DAG bottom-up; `map` gets each node with its new arguments. Sharing is kept. */
export function rewrite(
  roots: readonly Expr[],
  map: (e: Expr) => Expr,
  memo: Map<Expr, Expr> = new Map(),
): Expr[] {
  const go = (e: Expr): Expr => {
    const known = memo.get(e);
    if (known !== undefined) return known;
    let node = e;
    if (e.args.length > 0) {
      const args = e.args.map(go);
      if (args.some((a, i) => a !== e.args[i])) node = { ...e, args };
    }
    const out = map(node);
    memo.set(e, out);
    return out;
  };
  return roots.map(go);
}

const SHORT: Record<ComputeType, string> = {
  bool: "b",
  int32: "i",
  int64: "l",
  float32: "f",
  float64: "d",
};

/**
 * A text that is equal for equal DAGs (sharing written as numbers): `1=load0:f;2=max(1,c0)`.
 * Used in cache keys and snapshots.
 */
export function exprKey(roots: readonly Expr[]): string {
  const names = new Map<Expr, string>();
  const byText = new Map<string, string>();
  const lines: string[] = [];
  walk(roots, (e) => {
    if (e.op === "const") {
      const v = Object.is(e.value, -0) ? "-0" : String(e.value);
      names.set(e, `${v}${SHORT[e.dtype]}`);
      return;
    }
    const inside = e.args.map((a) => names.get(a)).join(",");
    const idx = e.index === undefined
      ? ""
      : e.stage === undefined
      ? e.index
      : `${e.stage}.${e.index}`;
    const text = `${e.op}${idx}${e.args.length > 0 ? `(${inside})` : ""}:${SHORT[e.dtype]}`;
    const known = byText.get(text);
    if (known !== undefined) {
      names.set(e, known);
      return;
    }
    const name = `%${lines.length}`;
    byText.set(text, name);
    names.set(e, name);
    lines.push(text);
  });
  return `${lines.join(";")}|${roots.map((r) => names.get(r)).join(",")}`;
}
