// Which optional WebAssembly features this engine has, found by validating tiny modules.
// Nothing is run and no permission is needed.

import { ModuleBuilder } from "./module.ts";

/** Optional engine features that the code generators ask for. */
export interface WasmFeatures {
  /** 128-bit vectors. */
  readonly simd: boolean;
  /** Relaxed vector operations: fused multiply-add and others. */
  readonly relaxedSimd: boolean;
  /** Shared memory and atomics. */
  readonly threads: boolean;
  /** 64-bit addresses. */
  readonly memory64: boolean;
}

const ZEROS = new Uint8Array(16);

function simd(): ModuleBuilder {
  const module = new ModuleBuilder();
  module.func({ results: ["v128"] }).v128(ZEROS).v128(ZEROS).op("f32x4.add");
  return module;
}

function relaxedSimd(): ModuleBuilder {
  const module = new ModuleBuilder();
  const f = module.func({ results: ["v128"] });
  f.v128(ZEROS).v128(ZEROS).v128(ZEROS).op("f32x4.relaxed_madd");
  return module;
}

function threads(): ModuleBuilder {
  const module = new ModuleBuilder();
  module.importMemory("env", "memory", { min: 0, max: 1, shared: true });
  module.func({ results: ["i32"] }).i32(0).mem("i32.atomic.load");
  return module;
}

function memory64(): ModuleBuilder {
  const module = new ModuleBuilder({ ptr: "i64" });
  module.importMemory("env", "memory");
  module.func({ results: ["i32"] }).i64(0).mem("i32.load");
  return module;
}

let found: WasmFeatures | undefined;

/** The features of this engine; asked once, then remembered. */
export function wasmFeatures(): WasmFeatures {
  found ??= Object.freeze({
    simd: WebAssembly.validate(simd().bytes()),
    relaxedSimd: WebAssembly.validate(relaxedSimd().bytes()),
    threads: WebAssembly.validate(threads().bytes()),
    memory64: WebAssembly.validate(memory64().bytes()),
  });
  return found;
}
