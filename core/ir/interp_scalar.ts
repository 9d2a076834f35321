// What every op of a scalar expression computes, on plain JavaScript values: the meaning of
// expr.ts, written down as functions. Not here: leaves and loops (interp.ts), the functions that
// Math lacks (interp_special.ts).
import type { ComputeType } from "../dtype.ts";
import { InternalError } from "../errors.ts";
import type { Expr, ExprOp, ExtraOp } from "./expr.ts";
import { atan2, erf, erfc, erfinv, exp2, fma32, fma64, pow } from "./interp_special.ts";

/** A value of an expression: bigint for int64, else a number (bool is 0 or 1). */
export type Value = number | bigint;

/** Computes an op from the values of its arguments. */
export type ScalarFn = (...args: Value[]) => Value;

const words = new DataView(new ArrayBuffer(8));

function bitcast(from: ComputeType, to: ComputeType): ScalarFn | undefined {
  switch (`${from}>${to}`) {
    case "float32>int32":
      return num1((x) => (words.setFloat32(0, x), words.getInt32(0)));
    case "int32>float32":
      return num1((x) => (words.setInt32(0, x), words.getFloat32(0)));
    case "float64>int64":
      return (x) => (words.setFloat64(0, x as number), words.getBigInt64(0));
    case "int64>float64":
      return (x) => (words.setBigInt64(0, x as bigint), words.getFloat64(0));
    default:
      return undefined;
  }
}

/** The float32 nearest to an int64, rounded once: a sticky bit keeps what float64 cannot hold. */
function float32OfInt64(x: bigint): number {
  if (x >= -(1n << 53n) && x <= 1n << 53n) return Math.fround(Number(x));
  const kept = (x >> 10n) | ((x & 1023n) === 0n ? 0n : 1n);
  return Math.fround(Number(kept)) * 1024;
}

function int64OfFloat(x: number): bigint {
  if (Number.isNaN(x)) return 0n;
  if (x >= 2 ** 63) return (1n << 63n) - 1n;
  if (x < -(2 ** 63)) return -(1n << 63n);
  return BigInt(Math.trunc(x));
}

function int32OfFloat(x: number): number {
  return Number.isNaN(x) ? 0 : Math.max(-(2 ** 31), Math.min(2 ** 31 - 1, x)) | 0;
}

/** Value conversion between compute types; int64 to int32 keeps the low bits. */
export function castFn(from: ComputeType, to: ComputeType): ScalarFn {
  if (from === to) return (x) => x;
  switch (to) {
    case "bool":
      return from === "int64" ? (x) => x === 0n ? 0 : 1 : (x) => x === 0 ? 0 : 1;
    case "int32":
      if (from === "int64") return (x) => Number(BigInt.asIntN(32, x as bigint));
      return from === "bool" ? (x) => x : num1(int32OfFloat);
    case "int64":
      if (from === "float32" || from === "float64") return (x) => int64OfFloat(x as number);
      return (x) => BigInt(x);
    case "float32":
      return from === "int64" ? (x) => float32OfInt64(x as bigint) : num1(Math.fround);
    case "float64":
      return (x) => Number(x);
  }
}

/** Rounds to the nearest integer, ties to even, keeping the sign of zero. */
function rint(x: number): number {
  if (!(Math.abs(x) < 2 ** 52)) return x;
  const shift = x < 0 || Object.is(x, -0) ? -(2 ** 52) : 2 ** 52;
  const r = (x + shift) - shift;
  return r === 0 && shift < 0 ? -0 : r;
}

type Num1 = (x: number) => number;
type Num2 = (a: number, b: number) => number;
type Big2 = (a: bigint, b: bigint) => Value;

const num1 = (f: Num1): ScalarFn => (x) => f(x as number);
const num2 = (f: Num2): ScalarFn => (a, b) => f(a as number, b as number);
const big2 = (f: Big2): ScalarFn => (a, b) => f(a as bigint, b as bigint);
const wrap = (x: bigint): bigint => BigInt.asIntN(64, x);
const bit = (x: boolean): number => x ? 1 : 0;

type Table = Partial<Record<ExprOp, ScalarFn>>;

const COMPARE: Table = {
  lt: (a, b) => bit(a < b),
  le: (a, b) => bit(a <= b),
  eq: (a, b) => bit(a === b),
  ne: (a, b) => bit(a !== b),
};

const BOOL: Table = {
  ...COMPARE,
  and: num2((a, b) => a & b),
  or: num2((a, b) => a | b),
  xor: num2((a, b) => a ^ b),
  min: num2(Math.min),
  max: num2(Math.max),
};

const INT32: Table = {
  ...BOOL,
  add: num2((a, b) => (a + b) | 0),
  sub: num2((a, b) => (a - b) | 0),
  mul: num2(Math.imul),
  idiv: num2((a, b) => b === 0 ? 0 : (a / b) | 0),
  irem: num2((a, b) => b === 0 ? 0 : (a % b) | 0),
  neg: num1((x) => -x | 0),
  abs: num1((x) => Math.abs(x) | 0),
  shl: num2((a, b) => a << b),
  shr: num2((a, b) => a >> b),
  shru: num2((a, b) => (a >>> b) | 0),
  mulhiu: num2((a, b) => Number((BigInt(a >>> 0) * BigInt(b >>> 0)) >> 32n) | 0),
};

const U64 = (x: bigint): bigint => BigInt.asUintN(64, x);

const INT64: Table = {
  ...COMPARE,
  and: big2((a, b) => a & b),
  or: big2((a, b) => a | b),
  xor: big2((a, b) => a ^ b),
  min: big2((a, b) => a < b ? a : b),
  max: big2((a, b) => a > b ? a : b),
  add: big2((a, b) => wrap(a + b)),
  sub: big2((a, b) => wrap(a - b)),
  mul: big2((a, b) => wrap(a * b)),
  idiv: big2((a, b) => b === 0n ? 0n : wrap(a / b)),
  irem: big2((a, b) => b === 0n ? 0n : a % b),
  neg: (x) => wrap(-(x as bigint)),
  abs: (x) => (x as bigint) < 0n ? wrap(-(x as bigint)) : x,
  shl: big2((a, b) => wrap(a << (b & 63n))),
  shr: big2((a, b) => a >> (b & 63n)),
  shru: big2((a, b) => wrap(U64(a) >> (b & 63n))),
  mulhiu: big2((a, b) => wrap((U64(a) * U64(b)) >> 64n)),
};

/** Functions of one or two numbers, accurate to about one unit of float64. */
const FUNCTIONS: Record<Exclude<ExtraOp, "fma">, Num1 | Num2> = {
  exp: Math.exp,
  exp2,
  expm1: Math.expm1,
  log: Math.log,
  log2: Math.log2,
  log10: Math.log10,
  log1p: Math.log1p,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  asin: Math.asin,
  acos: Math.acos,
  atan: Math.atan,
  sinh: Math.sinh,
  cosh: Math.cosh,
  tanh: Math.tanh,
  asinh: Math.asinh,
  acosh: Math.acosh,
  atanh: Math.atanh,
  erf,
  erfc,
  erfinv,
  pow,
  atan2,
};

const FLOAT_OPS: Partial<Record<ExprOp, Num1 | Num2>> = {
  ...FUNCTIONS,
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  min: Math.min,
  max: Math.max,
  neg: (x: number) => -x,
  abs: Math.abs,
  sqrt: Math.sqrt,
  floor: Math.floor,
  ceil: Math.ceil,
  trunc: Math.trunc,
  rint,
};

/** Every float op computed in float64 and rounded once; for float32 that is correct rounding. */
function floatTable(round: Num1 | null): Table {
  const table: Table = { ...COMPARE };
  for (const [op, f] of Object.entries(FLOAT_OPS) as [ExprOp, Num2][]) {
    table[op] = round === null ? num2(f) : num2((a, b) => round(f(a, b)));
  }
  const fma = round === null ? fma64 : fma32;
  table.fma = (a, b, c) => fma(a as number, b as number, c as number);
  return table;
}

const TABLES: Record<ComputeType, Table> = {
  bool: BOOL,
  int32: INT32,
  int64: INT64,
  float32: floatTable(Math.fround),
  float64: floatTable(null),
};

/** How a node with arguments is computed. Throws InternalError if its dtype has no such op. */
export function scalarFn(e: Expr): ScalarFn {
  const from = e.args[0].dtype;
  let fn: ScalarFn | undefined;
  switch (e.op) {
    case "where":
      return (c, a, b) => c !== 0 ? a : b;
    case "cast":
      return castFn(from, e.dtype);
    case "bitcast":
      fn = bitcast(from, e.dtype);
      break;
    default:
      fn = TABLES[from][e.op];
  }
  if (fn === undefined) {
    throw new InternalError(`Cannot evaluate ${e.op} of ${from} giving ${e.dtype}: no such op`);
  }
  return fn;
}
