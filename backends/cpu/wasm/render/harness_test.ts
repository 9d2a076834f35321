// Runs a kernel both ways, rendered and interpreted, for the tests of the renderer.
import { type DataArray, DTYPES } from "../../../../core/dtype.ts";
import { runKernel } from "../../../../core/ir/interp.ts";
import type { Kernel, Launch } from "../../../../core/ir/kernel.ts";
import { wasmFeatures } from "../asm/mod.ts";
import {
  launchLayout,
  LaunchView,
  renderKernel,
  type RenderTarget,
  type RunKernel,
  writeLaunch,
} from "./mod.ts";

export const TARGET: RenderTarget = { ptr: "i32", relaxed: wasmFeatures().relaxedSimd };

/** A kernel ready to run on arrays, which it takes into its memory and back. */
export class Rendered {
  readonly kernel: Kernel;
  readonly #memory: WebAssembly.Memory;
  readonly #run: RunKernel;
  readonly #target: RenderTarget;

  constructor(kernel: Kernel, target: RenderTarget = TARGET) {
    this.kernel = kernel;
    this.#target = target;
    const width = target.ptr === "i64" ? { address: "i64", initial: 1n } : { initial: 1 };
    this.#memory = new WebAssembly.Memory(width as WebAssembly.MemoryDescriptor);
    const module = new WebAssembly.Module(renderKernel(kernel, target));
    const instance = new WebAssembly.Instance(module, { env: { memory: this.#memory } });
    this.#run = instance.exports.run as RunKernel;
  }

  /** Runs over the given ranges of outer axis 0, else over all of it. Equal arrays share memory. */
  run(launch: Launch, arrays: readonly DataArray[], ranges?: readonly [number, number][]): void {
    const layout = launchLayout(this.kernel, this.#target.ptr);
    const at = new Map<ArrayBufferLike, number>();
    let end = 64 + layout.bytes;
    for (const a of arrays) {
      if (at.has(a.buffer)) continue;
      end = Math.ceil(end / 8) * 8;
      at.set(a.buffer, end);
      end += a.byteLength;
    }
    const missing = Math.ceil((end - this.#memory.buffer.byteLength) / 65536);
    if (missing > 0) {
      this.#memory.grow((this.#target.ptr === "i64" ? BigInt(missing) : missing) as number);
    }
    const bytes = new Uint8Array(this.#memory.buffer);
    for (const [buffer, offset] of at) bytes.set(new Uint8Array(buffer), offset);
    const view = new LaunchView(this.#memory.buffer, 64, layout.bytes);
    writeLaunch(view, layout, launch, arrays.map((a) => at.get(a.buffer)! + a.byteOffset));
    const whole = this.kernel.outerRank === 0 ? 1 : launch.sizes[0];
    for (const [from, to] of ranges ?? [[0, whole]]) this.#run(64, from, to);
    for (const [buffer, offset] of at) {
      new Uint8Array(buffer).set(bytes.subarray(offset, offset + buffer.byteLength));
    }
  }
}

/** Copies of arrays; those that share a buffer share the copy. */
export function copies(arrays: readonly DataArray[]): DataArray[] {
  const buffers = new Map<ArrayBufferLike, ArrayBuffer>();
  return arrays.map((a) => {
    let copy = buffers.get(a.buffer);
    if (copy === undefined) {
      copy = new ArrayBuffer(a.buffer.byteLength);
      new Uint8Array(copy).set(new Uint8Array(a.buffer));
      buffers.set(a.buffer, copy);
    }
    const Type = a.constructor as new (b: ArrayBuffer, at: number, n: number) => DataArray;
    return new Type(copy, a.byteOffset, a.length);
  });
}

/** What a kernel leaves in its output arrays, as the interpreter has it. */
export function interpreted(
  kernel: Kernel,
  launch: Launch,
  arrays: readonly DataArray[],
): DataArray[] {
  const own = copies(arrays);
  runKernel(kernel, launch, own);
  return own.slice(kernel.inputs.length);
}

/** What a kernel leaves in its output arrays, rendered. */
export function rendered(
  kernel: Kernel,
  launch: Launch,
  arrays: readonly DataArray[],
  options: { ranges?: [number, number][]; target?: RenderTarget } = {},
): DataArray[] {
  const own = copies(arrays);
  new Rendered(kernel, options.target).run(launch, own, options.ranges);
  return own.slice(kernel.inputs.length);
}

/** Storage as a comparable text per element: every NaN is the same, -0 is not 0. */
export function readable(kernel: Kernel, outputs: readonly DataArray[]): string[][] {
  return outputs.map((a, i) => {
    const { dtype } = kernel.outputs[i];
    return Array.from(a as ArrayLike<number | bigint>, (x) => {
      if (dtype === "float16" || dtype === "bfloat16") {
        const infinity = dtype === "float16" ? 0x7c00 : 0x7f80;
        return (Number(x) & 0x7fff) > infinity ? "NaN" : `0x${x.toString(16)}`;
      }
      return Object.is(x, -0) ? "-0" : String(x);
    });
  });
}

/** An array of a dtype's storage. */
export function storage(dtype: keyof typeof DTYPES, length: number): DataArray {
  return new DTYPES[dtype].array(length);
}
