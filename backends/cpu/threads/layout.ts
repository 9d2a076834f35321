// Where the thread pool's words lie in the first bytes of the shared memory, before anything the allocator
// hands out. Numbers only, in one object, so that workers can be given it as data.

/** Most threads of a pool, the calling one included. */
export const MAX_THREADS = 64;
/** Most parts of a job: what the low bits of the claim word hold. */
export const MAX_PARTS = 4095;
/** Bytes of a launch's parameters that threads copy and change. */
export const BLOCK_BYTES = 4096;

/** Names of exports that jobs may call, known by their place here. */
export const EXPORTS = [
  "run",
  "tiles",
  "dot",
  "axpy",
  "correlate",
  "weights",
  "maxForward",
  "maxBackward",
  "avgForward",
  "avgBackward",
] as const;

/** The name of an export that jobs may call. */
export type ExportName = typeof EXPORTS[number];

const BLOCKS = 16384;

/** Byte addresses and counts; see each. Words are of 32 bits. */
export const LAYOUT = {
  exports: EXPORTS,
  /** The pool's epoch, shifted by `partBits`, plus the parts of the job that nobody has claimed. */
  claim: 1024,
  partBits: 12,
  /** Parts that are finished. */
  done: 1088,
  /** Workers that sleep, until the claim word changes. */
  parked: 1152,
  /** 1 while the caller sleeps, until `done` changes. */
  waiting: 1156,
  /** Workers of the epoch that have come up. */
  joined: 1160,
  /** 1 if a part has failed, and where and how long (in bytes, UTF-8) the message is. */
  failed: 1216,
  failedLength: 1220,
  failedText: 1280,
  failedBytes: 768,
  /** The job: words, then float64 numbers; see job.ts. */
  job: 2048,
  numbers: 4096,
  /** A launch's parameters as every thread copies them, and each thread's copy. */
  template: 8192,
  blocks: BLOCKS,
  blockBytes: BLOCK_BYTES,
  /** The end of all that. */
  end: BLOCKS + MAX_THREADS * BLOCK_BYTES,
} as const;

/** The type of {@linkcode LAYOUT}. */
export type ThreadLayout = typeof LAYOUT;

/** Words of a job, by place from `job`. */
export const WORD = {
  parts: 0,
  items: 1,
  chunks: 2,
  length: 3,
  grain: 4,
  /** The module to call: its number, address and bytes; the export's place in `exports`. */
  module: 5,
  moduleAt: 6,
  moduleBytes: 7,
  name: 8,
  argCount: 9,
  /** The domain axis that is cut in the template, or -1. */
  cut: 10,
  /** The template: its words, the word its sizes begin at, how many axes there are. */
  templateWords: 11,
  sizesAt: 12,
  rank: 13,
  /** The module of the tail, or -1 if there is none; as above. */
  tail: 14,
  tailAt: 15,
  tailBytes: 16,
  /** Leading axes that are reported as one, positions to gather, whether columns are cut too. */
  lead: 17,
  enough: 18,
  columns: 19,
  /** Buffers of the template that follow the domain: their number, then the words they begin at. */
  followerCount: 20,
  /** Pages of 64 KiB that the memory has. */
  pages: 21,
  followers: 22,
} as const;

/** Numbers of a job, by place from `numbers`: the tail's position, then five to each argument. */
export const NUMBER = {
  tailBase: 0,
  tailItem: 1,
  tailBegin: 2,
  tailScale: 3,
  args: 4,
  perArg: 5,
} as const;
/** Most followers and arguments of a job. */
export const MAX_FOLLOWERS = 256;
export const MAX_ARGS = 24;
