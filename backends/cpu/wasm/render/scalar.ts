// What every op becomes at a single point: scalar instructions. Results are those of the
// interpreter, bit for bit, except for the payload of NaN. Not here: vectors (vector.ts), what the
// leaves read (point.ts).
import type { ComputeType } from "../../../../core/dtype.ts";
import { InternalError } from "../../../../core/errors.ts";
import type { CoreOp, Expr, ExprOp, ExtraOp } from "../../../../core/ir/expr.ts";
import type { PlainOp } from "../asm/mod.ts";
import type { Code, Node } from "./code.ts";

/** What the scalar forms need to know of the place they are used at. */
export interface ScalarScope {
  readonly code: Code;
  /** A leaf other than a constant. */
  leaf(e: Expr): Node;
  gather(e: Expr, coords: readonly Node[]): Node;
}

/** Emits an op from the nodes of its arguments. */
export type ScalarEmit = (s: ScalarScope, e: Expr, a: readonly Node[]) => Node;

/** The value type of each compute type at one point. */
export const SCALAR_TYPE = {
  bool: "i32",
  int32: "i32",
  int64: "i64",
  float32: "f32",
  float64: "f64",
} as const satisfies Record<ComputeType, string>;

/** Whether the type is a float. */
export function isFloatType(dtype: ComputeType): dtype is "float32" | "float64" {
  return dtype === "float32" || dtype === "float64";
}

/** The error for an op that has no meaning on a dtype. */
export function refuse(e: Expr): never {
  const from = (e.args[0] ?? e).dtype;
  throw new InternalError(`Cannot render ${e.op} of ${from} giving ${e.dtype}: no such op`);
}

/** A constant of a compute type. */
export function constantNode(code: Code, dtype: ComputeType, value: number | bigint): Node {
  switch (dtype) {
    case "int64":
      return code.i64(value);
    case "float32":
      return code.f32(Number(value));
    case "float64":
      return code.f64(Number(value));
    default:
      return code.i32(Number(value));
  }
}

function isWord(n: Node): boolean {
  return n.type === "i32";
}

const leaf: ScalarEmit = (s, e) => s.leaf(e);

/** The same instruction name for both float types. */
const float = (name: string): ScalarEmit => ({ code }, e, a) =>
  isFloatType(e.args[0].dtype)
    ? code.op(`${SCALAR_TYPE[e.args[0].dtype]}.${name}` as PlainOp, ...a)
    : refuse(e);

/** One name for floats, one for integers; bool has none. */
const number = (floats: string, ints: string | null): ScalarEmit => ({ code }, e, a) => {
  const dtype = e.args[0].dtype;
  const name = isFloatType(dtype) ? floats : ints;
  if (name === null || dtype === "bool") return refuse(e);
  return code.op(`${SCALAR_TYPE[dtype]}.${name}` as PlainOp, ...a);
};

/** For integers, and for bool if `bool`. */
const integer = (name: string, bool = false): ScalarEmit => ({ code }, e, a) => {
  const dtype = e.args[0].dtype;
  if (isFloatType(dtype) || (dtype === "bool" && !bool)) return refuse(e);
  return code.op(`${SCALAR_TYPE[dtype]}.${name}` as PlainOp, ...a);
};

const compare = (name: string, sign: string): ScalarEmit => ({ code }, e, a) => {
  const dtype = e.args[0].dtype;
  return code.op(
    `${SCALAR_TYPE[dtype]}.${name}${isFloatType(dtype) ? "" : sign}` as PlainOp,
    ...a,
  );
};

const extreme = (name: "min" | "max"): ScalarEmit => ({ code }, e, a) => {
  const type = SCALAR_TYPE[e.dtype];
  if (isFloatType(e.dtype)) return code.op(`${type}.${name}` as PlainOp, ...a);
  const better = code.op(`${type}.${name === "min" ? "lt_s" : "gt_s"}` as PlainOp, ...a);
  return code.op("select", a[0], a[1], better);
};

const negate: ScalarEmit = (s, e, a) => {
  if (isFloatType(e.dtype)) return float("neg")(s, e, a);
  return integer("sub")(s, e, [constantNode(s.code, e.dtype, 0), ...a]);
};

const absolute: ScalarEmit = (s, e, a) => {
  if (isFloatType(e.dtype)) return float("abs")(s, e, a);
  const zero = constantNode(s.code, e.dtype, 0);
  const below = s.code.op(isWord(a[0]) ? "i32.lt_s" : "i64.lt_s", a[0], zero);
  return s.code.op("select", negate(s, e, a), a[0], below);
};

/** Neither x / 0 nor INT_MIN / -1 may trap: the divisors 0 and -1 are taken out. */
const divide: ScalarEmit = ({ code }, e, [a, b]) => {
  if (e.dtype !== "int32" && e.dtype !== "int64") return refuse(e);
  const type = SCALAR_TYPE[e.dtype];
  const constant = b.value;
  if (constant !== undefined && Number(constant) !== 0 && Number(constant) !== -1) {
    return code.op(`${type}.div_s`, a, b);
  }
  const number = (x: number): Node => constantNode(code, e.dtype, x);
  const next = code.op(`${type}.add`, b, number(1));
  const plain = code.op(`${type}.ge_u`, next, number(2));
  const quotient = code.op(`${type}.div_s`, a, code.op("select", b, number(1), plain));
  const negated = code.op(`${type}.sub`, number(0), a);
  const other = code.op("select", number(0), negated, code.op(`${type}.eqz`, b));
  return code.op("select", quotient, other, plain);
};

const remainder: ScalarEmit = ({ code }, e, [a, b]) => {
  if (e.dtype !== "int32" && e.dtype !== "int64") return refuse(e);
  const type = SCALAR_TYPE[e.dtype];
  if (b.value !== undefined && Number(b.value) !== 0) return code.op(`${type}.rem_s`, a, b);
  const one = constantNode(code, e.dtype, 1);
  return code.op(`${type}.rem_s`, a, code.op("select", one, b, code.op(`${type}.eqz`, b)));
};

/** The upper half of the unsigned product; for int64 from four products of halves. */
const upperProduct: ScalarEmit = ({ code }, e, [a, b]) => {
  const shift = code.i64(32);
  const upper = (x: Node): Node => code.op("i64.shr_u", x, shift);
  if (e.dtype === "int32") {
    const [x, y] = [a, b].map((v) => code.op("i64.extend_i32_u", v));
    return code.op("i32.wrap_i64", upper(code.op("i64.mul", x, y)));
  }
  if (e.dtype !== "int64") return refuse(e);
  const mask = code.i64(0xffffffff);
  const lower = (x: Node): Node => code.op("i64.and", x, mask);
  const times = (x: Node, y: Node): Node => code.op("i64.mul", x, y);
  const plus = (x: Node, y: Node): Node => code.op("i64.add", x, y);
  const first = plus(times(upper(a), lower(b)), upper(times(lower(a), lower(b))));
  const second = plus(times(lower(a), upper(b)), lower(first));
  return plus(plus(times(upper(a), upper(b)), upper(first)), upper(second));
};

/** Value conversion of one scalar. */
export function castScalar(code: Code, from: ComputeType, to: ComputeType, x: Node): Node {
  if (from === to) return x;
  const type = SCALAR_TYPE[from];
  switch (to) {
    case "bool":
      return code.op(`${type}.ne`, x, constantNode(code, from, 0));
    case "int32":
      if (from === "bool") return x;
      return from === "int64"
        ? code.op("i32.wrap_i64", x)
        : code.op(type === "f32" ? "i32.trunc_sat_f32_s" : "i32.trunc_sat_f64_s", x);
    case "int64":
      if (isFloatType(from)) {
        return code.op(type === "f32" ? "i64.trunc_sat_f32_s" : "i64.trunc_sat_f64_s", x);
      }
      return code.op("i64.extend_i32_s", x);
    case "float32":
      if (from === "float64") return code.op("f32.demote_f64", x);
      return code.op(from === "int64" ? "f32.convert_i64_s" : "f32.convert_i32_s", x);
    case "float64":
      if (from === "float32") return code.op("f64.promote_f32", x);
      return code.op(from === "int64" ? "f64.convert_i64_s" : "f64.convert_i32_s", x);
  }
}

const bitcast: ScalarEmit = ({ code }, e, [a]) => {
  switch (`${e.args[0].dtype}>${e.dtype}`) {
    case "float32>int32":
      return code.op("i32.reinterpret_f32", a);
    case "int32>float32":
      return code.op("f32.reinterpret_i32", a);
    case "float64>int64":
      return code.op("i64.reinterpret_f64", a);
    case "int64>float64":
      return code.op("f64.reinterpret_i64", a);
    default:
      return refuse(e);
  }
};

/** The relaxed instruction exists for vectors only. */
const fused: ScalarEmit = ({ code }, e, a) => {
  const [x, y, z] = a.map((v) => code.splat(v));
  if (e.dtype === "float32") {
    return code.lane("f32x4.extract_lane", 0, code.op("f32x4.relaxed_madd", x, y, z));
  }
  if (e.dtype !== "float64") return refuse(e);
  return code.lane("f64x2.extract_lane", 0, code.op("f64x2.relaxed_madd", x, y, z));
};

/** The scalar form of every op. Extra ops that are missing are rewritten before. */
export const SCALAR:
  & Record<CoreOp, ScalarEmit>
  & Partial<Record<ExtraOp, ScalarEmit>> = {
    const: ({ code }, e) => constantNode(code, e.dtype, e.value!),
    arg: leaf,
    load: leaf,
    coord: leaf,
    size: leaf,
    left: leaf,
    right: leaf,
    result: leaf,
    add: number("add", "add"),
    sub: number("sub", "sub"),
    mul: number("mul", "mul"),
    div: float("div"),
    idiv: divide,
    irem: remainder,
    min: extreme("min"),
    max: extreme("max"),
    neg: negate,
    abs: absolute,
    sqrt: float("sqrt"),
    floor: float("floor"),
    ceil: float("ceil"),
    trunc: float("trunc"),
    rint: float("nearest"),
    and: integer("and", true),
    or: integer("or", true),
    xor: integer("xor", true),
    shl: integer("shl"),
    shr: integer("shr_s"),
    shru: integer("shr_u"),
    mulhiu: upperProduct,
    lt: compare("lt", "_s"),
    le: compare("le", "_s"),
    eq: compare("eq", ""),
    ne: compare("ne", ""),
    where: ({ code }, _, [c, a, b]) => code.op("select", a, b, c),
    cast: ({ code }, e, [a]) => castScalar(code, e.args[0].dtype, e.dtype, a),
    bitcast,
    gather: (s, e, a) => s.gather(e, a),
    fma: fused,
  };

/** Emits an op from the nodes of its arguments. */
export function emitScalar(s: ScalarScope, e: Expr, args: readonly Node[]): Node {
  const emit: ScalarEmit | undefined = SCALAR[e.op];
  if (emit === undefined) throw new InternalError(`Cannot render ${e.op}: it was not rewritten`);
  return emit(s, e, args);
}

/** Whether the op need not be rewritten to core ops. */
export function isRendered(op: ExprOp, relaxed: boolean): boolean {
  return op === "fma" ? relaxed : op in SCALAR;
}
