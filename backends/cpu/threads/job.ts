// What threads are asked to do: one call of a module's export for every part of a range, with arguments
// that are linear in where the part lies. Data and its encoding only; thread.ts runs it.
import { InternalError } from "../../../core/errors.ts";
import type { LaunchLayout, LaunchView } from "../wasm/render/mod.ts";
import {
  BLOCK_BYTES,
  type ExportName,
  EXPORTS,
  LAYOUT,
  MAX_ARGS,
  MAX_FOLLOWERS,
  NUMBER,
  WORD,
} from "./layout.ts";

/** The exports of an instance. */
export type Exports = Readonly<Record<string, (...args: number[]) => void>>;

/** A module that threads compile themselves, from bytes in the shared memory. */
export class SharedCode {
  static #count = 0;
  /** Tells modules apart. */
  readonly id: number = SharedCode.#count++;
  /** The calling thread's instance. */
  readonly exports: Exports;
  readonly length: number;
  #bytes: Uint8Array | null;
  #address = 0;

  constructor(bytes: Uint8Array, exports: Exports) {
    this.#bytes = bytes;
    this.length = bytes.length;
    this.exports = exports;
  }

  /** Where the bytes are; they are put there when first asked for, and stay. */
  place(memory: WebAssembly.Memory, alloc: (bytes: number) => number): number {
    if (this.#bytes !== null) {
      this.#address = alloc(this.length);
      new Uint8Array(memory.buffer, this.#address, this.length).set(this.#bytes);
      this.#bytes = null;
    }
    return this.#address;
  }
}

/** An argument: `base` plus so much for each item, begin, end and thread number of the part. */
export interface Arg {
  readonly base: number;
  readonly item?: number;
  readonly begin?: number;
  readonly end?: number;
  readonly slot?: number;
}

/** A kernel's launch, whose parameters can be written where they are wanted. */
export interface Block {
  readonly code: SharedCode;
  readonly layout: LaunchLayout;
  /** The buffers that follow the domain, by number. */
  readonly followers: readonly number[];
  write(view: LaunchView): void;
}

/** What to run on parts of a result as they are finished: positions on its first `lead` axes as one. */
export interface Tail {
  readonly block: Block;
  readonly lead: number;
  /** Positions to gather before a run. */
  readonly enough: number;
}

/** Where the positions that a kernel reports lie: base + item·item + begin·begin + reported·scale. */
export interface TailPlace {
  readonly base: number;
  readonly item: number;
  readonly begin: number;
  readonly scale: number;
  /** Whether begin and end are a range of columns. */
  readonly columns: boolean;
}

/**
 * A call for every part. There are items × chunks units: chunk c of an item is the c-th part of
 * 0 … length - 1, cut at multiples of `grain`. Results must not depend on how that is cut.
 */
export interface Job {
  readonly code: SharedCode;
  readonly name: ExportName;
  readonly args: readonly (number | Arg)[];
  readonly items: number;
  readonly chunks: number;
  readonly length: number;
  readonly grain: number;
  /** The launch of which each part is cut out along an axis; `args` are then not used. */
  readonly cut?: { readonly block: Block; readonly axis: number };
  readonly tail?: Tail & TailPlace;
}

/** Whether a launch's parameters can be copied and cut by threads. */
export function isCuttable({ layout, followers }: Block): boolean {
  return layout.ptr === "i32" && layout.bytes <= BLOCK_BYTES && followers.length <= MAX_FOLLOWERS;
}

/** Writes jobs where threads read them. */
export class JobWriter {
  readonly #memory: WebAssembly.Memory;
  readonly #words: Int32Array;
  readonly #numbers: Float64Array;
  readonly #template: LaunchView;
  readonly #place: (code: SharedCode) => number;

  constructor(
    memory: WebAssembly.Memory,
    template: LaunchView,
    place: (code: SharedCode) => number,
  ) {
    const { buffer } = memory;
    this.#memory = memory;
    this.#words = new Int32Array(buffer, LAYOUT.job, (LAYOUT.numbers - LAYOUT.job) / 4);
    this.#numbers = new Float64Array(
      buffer,
      LAYOUT.numbers,
      (LAYOUT.template - LAYOUT.numbers) / 8,
    );
    this.#template = template;
    this.#place = place;
  }

  /** Writes a job of so many parts. */
  write(job: Job, parts: number): void {
    const { args, cut, tail } = job;
    if (args.length > MAX_ARGS) {
      throw new InternalError(`Cannot share out a call with ${args.length} arguments`);
    }
    const w = this.#words;
    w[WORD.parts] = parts;
    w[WORD.items] = job.items;
    w[WORD.chunks] = job.chunks;
    w[WORD.length] = job.length;
    w[WORD.grain] = job.grain;
    this.#code(job.code, WORD.module);
    w[WORD.name] = EXPORTS.indexOf(job.name);
    w[WORD.argCount] = args.length;
    w[WORD.cut] = cut === undefined ? -1 : cut.axis;
    w[WORD.tail] = -1;
    if (cut !== undefined) this.#block(cut.block);
    const n = this.#numbers;
    if (tail !== undefined) {
      this.#block(tail.block);
      this.#code(tail.block.code, WORD.tail);
      w[WORD.lead] = tail.lead;
      w[WORD.enough] = tail.enough;
      w[WORD.columns] = tail.columns ? 1 : 0;
      n[NUMBER.tailBase] = tail.base;
      n[NUMBER.tailItem] = tail.item;
      n[NUMBER.tailBegin] = tail.begin;
      n[NUMBER.tailScale] = tail.scale;
    }
    let at: number = NUMBER.args;
    w[WORD.pages] = this.#memory.buffer.byteLength / 65536;
    for (const a of args) {
      const number = typeof a === "number";
      n[at++] = number ? a : a.base;
      n[at++] = number ? 0 : a.item ?? 0;
      n[at++] = number ? 0 : a.begin ?? 0;
      n[at++] = number ? 0 : a.end ?? 0;
      n[at++] = number ? 0 : a.slot ?? 0;
    }
  }

  /** Number, address and bytes of a module. */
  #code(code: SharedCode, at: number): void {
    this.#words[at] = code.id;
    this.#words[at + 1] = this.#place(code);
    this.#words[at + 2] = code.length;
  }

  #block(block: Block): void {
    const { layout, followers } = block;
    if (!isCuttable(block)) throw new InternalError("Cannot cut a launch with so many parameters");
    const w = this.#words;
    w[WORD.templateWords] = layout.bytes >> 2;
    w[WORD.sizesAt] = layout.sizes >> 2;
    w[WORD.rank] = layout.rank;
    w[WORD.followerCount] = followers.length;
    for (let i = 0; i < followers.length; i++) {
      w[WORD.followers + i] = layout.buffers[followers[i]].at >> 2;
    }
    block.write(this.#template);
  }
}

/** Makes a call for a whole range on the calling thread, as the only part. */
export function runAlone(
  exports: Exports,
  name: ExportName,
  args: readonly (number | Arg)[],
  length: number,
): void {
  exports[name](...args.map((a) => typeof a === "number" ? a : a.base + length * (a.end ?? 0)));
}
