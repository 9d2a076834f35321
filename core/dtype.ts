// Element types: sizes, typed arrays, promotion (array API standard) and weak JavaScript scalars.
// Not here: conversion of values (core/convert.ts).
import { describe } from "./describe.ts";
import { DTypeError } from "./errors.ts";

/** The name of an element type. */
export type DType =
  | "bool"
  | "uint8"
  | "int8"
  | "int16"
  | "int32"
  | "int64"
  | "float16"
  | "bfloat16"
  | "float32"
  | "float64"
  | "complex64"
  | "complex128";

/** The dtypes that kernels compute in; narrower ones are widened on load and rounded on store. */
export type ComputeType = "bool" | "int32" | "int64" | "float32" | "float64";

/** A typed array that holds elements of some dtype. */
export type DataArray =
  | Uint8Array
  | Int8Array
  | Int16Array
  | Uint16Array
  | Int32Array
  | BigInt64Array
  | Float32Array
  | Float64Array;

/** What is known of a dtype. */
export interface DTypeInfo {
  /** A small number, stable within a run, used in cache keys. */
  readonly code: number;
  /** Bytes of one element. */
  readonly bytes: number;
  /** The family, which rules promotion. */
  readonly kind: "bool" | "uint" | "int" | "float" | "complex";
  /** What kernels compute it in. */
  readonly compute: ComputeType | null;
  /** The typed array of its storage (complex: pairs; float16 and bfloat16: bits). */
  readonly array: DataArrayConstructor;
  /** Array elements for one tensor element. */
  readonly lanes: 1 | 2;
}

/** The constructors of {@linkcode DataArray}. */
export type DataArrayConstructor =
  | Uint8ArrayConstructor
  | Int8ArrayConstructor
  | Int16ArrayConstructor
  | Uint16ArrayConstructor
  | Int32ArrayConstructor
  | BigInt64ArrayConstructor
  | Float32ArrayConstructor
  | Float64ArrayConstructor;

const info = (
  code: number,
  bytes: number,
  kind: DTypeInfo["kind"],
  compute: ComputeType | null,
  array: DataArrayConstructor,
  lanes: 1 | 2 = 1,
): DTypeInfo => ({ code, bytes, kind, compute, array, lanes });

/** Facts about every dtype. */
export const DTYPES: Readonly<Record<DType, DTypeInfo>> = {
  bool: info(0, 1, "bool", "bool", Uint8Array),
  uint8: info(1, 1, "uint", "int32", Uint8Array),
  int8: info(2, 1, "int", "int32", Int8Array),
  int16: info(3, 2, "int", "int32", Int16Array),
  int32: info(4, 4, "int", "int32", Int32Array),
  int64: info(5, 8, "int", "int64", BigInt64Array),
  float16: info(6, 2, "float", "float32", Uint16Array),
  bfloat16: info(7, 2, "float", "float32", Uint16Array),
  float32: info(8, 4, "float", "float32", Float32Array),
  float64: info(9, 8, "float", "float64", Float64Array),
  complex64: info(10, 8, "complex", null, Float32Array, 2),
  complex128: info(11, 16, "complex", null, Float64Array, 2),
};

/** All dtype names. */
export const DTYPE_NAMES: readonly DType[] = Object.keys(DTYPES) as DType[];

/** Whether `x` names a dtype. */
export function isDType(x: unknown): x is DType {
  return typeof x === "string" && Object.hasOwn(DTYPES, x);
}

/** Whether the dtype is a real floating type. */
export function isFloat(dtype: DType): boolean {
  return DTYPES[dtype].kind === "float";
}

/** Whether the dtype is a signed or unsigned integer type (bool is not). */
export function isInteger(dtype: DType): boolean {
  const kind = DTYPES[dtype].kind;
  return kind === "int" || kind === "uint";
}

/** Whether gradients can flow through the dtype. */
export function isDifferentiable(dtype: DType): boolean {
  const kind = DTYPES[dtype].kind;
  return kind === "float" || kind === "complex";
}

let defaultDType: DType = "float32";

/** Sets the dtype of numbers and of creation functions that name none: a floating dtype. */
export function setDefaultDtype(dtype: DType): void {
  if (!isDType(dtype) || !isFloat(dtype)) {
    throw new DTypeError(
      `Cannot setDefaultDtype to ${dtype}: the default must be a floating dtype; use "float32" or "float64"`,
    );
  }
  defaultDType = dtype;
}

/** The dtype of numbers and of creation functions that name none. */
export function getDefaultDtype(): DType {
  return defaultDType;
}

const INT_RANK: readonly DType[] = ["int8", "int16", "int32", "int64"];

/**
 * The dtype that two dtypes meet in (array API standard; an integer with a float gives the float).
 * Source: https://data-apis.org/array-api/latest/API_specification/type_promotion.html
 */
export function promoteTypes(a: DType, b: DType): DType {
  if (a === b) return a;
  for (const d of [a, b]) {
    if (!isDType(d)) {
      throw new DTypeError(`Cannot promoteTypes ${describe(d)}: it is no dtype; write "float32"`);
    }
  }
  const ka = DTYPES[a].kind;
  const kb = DTYPES[b].kind;
  if (ka === "bool") return b;
  if (kb === "bool") return a;
  if (ka === "complex" || kb === "complex") {
    const wide = [a, b].some((d) => d === "complex128" || d === "float64");
    return wide ? "complex128" : "complex64";
  }
  if (ka === "float" && kb === "float") {
    if (a === "float64" || b === "float64") return "float64";
    return "float32"; // float16 with bfloat16 too: neither holds the other
  }
  if (ka === "float") return a;
  if (kb === "float") return b;
  if (ka === "uint") return b === "int8" ? "int16" : b;
  if (kb === "uint") return a === "int8" ? "int16" : a;
  return INT_RANK[Math.max(INT_RANK.indexOf(a), INT_RANK.indexOf(b))];
}

/**
 * The dtype of an op between a tensor and a JavaScript scalar, which is weak: it takes the tensor's
 * dtype unless its kind is higher (a fraction with an integer tensor gives the default float).
 */
export function promoteScalar(dtype: DType, value: number | bigint | boolean): DType {
  const kind = DTYPES[dtype].kind;
  if (typeof value === "boolean") return dtype;
  if (typeof value === "bigint") return kind === "bool" ? "int64" : dtype;
  if (kind === "bool") return Number.isInteger(value) ? "int64" : defaultDType;
  if ((kind === "int" || kind === "uint") && !Number.isInteger(value)) return defaultDType;
  return dtype;
}
