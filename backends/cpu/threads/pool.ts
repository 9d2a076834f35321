// The thread pool: publishes jobs in shared memory, takes its share, waits for the rest. Parts are claimed, so
// workers that are late, or never come up, delay nothing. Not here: what a part does (thread.ts).
import { InternalError } from "../../../core/errors.ts";
import { LaunchView } from "../wasm/render/mod.ts";
import { getNumThreads, onNumThreads } from "./count.ts";
import { type Job, JobWriter, SharedCode } from "./job.ts";
import { BLOCK_BYTES, LAYOUT, MAX_PARTS, NUMBER, WORD } from "./layout.ts";
import { makeThread, type Tables, type Thread } from "./thread.ts";
import { findStarter, type Starter } from "./workers.ts";

const TABLES: Tables = { layout: LAYOUT, word: WORD, number: NUMBER };

/** When work is shared out, in nanoseconds. Not part of any result; tests lower it to share out small work. */
export const tuning = {
  /** Work of less is not: while workers are awake, and when they would have to be woken. */
  enough: 50_000,
  enoughToWake: 200_000,
  /** What a part should take at least. */
  part: 25_000,
  /** Work to have seen before workers are started: about what starting one costs. */
  start: 100_000_000,
  /** Whether the calling thread takes parts itself. */
  takesPart: true,
};

/** Parts for each thread, so that one that is held up does not hold up all. */
const PARTS_PER_THREAD = 4;
/** Milliseconds that idle threads look out for work, or the caller for the end, before they sleep. */
const SPIN_MS = 0.05;
const EPOCH_MASK = 2 ** (32 - LAYOUT.partBits) - 1;

const pools: Pool[] = [];

/** The pools of this isolate: one for each memory. For tests. */
export function livePools(): readonly Pool[] {
  return pools;
}

/** What routines that share out their work see of the pool. */
export interface Fork {
  /** Threads that parts may run on, numbered from 0: as many scratch memories are needed. */
  readonly threads: number;
  /** Whether work of so many nanoseconds is worth sharing out. */
  wants(ns: number): boolean;
  /** Runs a job of so many nanoseconds; `most` limits the chunks of an item, default as many as help. */
  run(job: Omit<Job, "chunks">, ns: number, most?: number): void;
  /** What the calling thread's instances report finished rows to while a job runs. */
  readonly report: (start: number, count: number) => void;
  /** Makes a module known. */
  code(bytes: Uint8Array, instance: WebAssembly.Instance): SharedCode;
}

/** Threads on one shared memory, whose first bytes (see layout.ts) are the pool's. */
export class Pool implements Fork {
  readonly #memory: WebAssembly.Memory;
  readonly #words: Int32Array;
  readonly #writer: JobWriter;
  readonly #thread: Thread;
  readonly #codes = new Map<number, SharedCode>();
  #starter: Starter | null | undefined;
  #epoch = 0;
  /** Threads of the epoch; 1 when there are no workers. */
  #started = 1;
  #seen = 0;
  #canWait = true;
  #busy = false;
  #jobs = 0;
  #forget: (() => void) | null = null;

  /** A pool on a memory; `alloc` gives memory that is never taken back. */
  constructor(memory: WebAssembly.Memory, alloc: (bytes: number) => number) {
    pools.push(this);
    this.#memory = memory;
    this.#words = new Int32Array(memory.buffer, 0, LAYOUT.end / 4);
    const template = new LaunchView(memory.buffer, LAYOUT.template, BLOCK_BYTES);
    this.#writer = new JobWriter(memory, template, (code) => {
      this.#codes.set(code.id, code);
      return code.place(memory, alloc);
    });
    this.#thread = makeThread(memory, 0, TABLES, (_, id) => this.#codes.get(id)!.exports);
  }

  get threads(): number {
    return getNumThreads();
  }

  /** Workers that have come up. */
  get workers(): number {
    return this.#started === 1 ? 0 : Atomics.load(this.#words, LAYOUT.joined / 4);
  }

  /** Jobs that were published. */
  get jobs(): number {
    return this.#jobs;
  }

  get report(): Thread["report"] {
    return this.#thread.report;
  }

  code(bytes: Uint8Array, instance: WebAssembly.Instance): SharedCode {
    return new SharedCode(bytes, instance.exports as unknown as SharedCode["exports"]);
  }

  wants(ns: number): boolean {
    if (ns < tuning.enough || this.#busy) return false;
    const threads = getNumThreads();
    if (threads === 1 || this.#starter === null) return false;
    if (this.#started !== threads) {
      this.#seen += ns;
      if (this.#seen >= tuning.start) this.start();
    }
    const { workers } = this;
    if (workers === 0) return false;
    return ns >= tuning.enoughToWake || Atomics.load(this.#words, LAYOUT.parked / 4) < workers;
  }

  run(job: Omit<Job, "chunks">, ns: number, most: number = MAX_PARTS): void {
    const { items, length, grain } = job;
    const wish = Math.min(Math.ceil(ns / tuning.part), PARTS_PER_THREAD * this.#started);
    const chunks = Math.max(1, Math.min(Math.ceil(wish / items), most, Math.ceil(length / grain)));
    const parts = Math.max(1, Math.min(wish, items * chunks, MAX_PARTS));
    this.#writer.write({ ...job, chunks }, parts);
    const words = this.#words;
    const done = LAYOUT.done / 4;
    words[done] = 0;
    words[LAYOUT.failed / 4] = 0;
    this.#busy = true;
    this.#jobs++;
    try {
      Atomics.store(words, LAYOUT.claim / 4, this.#claimWord(parts));
      if (Atomics.load(words, LAYOUT.parked / 4) > 0) {
        Atomics.notify(words, LAYOUT.claim / 4, tuning.takesPart ? parts - 1 : parts);
      }
      while (tuning.takesPart && this.#thread.work(this.#epoch));
      this.#join(parts);
    } finally {
      this.#busy = false;
    }
    if (words[LAYOUT.failed / 4] !== 0) throw this.#failure();
  }

  #claimWord(parts: number): number {
    return (this.#epoch << LAYOUT.partBits) | parts;
  }

  /** Waits until all parts are done, awake for a short while. */
  #join(parts: number): void {
    const words = this.#words;
    const done = LAYOUT.done / 4;
    if (Atomics.load(words, done) === parts) return;
    const until = performance.now() + SPIN_MS;
    do {
      for (let i = 0; i < 32; i++) if (Atomics.load(words, done) === parts) return;
    } while (!this.#canWait || performance.now() < until);
    Atomics.store(words, LAYOUT.waiting / 4, 1);
    for (;;) {
      const seen = Atomics.load(words, done);
      if (seen === parts) break;
      try {
        Atomics.wait(words, done, seen);
      } catch {
        // The main thread of a page may not sleep.
        this.#canWait = false;
      }
    }
    Atomics.store(words, LAYOUT.waiting / 4, 0);
  }

  #failure(): InternalError {
    const length = this.#words[LAYOUT.failedLength / 4];
    const text = new Uint8Array(length);
    text.set(new Uint8Array(this.#memory.buffer, LAYOUT.failedText, length));
    const reason = new TextDecoder().decode(text);
    return new InternalError(`Cannot finish a call on several threads: a part failed: ${reason}`);
  }

  /** Starts workers for the number of threads that is set. */
  start(): void {
    this.stop();
    const threads = getNumThreads();
    if (this.#starter === undefined) this.#starter = findStarter();
    if (threads === 1 || this.#starter === null) return;
    this.#forget = onNumThreads(() => this.stop());
    this.#started = threads;
    this.#words[LAYOUT.joined / 4] = 0;
    const memory = this.#memory;
    const data = { memory, slot: 1, threads, epoch: this.#epoch, tables: TABLES, spin: SPIN_MS };
    try {
      this.#starter.start(data);
    } catch {
      // No threads are to be had: the calling one does everything.
      this.#starter = null;
      this.stop();
    }
  }

  /** Ends the workers. They notice by themselves, and a late one takes no part in what comes. */
  stop(): void {
    this.#forget?.();
    this.#forget = null;
    this.#started = 1;
    this.#seen = 0;
    this.#epoch = (this.#epoch + 1) & EPOCH_MASK;
    Atomics.store(this.#words, LAYOUT.claim / 4, this.#claimWord(0));
    Atomics.notify(this.#words, LAYOUT.claim / 4);
  }
}
