// What every op becomes at four points at once: vector instructions, with 64-bit values as two
// vectors. What the instruction set lacks is done lane by lane in scalars. Not here: loads and
// other leaves (point.ts).
import type { ComputeType } from "../../../../core/dtype.ts";
import { InternalError } from "../../../../core/errors.ts";
import type { CoreOp, Expr, ExtraOp } from "../../../../core/ir/expr.ts";
import type { LaneOp, PlainOp } from "../asm/mod.ts";
import type { Code, Node } from "./code.ts";
import { emitScalar, isFloatType, refuse, type ScalarScope } from "./scalar.ts";
import { isScalar, type Value } from "./storage.ts";

/** What the vector forms need to know of the place they are used at. */
export interface VectorScope extends ScalarScope {
  /** The lanes of an expression; splat if it is the same at all points. */
  vector(e: Expr): Value;
  /** The scalar of an expression that is the same at all points. */
  scalar(e: Expr): Node;
  isUniform(e: Expr): boolean;
  /** One lane as a scalar. */
  lane(e: Expr, index: number): Node;
  /** A leaf that differs from point to point. */
  vectorLeaf(e: Expr): Value;
  vectorGather(e: Expr): Value;
}

/** Emits an op that differs from point to point. */
export type VectorEmit = (v: VectorScope, e: Expr) => Value;

const VECTOR_TYPE = {
  bool: "i32x4",
  int32: "i32x4",
  int64: "i64x2",
  float32: "f32x4",
  float64: "f64x2",
} as const satisfies Record<ComputeType, string>;

/** Whether four points of the type take two vectors. */
export function isWide(dtype: ComputeType): boolean {
  return dtype === "int64" || dtype === "float64";
}

const EVEN_WORDS = [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27];
const ODD_WORDS = EVEN_WORDS.map((i) => i + 4);
const LOW_HALVES = [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23];
const HIGH_FIRST = [8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7];

/** The words 2 and 3 of a vector as words 0 and 1. */
function upperWords(code: Code, x: Node): Node {
  return code.shuffle(x, x, HIGH_FIRST);
}

/** A bool in 32-bit lanes. */
export function narrowMask(code: Code, mask: Value): Node {
  return mask.length === 1 ? mask[0] : code.shuffle(mask[0], mask[1], EVEN_WORDS);
}

/** A bool in 64-bit lanes. */
export function wideMask(code: Code, mask: Value): Value {
  if (mask.length === 2) return mask;
  return [
    code.op("i64x2.extend_low_i32x4_s", mask[0]),
    code.op("i64x2.extend_high_i32x4_s", mask[0]),
  ];
}

/** A scalar in all lanes. */
export function splatValue(code: Code, dtype: ComputeType, x: Node): Value {
  if (dtype === "bool") return [code.splat(code.op("i32.sub", code.i32(0), x))];
  const v = code.splat(x);
  return isWide(dtype) ? [v, v] : [v];
}

/** Four scalars as lanes. */
export function pack(code: Code, dtype: ComputeType, lanes: readonly Node[]): Value {
  const type = VECTOR_TYPE[dtype];
  const replace = `${type}.replace_lane` as LaneOp;
  if (isWide(dtype)) {
    return [0, 2].map((i) => code.lane(replace, 1, code.splat(lanes[i]), lanes[i + 1]));
  }
  let v = code.splat(lanes[0]);
  for (let i = 1; i < 4; i++) v = code.lane(replace, i, v, lanes[i]);
  return [dtype === "bool" ? code.op("i32x4.neg", v) : v];
}

/** One lane as a scalar. */
export function extract(code: Code, dtype: ComputeType, value: Value, index: number): Node {
  const type = VECTOR_TYPE[dtype];
  if (dtype === "bool") {
    const mask = code.lane("i32x4.extract_lane", index, narrowMask(code, value));
    return code.op("i32.and", mask, code.i32(1));
  }
  const op = `${type}.extract_lane` as LaneOp;
  return isWide(dtype)
    ? code.lane(op, index & 1, value[index >> 1])
    : code.lane(op, index, value[0]);
}

/** Does an op lane by lane. */
const lanewise: VectorEmit = (v, e) => {
  const lanes = [0, 1, 2, 3].map((i) => emitScalar(v, e, e.args.map((a) => v.lane(a, i))));
  return pack(v.code, e.dtype, lanes);
};

/** Applies an instruction to each vector of the arguments. */
function each(code: Code, op: PlainOp, ...args: Value[]): Value {
  return args[0].map((_, half) => code.op(op, ...args.map((a) => a[half])));
}

/** Lanes of `yes` where the mask, in lanes of the same width, is set; else of `no`. */
export function blendValue(code: Code, mask: Value, yes: Value, no: Value): Value {
  return mask.map((m, half) => code.blend(m, yes[half], no[half]));
}

/** Bools brought to one width: the wide one only if all are wide. */
function sameWidth(code: Code, values: readonly Value[]): Value[] {
  if (values.every((x) => x.length === 2)) return [...values];
  return values.map((x) => [narrowMask(code, x)]);
}

function masks(v: VectorScope, args: readonly Expr[]): Value[] {
  return sameWidth(v.code, args.map((a) => v.vector(a)));
}

const leaf: VectorEmit = (v, e) => v.vectorLeaf(e);

const float = (name: string): VectorEmit => (v, e) => {
  const dtype = e.args[0].dtype;
  if (!isFloatType(dtype)) return refuse(e);
  return each(
    v.code,
    `${VECTOR_TYPE[dtype]}.${name}` as PlainOp,
    ...e.args.map((a) => v.vector(a)),
  );
};

const number = (name: string): VectorEmit => (v, e) => {
  const dtype = e.args[0].dtype;
  if (dtype === "bool") return refuse(e);
  return each(
    v.code,
    `${VECTOR_TYPE[dtype]}.${name}` as PlainOp,
    ...e.args.map((a) => v.vector(a)),
  );
};

const logic = (name: "and" | "or" | "xor"): VectorEmit => (v, e) => {
  const dtype = e.args[0].dtype;
  if (isFloatType(dtype)) return refuse(e);
  const args = dtype === "bool" ? masks(v, e.args) : e.args.map((a) => v.vector(a));
  return each(v.code, `v128.${name}`, ...args);
};

/** Comparisons; of bools by logic on the masks. */
const compare = (
  name: string,
  sign: string,
  bool: (code: Code, a: Node, b: Node) => Node,
): VectorEmit =>
(v, e) => {
  const dtype = e.args[0].dtype;
  if (dtype === "bool") {
    const [a, b] = masks(v, e.args);
    return a.map((_, half) => bool(v.code, a[half], b[half]));
  }
  const op = `${VECTOR_TYPE[dtype]}.${name}${isFloatType(dtype) ? "" : sign}` as PlainOp;
  return each(v.code, op, ...e.args.map((a) => v.vector(a)));
};

/** The number of a constant that is not NaN, if it is one. */
function constantOf(e: Expr): number | null {
  return e.op !== "const" || Number.isNaN(Number(e.value)) ? null : Number(e.value);
}

/**
 * The smaller or larger of x and a constant, in the one instruction that gives x where it is NaN.
 * Of two zeros it gives x too, which is wrong for max(-0, 0) and min(0, -0).
 */
function bound(v: VectorScope, name: "min" | "max", x: Expr, c: Expr): Value | null {
  const limit = constantOf(c);
  if (limit === null || (name === "min" && Object.is(limit, -0))) return null;
  const bound = v.vector(c);
  const type = VECTOR_TYPE[x.dtype];
  const nearest = each(v.code, `${type}.p${name}` as PlainOp, v.vector(x), bound);
  const wrong = name === "max" && Object.is(limit, 0);
  return wrong ? each(v.code, `${type}.add` as PlainOp, nearest, bound) : nearest;
}

const extreme = (name: "min" | "max"): VectorEmit => (v, e) => {
  if (isFloatType(e.dtype)) {
    const [x, y] = e.args;
    return bound(v, name, x, y) ?? bound(v, name, y, x) ?? float(name)(v, e);
  }
  if (e.dtype === "bool") return logic(name === "min" ? "and" : "or")(v, e);
  const [a, b] = e.args.map((x) => v.vector(x));
  if (e.dtype === "int32") return each(v.code, `i32x4.${name}_s`, a, b);
  const better = each(v.code, name === "min" ? "i64x2.lt_s" : "i64x2.gt_s", a, b);
  return blendValue(v.code, better, a, b);
};

const shift = (name: "shl" | "shr_s" | "shr_u"): VectorEmit => (v, e) => {
  if (e.dtype !== "int32" && e.dtype !== "int64") return refuse(e);
  if (!v.isUniform(e.args[1])) return lanewise(v, e);
  const count = v.scalar(e.args[1]);
  const by = e.dtype === "int32"
    ? count
    : count.value === undefined
    ? v.code.op("i32.wrap_i64", count)
    : v.code.i32(Number(BigInt(count.value) & 63n));
  return v.vector(e.args[0]).map((x) =>
    v.code.op(`${VECTOR_TYPE[e.dtype]}.${name}` as PlainOp, x, by)
  );
};

/** Whether an integer divisor may be one of the two that need care. */
function maySpoil(b: Expr): boolean {
  return b.op !== "const" || Number(b.value) === 0 || Number(b.value) === -1;
}

/**
 * int32 quotients through float64, which holds them exactly: a quotient that is no integer is at
 * least 2^-31 of its size away from one.
 */
function quotient(v: VectorScope, a: Node, b: Node, careful: boolean): Node {
  const { code } = v;
  const half = (x: Node, y: Node): Node =>
    code.op(
      "i32x4.trunc_sat_f64x2_s_zero",
      code.op(
        "f64x2.div",
        code.op("f64x2.convert_low_i32x4_s", x),
        code.op("f64x2.convert_low_i32x4_s", y),
      ),
    );
  const q = code.shuffle(half(a, b), half(upperWords(code, a), upperWords(code, b)), LOW_HALVES);
  if (!careful) return q;
  const minusOne = code.op("i32x4.eq", b, code.splat(code.i32(-1)));
  const wrapped = code.blend(minusOne, code.op("i32x4.neg", a), q);
  return code.op("v128.andnot", wrapped, code.op("i32x4.eq", b, code.splat(code.i32(0))));
}

const divide: VectorEmit = (v, e) => {
  if (e.dtype !== "int32") return lanewise(v, e);
  const [[a], [b]] = e.args.map((x) => v.vector(x));
  return [quotient(v, a, b, maySpoil(e.args[1]))];
};

const remainder: VectorEmit = (v, e) => {
  if (e.dtype !== "int32") return lanewise(v, e);
  const { code } = v;
  const careful = maySpoil(e.args[1]);
  const [[a], [b]] = e.args.map((x) => v.vector(x));
  const rest = code.op("i32x4.sub", a, code.op("i32x4.mul", quotient(v, a, b, careful), b));
  if (!careful) return [rest];
  return [code.op("v128.andnot", rest, code.op("i32x4.eq", b, code.splat(code.i32(0))))];
};

const upperProduct: VectorEmit = (v, e) => {
  if (e.dtype !== "int32") return lanewise(v, e);
  const [[a], [b]] = e.args.map((x) => v.vector(x));
  const low = v.code.op("i64x2.extmul_low_i32x4_u", a, b);
  const high = v.code.op("i64x2.extmul_high_i32x4_u", a, b);
  return [v.code.shuffle(low, high, ODD_WORDS)];
};

/** `yes` where the condition holds, else `no`; all scalars or all lanes. */
export function selectValue(
  code: Code,
  dtype: ComputeType,
  condition: Value,
  yes: Value,
  no: Value,
): Value {
  if (isScalar(yes)) return [code.op("select", yes[0], no[0], condition[0])];
  if (dtype === "bool") {
    const [c, a, b] = sameWidth(code, [condition, yes, no]);
    return blendValue(code, c, a, b);
  }
  const mask = isWide(dtype) ? wideMask(code, condition) : [narrowMask(code, condition)];
  return blendValue(code, mask, yes, no);
}

const choose: VectorEmit = (v, e) => {
  const [condition, yes, no] = e.args.map((a) => v.vector(a));
  return selectValue(v.code, e.dtype, condition, yes, no);
};

/** An i32 that is not 0 if a bool is `set` at some lane, or at the single point. */
export function anyLane(code: Code, mask: Value, set: boolean): Node {
  const [a, b] = mask;
  if (isScalar(mask)) return set ? a : code.op("i32.eqz", a);
  if (set) return code.op("v128.any_true", b === undefined ? a : code.op("v128.or", a, b));
  const both = b === undefined ? a : code.op("v128.and", a, b);
  return code.op("i32.eqz", code.op("i32x4.all_true", both));
}

/** Value conversion of four lanes; null where it must go lane by lane. */
export function castVector(
  code: Code,
  from: ComputeType,
  to: ComputeType,
  x: Value,
): Value | null {
  if (from === to) return x;
  const both = (op: PlainOp): Value => [code.op(op, x[0]), code.op(op, upperWords(code, x[0]))];
  const join = (op: PlainOp): Value => [
    code.shuffle(code.op(op, x[0]), code.op(op, x[1]), LOW_HALVES),
  ];
  switch (`${from}>${to}`) {
    case "bool>int32":
      return [code.op("i32x4.neg", narrowMask(code, x))];
    case "bool>int64":
      return each(code, "i64x2.neg", wideMask(code, x));
    case "bool>float32":
      return [code.op("v128.and", narrowMask(code, x), code.splat(code.f32(1)))];
    case "bool>float64": {
      const one = code.splat(code.f64(1));
      return each(code, "v128.and", wideMask(code, x), [one, one]);
    }
    case "int32>bool":
      return [code.op("i32x4.ne", x[0], code.splat(code.i32(0)))];
    case "int64>bool":
      return x.map((h) => code.op("i64x2.ne", h, code.splat(code.i64(0))));
    case "float32>bool":
      return [code.op("f32x4.ne", x[0], code.splat(code.f32(0)))];
    case "float64>bool":
      return x.map((h) => code.op("f64x2.ne", h, code.splat(code.f64(0))));
    case "int32>float32":
      return each(code, "f32x4.convert_i32x4_s", x);
    case "int32>float64":
      return both("f64x2.convert_low_i32x4_s");
    case "int32>int64":
      return wideMask(code, x);
    case "int64>int32":
      return [code.shuffle(x[0], x[1], EVEN_WORDS)];
    case "float32>int32":
      return each(code, "i32x4.trunc_sat_f32x4_s", x);
    case "float32>float64":
      return both("f64x2.promote_low_f32x4");
    case "float64>float32":
      return join("f32x4.demote_f64x2_zero");
    case "float64>int32":
      return join("i32x4.trunc_sat_f64x2_s_zero");
    default:
      return null;
  }
}

const cast: VectorEmit = (v, e) => {
  const from = e.args[0].dtype;
  return castVector(v.code, from, e.dtype, v.vector(e.args[0])) ?? lanewise(v, e);
};

/** The vector form of every op. Extra ops that are missing are rewritten before. */
export const VECTORS:
  & Record<CoreOp, VectorEmit>
  & Partial<Record<ExtraOp, VectorEmit>> = {
    const: leaf,
    arg: leaf,
    load: leaf,
    coord: leaf,
    size: leaf,
    left: leaf,
    right: leaf,
    result: leaf,
    add: number("add"),
    sub: number("sub"),
    mul: number("mul"),
    div: float("div"),
    idiv: divide,
    irem: remainder,
    min: extreme("min"),
    max: extreme("max"),
    neg: number("neg"),
    abs: number("abs"),
    sqrt: float("sqrt"),
    floor: float("floor"),
    ceil: float("ceil"),
    trunc: float("trunc"),
    rint: float("nearest"),
    and: logic("and"),
    or: logic("or"),
    xor: logic("xor"),
    shl: shift("shl"),
    shr: shift("shr_s"),
    shru: shift("shr_u"),
    mulhiu: upperProduct,
    lt: compare("lt", "_s", (code, a, b) => code.op("v128.andnot", b, a)),
    le: compare("le", "_s", (code, a, b) => code.op("v128.or", code.op("v128.not", a), b)),
    eq: compare("eq", "", (code, a, b) => code.op("v128.not", code.op("v128.xor", a, b))),
    ne: compare("ne", "", (code, a, b) => code.op("v128.xor", a, b)),
    where: choose,
    cast,
    bitcast: (v, e) => v.vector(e.args[0]),
    gather: (v, e) => v.vectorGather(e),
    fma: float("relaxed_madd"),
  };

/** Emits an op that differs from point to point. */
export function emitVector(v: VectorScope, e: Expr): Value {
  const emit: VectorEmit | undefined = VECTORS[e.op];
  if (emit === undefined) throw new InternalError(`Cannot render ${e.op}: it was not rewritten`);
  return emit(v, e);
}

/** Whether an op goes lane by lane, for choosing between vectors and scalars. */
export function isLanewise(e: Expr): boolean {
  const from = e.args[0]?.dtype;
  switch (e.op) {
    case "gather":
      return true;
    case "idiv":
    case "irem":
    case "mulhiu":
      return from === "int64";
    case "shl":
    case "shr":
    case "shru":
      return e.args[1].op !== "const" && e.args[1].op !== "arg";
    case "cast":
      return (from === "int64" && isFloatType(e.dtype)) ||
        (isFloatType(from) && e.dtype === "int64");
    default:
      return false;
  }
}
