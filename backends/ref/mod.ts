// The reference place: every kernel is interpreted, every buffer an array. Slow and right: what the
// other places are tested against. No overrides, on purpose.
import { type DataArray, type DType, DTYPES } from "../../core/dtype.ts";
import type { Kernel, Launch } from "../../core/ir/kernel.ts";
import { runKernel } from "../../core/ir/interp.ts";
import type { Place } from "../../core/place.ts";
import type { Backend, Buffer, Compiled, MemoryStats, Override } from "../backend.ts";

class RefBuffer {
  readonly bytes: ArrayBuffer;
  constructor(bytes: number) {
    this.bytes = new ArrayBuffer(Math.ceil(bytes / 16) * 16);
  }
}

function viewAs(buffer: Buffer, dtype: DType, length?: number): DataArray {
  const info = DTYPES[dtype];
  const bytes = (buffer as RefBuffer).bytes;
  return new info.array(
    bytes,
    0,
    length === undefined ? undefined : length * info.lanes,
  ) as DataArray;
}

class RefBackend implements Backend {
  readonly place: Place;
  readonly overrides: ReadonlyMap<string, Override> = new Map();
  #live = 0;
  #peak = 0;

  constructor(place: Place) {
    this.place = place;
  }
  alloc(bytes: number): Buffer {
    const b = new RefBuffer(bytes);
    this.#live += b.bytes.byteLength;
    this.#peak = Math.max(this.#peak, this.#live);
    return b;
  }
  free(buffer: Buffer): void {
    this.#live -= (buffer as RefBuffer).bytes.byteLength;
  }
  write(buffer: Buffer, byteOffset: number, data: Uint8Array): void {
    new Uint8Array((buffer as RefBuffer).bytes, byteOffset, data.length).set(data);
  }
  read(buffer: Buffer, byteOffset: number, bytes: number): Promise<Uint8Array<ArrayBuffer>> {
    return Promise.resolve(this.readSync(buffer, byteOffset, bytes));
  }
  readSync(buffer: Buffer, byteOffset: number, bytes: number): Uint8Array<ArrayBuffer> {
    return new Uint8Array((buffer as RefBuffer).bytes, byteOffset, bytes).slice();
  }
  host(buffer: Buffer, dtype: DType, length: number): DataArray {
    return viewAs(buffer, dtype, length);
  }
  compile(kernel: Kernel): Compiled {
    const types = [...kernel.inputs, ...kernel.outputs].map((b) => b.dtype);
    return {
      run: (launch: Launch, buffers: readonly Buffer[]) =>
        runKernel(kernel, launch, buffers.map((b, i) => viewAs(b, types[i]))),
    };
  }
  supports(): boolean {
    return true;
  }
  stats(): MemoryStats {
    return { live: this.#live, peak: this.#peak, reserved: this.#live };
  }
}

/** Makes the backend of the place "ref". */
export function createRefBackend(place: Place): Backend {
  return new RefBackend(place);
}
