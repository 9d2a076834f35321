// A small WebAssembly assembler: the one way in which kernels of the embedded backend become bytes.
// It encodes what it is told; choosing and optimising instructions is the caller's work.

export { type WasmFeatures, wasmFeatures } from "./features.ts";
export { FunctionBuilder, type Label, type MemoryArgument, type PtrOp } from "./function.ts";
export { type Callable, type MemoryType, ModuleBuilder, type Signature } from "./module.ts";
export type { LaneOp, MemoryLaneOp, MemoryOp, PlainOp } from "./opcodes.ts";
export { AssemblyError, type Local, type PtrType, type ValueType } from "./types.ts";
