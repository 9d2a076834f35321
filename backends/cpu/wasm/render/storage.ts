// Loads and stores of every storage dtype, as one scalar or as four lanes. Widening, narrowing and
// rounding happen here; addresses are made by the callers.
import { type DType, DTYPES } from "../../../../core/dtype.ts";
import { InternalError } from "../../../../core/errors.ts";
import type { MemoryOp } from "../asm/mod.ts";
import type { Code, Node, StoreItem } from "./code.ts";
import {
  bfloat16ToFloat32,
  float16ToFloat32,
  float32ToBfloat16,
  float32ToFloat16,
} from "./half.ts";

/**
 * A value at one point or at four: one scalar, one vector of four 32-bit lanes, or two vectors of
 * two 64-bit lanes. A bool is an i32 of 0 or 1, or lanes that are all ones or all zeros in either
 * width.
 */
export type Value = readonly Node[];

/** Whether a value is one scalar rather than lanes. */
export function isScalar(value: Value): boolean {
  return value[0].type !== "v128";
}

const SCALAR_LOAD: Partial<Record<DType, MemoryOp>> = {
  bool: "i32.load8_u",
  uint8: "i32.load8_u",
  int8: "i32.load8_s",
  int16: "i32.load16_s",
  int32: "i32.load",
  int64: "i64.load",
  float16: "i32.load16_u",
  bfloat16: "i32.load16_u",
  float32: "f32.load",
  float64: "f64.load",
};

const SCALAR_STORE: Partial<Record<DType, MemoryOp>> = {
  bool: "i32.store8",
  uint8: "i32.store8",
  int8: "i32.store8",
  int16: "i32.store16",
  int32: "i32.store",
  int64: "i64.store",
  float16: "i32.store16",
  bfloat16: "i32.store16",
  float32: "f32.store",
  float64: "f64.store",
};

function known<T>(table: Partial<Record<DType, T>>, dtype: DType): T {
  const found = table[dtype];
  if (found === undefined) throw new InternalError(`Cannot load or store ${dtype} in a kernel`);
  return found;
}

/** Raw words (four lanes or one) become the values that they stand for. */
function decode(code: Code, dtype: DType, raw: Node): Node {
  const wide = raw.type === "v128";
  switch (dtype) {
    case "bool":
      return wide ? code.op("i32x4.ne", raw, code.splat(code.i32(0))) : raw;
    case "float16":
    case "bfloat16": {
      const word = (dtype === "float16" ? float16ToFloat32 : bfloat16ToFloat32)(code, raw);
      return wide ? word : code.op("f32.reinterpret_i32", word);
    }
    default:
      return raw;
  }
}

/** Values become words of which the low bytes are to be stored. */
function encode(code: Code, dtype: DType, value: Node): Node {
  const wide = value.type === "v128";
  switch (dtype) {
    case "bool":
      return wide ? code.op("v128.and", value, code.splat(code.i32(1))) : value;
    case "float16":
    case "bfloat16": {
      const word = wide ? value : code.op("i32.reinterpret_f32", value);
      return (dtype === "float16" ? float32ToFloat16 : float32ToBfloat16)(code, word);
    }
    default:
      return value;
  }
}

/** Loads one element. */
export function loadScalar(code: Code, dtype: DType, address: Node, pinned = false): Node {
  return decode(code, dtype, code.load(known(SCALAR_LOAD, dtype), address, 0, pinned));
}

/** Loads the four consecutive elements from element `4 * copy` after the address on. */
export function loadUnit(code: Code, dtype: DType, address: Node, copy: number): Value {
  const bytes = DTYPES[dtype].bytes;
  const offset = copy * 4 * bytes;
  if (bytes === 8) {
    return [code.load("v128.load", address, offset), code.load("v128.load", address, offset + 16)];
  }
  if (bytes === 4) return [code.load("v128.load", address, offset)];
  if (bytes === 2) {
    const op = dtype === "int16" ? "v128.load16x4_s" : "v128.load16x4_u";
    return [decode(code, dtype, code.load(op, address, offset))];
  }
  const packed = code.load("v128.load32_zero", address, offset);
  const s = dtype === "int8" ? "s" : "u";
  const words = code.op(
    `i32x4.extend_low_i16x8_${s}`,
    code.op(`i16x8.extend_low_i8x16_${s}`, packed),
  );
  return [decode(code, dtype, words)];
}

/** Loads four elements from anywhere. */
export function loadLanes(code: Code, dtype: DType, addresses: readonly Node[]): Value {
  const bytes = DTYPES[dtype].bytes;
  const [a, b, c, d] = addresses;
  if (bytes === 8) {
    const pair = (x: Node, y: Node): Node =>
      code.loadLane("v128.load64_lane", 1, y, code.load("v128.load64_zero", x));
    return [pair(a, b), pair(c, d)];
  }
  if (bytes === 4) {
    let v = code.load("v128.load32_zero", a);
    v = code.loadLane("v128.load32_lane", 1, b, v);
    v = code.loadLane("v128.load32_lane", 2, c, v);
    return [code.loadLane("v128.load32_lane", 3, d, v)];
  }
  const op = known(SCALAR_LOAD, dtype);
  let words = code.splat(code.load(op, a));
  for (const [i, address] of [b, c, d].entries()) {
    words = code.lane("i32x4.replace_lane", i + 1, words, code.load(op, address));
  }
  return [decode(code, dtype, words)];
}

/** Stores one element. */
export function storeScalar(code: Code, dtype: DType, address: Node, value: Node): StoreItem[] {
  return [{
    op: known(SCALAR_STORE, dtype),
    address,
    value: encode(code, dtype, value),
    offset: 0,
  }];
}

const LOW_BYTES = [0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12];
const LOW_HALVES = [0, 1, 4, 5, 8, 9, 12, 13, 0, 1, 4, 5, 8, 9, 12, 13];

/** Stores four consecutive elements. Bools must be in 32-bit lanes. */
export function storeUnit(
  code: Code,
  dtype: DType,
  address: Node,
  copy: number,
  value: Value,
): StoreItem[] {
  const bytes = DTYPES[dtype].bytes;
  const offset = copy * 4 * bytes;
  if (bytes >= 4) {
    return value.map((v, half) => ({
      op: "v128.store",
      address,
      value: v,
      offset: offset + 16 * half,
    }));
  }
  const words = encode(code, dtype, value[0]);
  const packed = code.shuffle(words, words, bytes === 1 ? LOW_BYTES : LOW_HALVES);
  const op = bytes === 1 ? "v128.store32_lane" : "v128.store64_lane";
  return [{ op: { op, lane: 0 }, address, value: packed, offset }];
}

/** Stores four elements anywhere. Bools must be in 32-bit lanes. */
export function storeLanes(
  code: Code,
  dtype: DType,
  addresses: readonly Node[],
  value: Value,
): StoreItem[] {
  const bytes = DTYPES[dtype].bytes;
  if (bytes === 8) {
    return addresses.map((address, i) => ({
      op: { op: "v128.store64_lane", lane: i % 2 },
      address,
      value: value[i >> 1],
      offset: 0,
    }));
  }
  const words = encode(code, dtype, value[0]);
  const op = bytes === 4
    ? "v128.store32_lane"
    : bytes === 2
    ? "v128.store16_lane"
    : "v128.store8_lane";
  return addresses.map((address, i) => ({
    op: { op, lane: i * (4 / bytes) },
    address,
    value: words,
    offset: 0,
  }));
}
