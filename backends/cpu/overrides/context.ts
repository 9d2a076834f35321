// What overrides of the embedded place may use. Types only.
import type { Fork } from "../threads/pool.ts";

/** The place's memory and what its engine can do. */
export interface CpuContext {
  readonly memory: WebAssembly.Memory;
  readonly relaxed: boolean;
  /** The threads of the place; null where there are none. */
  readonly fork: Fork | null;
  /** Address (divisible by 64) of a block of scratch memory, valid until the next call. */
  scratch(bytes: number): number;
}
