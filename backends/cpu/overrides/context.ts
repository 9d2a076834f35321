// What overrides of the embedded place may use. Types only.

/** The place's memory and what its engine can do. */
export interface CpuContext {
  readonly memory: WebAssembly.Memory;
  readonly relaxed: boolean;
  /** Address (divisible by 64) of a block of scratch memory, valid until the next call. */
  scratch(bytes: number): number;
}
