// A compiled kernel of the embedded place: writes the parameters of a launch and runs it, here or on several
// threads. Not here: rendering, memory, how launches are cut.
import { type DType, DTYPES } from "../../core/dtype.ts";
import type { Kernel, Launch } from "../../core/ir/kernel.ts";
import type { Buffer, Compiled } from "../backend.ts";
import { BlockedKernel, canBeCut, type Cut, cutOf, temporaryBytes } from "./threads/blocks.ts";
import type { Block } from "./threads/job.ts";
import { LaunchSharing } from "./threads/launch.ts";
import type { Fork } from "./threads/pool.ts";
import {
  type LaunchLayout,
  launchLayout,
  type LaunchView,
  writeLaunch,
} from "./wasm/render/mod.ts";

/** What kernels need of their place. */
export interface KernelPlace {
  readonly fork: Fork | null;
  /** Where the parameters of a launch are written. */
  launchView(bytes: number): LaunchView;
  scratch(bytes: number): number;
  compile(kernel: Kernel): Compiled;
}

/** A kernel of this place. */
export class CpuKernel implements Compiled {
  readonly #run: (params: number, begin: number, end: number) => void;
  readonly #layout: LaunchLayout;
  readonly #outer: boolean;
  readonly #place: KernelPlace;
  readonly #kernel: Kernel;
  readonly #canBeCut: boolean;
  /** By the axis that is cut. */
  readonly #blocked = new Map<number, BlockedKernel>();
  /** How launches are shared out; null where there are no threads. */
  readonly #sharing: LaunchSharing | null;

  constructor(
    place: KernelPlace,
    kernel: Kernel,
    bytes: Uint8Array,
    instance: WebAssembly.Instance,
  ) {
    this.#place = place;
    this.#kernel = kernel;
    this.#canBeCut = canBeCut(kernel);
    this.#run = instance.exports.run as (params: number, begin: number, end: number) => void;
    this.#layout = launchLayout(kernel, "i32");
    this.#outer = kernel.outerRank > 0;
    this.#sharing = place.fork === null
      ? null
      : new LaunchSharing(kernel, this.#layout, place.fork.code(bytes, instance));
  }

  run(launch: Launch, buffers: readonly Buffer[]): void {
    const cut = this.#canBeCut ? cutOf(this.#kernel.outerRank, launch.sizes) : null;
    if (cut === null) this.#runWhole(launch, buffers);
    else this.#runBlocks(cut, launch, buffers);
  }

  /** Runs a long reduction to a few values block by block, whatever the number of threads. */
  #runBlocks(cut: Cut, launch: Launch, buffers: readonly Buffer[]): void {
    const place = this.#place;
    let blocked = this.#blocked.get(cut.axis);
    if (blocked === undefined) {
      this.#blocked.set(cut.axis, blocked = new BlockedKernel(this.#kernel, cut.axis));
    }
    let free = place.scratch(temporaryBytes(this.#kernel, launch.sizes, cut));
    const temporary = (dtype: DType, elements: number) => {
      const at = free;
      free = Math.ceil((at + elements * DTYPES[dtype].bytes) / 64) * 64;
      return at;
    };
    blocked.run(launch, buffers, cut.length, temporary, (kernel, own, at) => {
      (place.compile(kernel) as CpuKernel).#runWhole(own, at);
    });
  }

  #runWhole(launch: Launch, buffers: readonly Buffer[]): void {
    const place = this.#place;
    const view = place.launchView(this.#layout.bytes);
    const write = (to: LaunchView) =>
      writeLaunch(to, this.#layout, launch, buffers as readonly number[]);
    write(view);
    const { fork } = place;
    if (fork !== null) {
      const ns = this.#sharing!.cost(launch.sizes);
      if (
        fork.wants(ns) && this.#sharing!.run(fork, launch.sizes, ns, view.address, write)
      ) return;
    }
    this.#run(view.address, 0, this.#outer ? launch.sizes[0] : 1);
  }

  /** A launch as something that threads can run parts of; null where there are no threads. */
  block(launch: Launch, buffers: readonly Buffer[]): Block | null {
    if (this.#sharing === null) return null;
    return this.#sharing.block((view) =>
      writeLaunch(view, this.#layout, launch, buffers as readonly number[])
    );
  }
}
