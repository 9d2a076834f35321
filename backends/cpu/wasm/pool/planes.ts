// Calls of the pooling kernels over planes, on this thread or shared out over several. Not here: the kernels.
import { type Arg, type Exports, runAlone, type SharedCode } from "../../threads/job.ts";
import type { ExportName } from "../../threads/layout.ts";
import type { Fork } from "../../threads/pool.ts";

/** Calls the exports of one module. */
export class PlaneCalls {
  readonly memory: WebAssembly.Memory;
  readonly #exports: Exports;
  readonly #code: SharedCode | null;
  readonly #fork: Fork | null;

  constructor(
    memory: WebAssembly.Memory,
    bytes: Uint8Array,
    instance: WebAssembly.Instance,
    fork: Fork | null,
  ) {
    this.memory = memory;
    this.#exports = instance.exports as unknown as Exports;
    this.#fork = fork;
    this.#code = fork?.code(bytes, instance) ?? null;
  }

  /** Bytes of scratch memory on all threads together, of so many on each. */
  scratchBytes(bytes: number): number {
    return strideOf(bytes) * (this.#fork?.threads ?? 1);
  }

  /**
   * Calls an export for planes 0 to `planes` - 1, which takes about `ns` nanoseconds. `args` prepares as many
   * scratch memories as it is told to and gives the arguments; begin and end are planes.
   */
  run(
    name: ExportName,
    planes: number,
    ns: number,
    args: (slots: number) => readonly (number | Arg)[],
  ): void {
    const fork = this.#fork;
    if (fork === null || planes === 1 || !fork.wants(ns)) {
      runAlone(this.#exports, name, args(1), planes);
      return;
    }
    const code = this.#code!;
    fork.run({ code, name, args: args(fork.threads), items: 1, length: planes, grain: 1 }, ns);
  }
}

/** Bytes from one thread's scratch memory to the next one's. */
export function strideOf(bytes: number): number {
  return Math.ceil(bytes / 64) * 64;
}

/** An address that moves on by so many bytes for each plane before a part's first. */
export function plane(base: number, bytes: number): Arg {
  return { base, begin: bytes };
}

/** The number of a part's planes. */
export const PLANES: Arg = { base: 0, begin: -1, end: 1 };
