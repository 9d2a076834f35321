// The embedded place: one linear memory, kernels rendered to WebAssembly on first use, faster routines for
// some ops. Needs no permission. Not here: the renderer, the routines, the allocator.
import { type DataArray, type DType, DTYPES } from "../../core/dtype.ts";
import { MemoryError } from "../../core/errors.ts";
import type { Kernel } from "../../core/ir/kernel.ts";
import type { Place } from "../../core/place.ts";
import type { Backend, Buffer, Compiled, MemoryStats, Override } from "../backend.ts";
import { Allocator } from "./allocator.ts";
import { CpuKernel, type KernelPlace } from "./kernel.ts";
import type { CpuContext } from "./overrides/context.ts";
import { cpuOverrides } from "./overrides/mod.ts";
import { LAYOUT } from "./threads/layout.ts";
import { type Fork, Pool } from "./threads/pool.ts";
import { wasmFeatures } from "./wasm/asm/mod.ts";
import { LaunchView, renderKernel } from "./wasm/render/mod.ts";

const PAGE = 65536;
const MAX_PAGES = 65536;
/** The first bytes are the thread pool's; then come the parameters of the launch going on. */
const PARAMS = LAYOUT.end;
const PARAM_BYTES = 16 * PAGE - PARAMS;

function makeMemory(): { memory: WebAssembly.Memory; shared: boolean } {
  const limits = { initial: 32, maximum: MAX_PAGES };
  if (wasmFeatures().threads) {
    try {
      return { memory: new WebAssembly.Memory({ ...limits, shared: true }), shared: true };
    } catch {
      // A page that is not cross-origin isolated may not share memory.
    }
  }
  return { memory: new WebAssembly.Memory(limits), shared: false };
}

class CpuBackend implements Backend, CpuContext, KernelPlace {
  readonly place: Place;
  readonly memory: WebAssembly.Memory;
  readonly relaxed: boolean;
  readonly fork: Fork | null;
  readonly overrides: ReadonlyMap<string, Override>;
  readonly #shared: boolean;
  readonly #allocator: Allocator;
  readonly #kernels = new Map<string, Compiled>();
  #view: LaunchView | null = null;
  #viewOf: ArrayBufferLike | null = null;
  #scratch = 0;
  #scratchBytes = 0;
  /** Bytes that are the place's own: scratch memory, and the code of kernels for other threads. */
  #own = 0;

  constructor(place: Place) {
    this.place = place;
    const made = makeMemory();
    this.memory = made.memory;
    this.#shared = made.shared;
    this.relaxed = wasmFeatures().relaxedSimd;
    this.#allocator = new Allocator({
      base: 16 * PAGE,
      limit: this.memory.buffer.byteLength,
      grow: (needed) => this.#grow(needed),
    });
    this.fork = this.#shared ? new Pool(this.memory, (bytes) => this.#malloc(bytes)) : null;
    this.overrides = cpuOverrides(this);
  }

  #grow(needed: number): number {
    const have = this.memory.buffer.byteLength;
    // In steps, so that many small requests do not grow the memory one by one.
    const step = Math.max(needed, Math.min(have / 4, 256 * PAGE * 16), 64 * PAGE);
    for (const bytes of [step, needed]) {
      try {
        this.memory.grow(Math.ceil(bytes / PAGE));
        return this.memory.buffer.byteLength;
      } catch {
        // The system or the limit refuses: try the bare need, then give up.
      }
    }
    return -1;
  }

  alloc(bytes: number): Buffer {
    return this.#allocator.malloc(bytes);
  }
  free(buffer: Buffer): void {
    this.#allocator.free(buffer as number);
  }
  write(buffer: Buffer, byteOffset: number, data: Uint8Array): void {
    new Uint8Array(this.memory.buffer, (buffer as number) + byteOffset, data.length).set(data);
  }
  read(buffer: Buffer, byteOffset: number, bytes: number): Promise<Uint8Array<ArrayBuffer>> {
    return Promise.resolve(this.readSync(buffer, byteOffset, bytes));
  }
  readSync(buffer: Buffer, byteOffset: number, bytes: number): Uint8Array<ArrayBuffer> {
    const out = new Uint8Array(bytes);
    out.set(new Uint8Array(this.memory.buffer, (buffer as number) + byteOffset, bytes));
    return out;
  }
  host(buffer: Buffer, dtype: DType, length: number): DataArray {
    const info = DTYPES[dtype];
    return new info.array(
      this.memory.buffer as ArrayBuffer,
      buffer as number,
      length * info.lanes,
    ) as DataArray;
  }
  /** Memory for the place itself. */
  #malloc(bytes: number): number {
    const at = this.#allocator.malloc(bytes);
    this.#own += this.#allocator.sizeOf(at);
    return at;
  }

  scratch(bytes: number): number {
    if (bytes > this.#scratchBytes) {
      if (this.#scratchBytes > 0) {
        this.#own -= this.#allocator.sizeOf(this.#scratch);
        this.#allocator.free(this.#scratch);
      }
      this.#scratchBytes = 0;
      this.#scratch = this.#malloc(bytes);
      this.#scratchBytes = bytes;
    }
    return this.#scratch;
  }

  /** Where the parameters of a launch are written. */
  launchView(bytes: number): LaunchView {
    const buffer = this.memory.buffer;
    if (this.#view === null || this.#viewOf !== buffer) {
      this.#view = new LaunchView(buffer, PARAMS, PARAM_BYTES);
      this.#viewOf = buffer;
    }
    if (bytes > PARAM_BYTES) {
      throw new MemoryError(`Cannot launch a kernel with ${bytes} bytes of parameters`);
    }
    return this.#view;
  }

  compile(kernel: Kernel): Compiled {
    let compiled = this.#kernels.get(kernel.key);
    if (compiled === undefined) {
      const bytes = renderKernel(kernel, {
        ptr: "i32",
        relaxed: this.relaxed,
        shared: this.#shared,
        maxPages: MAX_PAGES,
      });
      const module = new WebAssembly.Module(bytes as Uint8Array<ArrayBuffer>);
      const instance = new WebAssembly.Instance(module, { env: { memory: this.memory } });
      compiled = new CpuKernel(this, kernel, bytes, instance);
      this.#kernels.set(kernel.key, compiled);
    }
    return compiled;
  }
  supports(): boolean {
    return true;
  }
  stats(): MemoryStats {
    const s = this.#allocator.stats();
    return { live: s.live - this.#own, peak: s.peak - this.#own, reserved: s.reserved };
  }
}

/** Makes the backend of the place "cpu". */
export function createCpuBackend(place: Place): Backend {
  return new CpuBackend(place);
}
