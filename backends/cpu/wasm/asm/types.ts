// Value types, locals and the error class that the parts of the assembler share.

import { InternalError } from "../../../../core/errors.ts";

/** A WebAssembly value type. */
export type ValueType = "i32" | "i64" | "f32" | "f64" | "v128";
/** Type of an address: 32 bits, or 64 with memory64. */
export type PtrType = "i32" | "i64";

/** Encoding of each value type. */
export const valueTypeCode: Readonly<Record<ValueType, number>> = {
  i32: 0x7f,
  i64: 0x7e,
  f32: 0x7d,
  f64: 0x7c,
  v128: 0x7b,
};

/** A parameter or local variable of a function. */
export interface Local<T extends ValueType = ValueType> {
  /** Index in the function's local space. */
  readonly index: number;
  /** Its type. */
  readonly type: T;
}

/** Thrown when a module is put together wrongly: a fault of the code generator, not of its user. */
export class AssemblyError extends InternalError {}
