// Assembles one small function at a time; shared by the assembler's tests.
import { type FunctionBuilder, ModuleBuilder, type PlainOp, type ValueType } from "./mod.ts";

// deno-lint-ignore no-explicit-any -- exports of generated modules have no static type
export type Fn = (...args: any[]) => any;

export function build(
  params: ValueType[],
  results: ValueType[],
  body: (f: FunctionBuilder) => void,
  memory?: WebAssembly.Memory,
): Fn {
  const module = new ModuleBuilder();
  if (memory !== undefined) {
    const shared = !(memory.buffer instanceof ArrayBuffer);
    module.importMemory("env", "memory", { max: shared ? 4 : undefined, shared });
  }
  body(module.func({ params, results, export: "f" }));
  return new WebAssembly.Instance(module.compile(), {
    env: memory === undefined ? {} : { memory },
  }).exports.f as Fn;
}

/** Applies a scalar operation to its arguments. */
export function scalar(name: PlainOp, params: ValueType[], result: ValueType): Fn {
  return build(params, [result], (f) => {
    for (const p of f.params) f.get(p);
    f.op(name);
  });
}

/** Applies a vector operation to the vectors at 0, 16, 32 and stores the result at 64. */
export function vector(bytes: ArrayBufferView[], body: (f: FunctionBuilder) => void): DataView {
  const memory = new WebAssembly.Memory({ initial: 1 });
  const all = new Uint8Array(memory.buffer);
  bytes.forEach((part, at) =>
    all.set(new Uint8Array(part.buffer as ArrayBuffer, part.byteOffset, 16), 16 * at)
  );
  build([], [], (f) => {
    f.i32(64);
    bytes.forEach((_, at) => f.i32(16 * at).mem("v128.load"));
    body(f);
    f.mem("v128.store");
  }, memory)();
  return new DataView(memory.buffer, 64, 16);
}

export const f32s = (...values: number[]) => new Float32Array(values);
export const f64s = (...values: number[]) => new Float64Array(values);
export const i32s = (...values: number[]) => new Int32Array(values);
export const bytes16 = (make: (at: number) => number) =>
  Uint8Array.from({ length: 16 }, (_, i) => make(i));

export const asF32 = (v: DataView) =>
  Array.from({ length: 4 }, (_, i) => v.getFloat32(4 * i, true));
export const asF64 = (v: DataView) =>
  Array.from({ length: 2 }, (_, i) => v.getFloat64(8 * i, true));
export const asI32 = (v: DataView) => Array.from({ length: 4 }, (_, i) => v.getInt32(4 * i, true));
export const asI64 = (v: DataView) =>
  Array.from({ length: 2 }, (_, i) => v.getBigInt64(8 * i, true));
export const asI16 = (v: DataView) => Array.from({ length: 8 }, (_, i) => v.getInt16(2 * i, true));
export const asU8 = (v: DataView) => Array.from({ length: 16 }, (_, i) => v.getUint8(i));
