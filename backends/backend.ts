// What a backend is: buffers, kernels, and optional faster ways to run whole ops. Types only.
import type { DataArray, DType } from "../core/dtype.ts";
import type { Kernel, Launch } from "../core/ir/kernel.ts";
import type { Attrs } from "../core/op.ts";
import type { Place } from "../core/place.ts";

/** A backend's own handle of a block of memory: an address, or an object. */
export type Buffer = number | object;

/** A compiled kernel. */
export interface Compiled {
  /** Runs it: `buffers` are the inputs, then the outputs of the kernel. */
  run(launch: Launch, buffers: readonly Buffer[]): void;
}

/** A tensor as an override sees it. Strides and offset count elements. */
export interface TensorView {
  readonly buffer: Buffer;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
}

/** An elementwise tail to run on the output while it is in cache. */
export interface Epilogue {
  readonly compiled: Compiled;
  /** Its domain is the output's shape, not simplified; buffer 0 is the output itself. */
  readonly launch: Launch;
  readonly buffers: readonly Buffer[];
}

/** One call of an op, outputs allocated. */
export interface OverrideCall {
  readonly inputs: readonly (TensorView | number | bigint | boolean)[];
  /** Contiguous. */
  readonly outputs: readonly TensorView[];
  readonly attrs: Attrs;
  readonly epilogue?: Epilogue;
}

/** Shapes and dtypes of a call, before there are buffers. */
export interface CallMeta {
  readonly shapes: readonly (readonly number[])[];
  readonly dtypes: readonly DType[];
  readonly attrs: Attrs;
}

/** A faster way to run an op on this backend. */
export interface Override {
  /** Whether it takes the call; default yes. */
  accepts?(meta: CallMeta): boolean;
  /** Whether it runs an epilogue; default no (the engine then runs it after). */
  readonly epilogue?: boolean;
  /** Whether operands must be dense; default no (they come with any strides). */
  readonly contiguous?: boolean;
  /** Runs it. */
  run(call: OverrideCall): void;
}

/** Memory of a backend, in bytes. */
export interface MemoryStats {
  readonly live: number;
  readonly peak: number;
  readonly reserved: number;
}

/** A device that kernels run on. */
export interface Backend {
  readonly place: Place;
  /** A block of at least `bytes` bytes (0 is allowed), not cleared. Throws MemoryError. */
  alloc(bytes: number): Buffer;
  free(buffer: Buffer): void;
  /** Copies bytes in. */
  write(buffer: Buffer, byteOffset: number, data: Uint8Array): void;
  /** Copies bytes out, into memory of their own. */
  read(buffer: Buffer, byteOffset: number, bytes: number): Promise<Uint8Array<ArrayBuffer>>;
  /** The same at once; absent where the device cannot. */
  readSync?(buffer: Buffer, byteOffset: number, bytes: number): Uint8Array<ArrayBuffer>;
  /** The memory itself as an array, where the host sees it; `length` elements from the buffer's start. */
  host?(buffer: Buffer, dtype: DType, length: number): DataArray;
  /** Compiles a kernel, or finds it in the cache. */
  compile(kernel: Kernel): Compiled;
  /** Ops that run faster another way. */
  readonly overrides: ReadonlyMap<string, Override>;
  /** Whether it stores and computes the dtype. */
  supports(dtype: DType): boolean;
  stats(): MemoryStats;
}
