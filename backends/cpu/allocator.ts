/**
 * The allocator of the CPU's linear memory: hands out aligned address ranges of a memory that it
 * neither owns nor touches, and asks its owner to grow it. All bookkeeping is in JavaScript, so a
 * kernel that writes out of bounds cannot break it.
 *
 * The memory is cut into pages of 4 KiB, and pages into spans. A large block is a span of its own:
 * free spans stand in bins by size (exact below 32 pages, 32 bins to each doubling above, with
 * bitmaps to skip the empty ones, as in TLSF: M. Masmano et al., "TLSF: a new dynamic memory allocator
 * for real-time systems", 2004), are split on allocation and joined with both neighbours on
 * release. Small blocks are slots of equal size in a slab span, so that long-lived small tensors do
 * not break up the space of large ones.
 *
 * Not here: clearing memory, garbage (who frees, and when), threads (one thread allocates).
 *
 * @module
 */

import { InternalError, MemoryError, ValueError } from "../../core/errors.ts";

/** What an {@linkcode Allocator} works on. */
export interface AllocatorOptions {
  /** The first address that may be handed out; rounded up to the alignment. */
  readonly base: number;
  /** The end of the memory so far (the first address beyond it). */
  readonly limit: number;
  /**
   * Makes the memory at least `bytesNeeded` bytes longer and returns its new end, or returns -1 and
   * leaves it as it is. Addresses handed out stay valid.
   */
  readonly grow: (bytesNeeded: number) => number;
  /** Alignment of every block, a power of two from 16 to 4096. Default 64, a cache line. */
  readonly alignment?: number;
}

/** Counts of an {@linkcode Allocator}; sizes in bytes. */
export interface AllocatorStats {
  /** Bytes in blocks handed out, rounding included. */
  readonly live: number;
  /** The largest `live` since the start or the last `resetPeak`. */
  readonly peak: number;
  /** Bytes managed, free or not. */
  readonly reserved: number;
  /** Blocks handed out and not freed. */
  readonly blocks: number;
  /** The largest free range: a request above it makes the memory grow. */
  readonly largestFree: number;
  /** Blocks ever handed out. */
  readonly allocations: number;
  /** Blocks ever freed. */
  readonly frees: number;
}

const PAGE = 4096;
/** Larger requests get a span of their own. */
const SMALL_MAX = 16384;
const BINS = 27 * 32;
/** Spans looked at in a bin for the best fit. */
const SCAN = 16;
/** Most slots of a slab, and words of 32 bits that say which are free. */
const SLOTS_MAX = 256;
const SLOT_WORDS = SLOTS_MAX / 32;
/** Steps of growth, in pages: an eighth of what there is, 1 MiB to 64 MiB. */
const GROW_MIN = 256;
const GROW_MAX = 16384;
const PAGES_MAX = 2 ** 31 - 1;

// What a span is; from 0 on, a slab of that size class.
const FREE = -1;
const LARGE = -2;
/** A record whose span was joined to another; its number waits for reuse. */
const UNUSED = -3;

/**
 * Allocates ranges of a growable memory. Addresses are plain numbers below 2^53; at most 8 TiB are managed.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { Allocator } from "./allocator.ts";
 *
 * let end = 65536;
 * const allocator = new Allocator({
 *   base: 1024,
 *   limit: end,
 *   grow: (bytes) => end + bytes > 2 ** 30 ? -1 : (end += bytes),
 * });
 * const block = allocator.malloc(100_000);
 * assertEquals(block % 64, 0);
 * allocator.free(block);
 * assertEquals(allocator.stats().live, 0);
 * ```
 */
export class Allocator {
  readonly #base: number;
  readonly #grow: (bytesNeeded: number) => number;
  readonly #alignmentShift: number;

  /** End of the memory as last heard of; less than a page of it may lie beyond `#pages`. */
  #end: number;
  #pages = 0;
  /**
   * Span by page. Right for the first and last page of every span and all pages of a slab; other
   * entries are left over from earlier spans, and {@linkcode #find} tells them apart.
   */
  #spanOf = new Int32Array(1024);

  // Records of spans, by number; number 0 means none and is an empty span.
  #first = new Int32Array(256);
  #count = new Int32Array(256);
  #kind = new Int32Array(256);
  /** Neighbours in the list the span is in: its bin, its class's slabs with room, or unused records. */
  #next = new Int32Array(256);
  #prev = new Int32Array(256);
  /** Slabs: slots in use, and a bit for each free slot. */
  #used = new Int32Array(256);
  #freeSlots = new Int32Array(256 * SLOT_WORDS);
  #records = 1;
  #unused = 0;

  readonly #bins = new Int32Array(BINS);
  /** Which bins of each group of 32 hold spans, and which groups. */
  readonly #binBits = new Int32Array(BINS / 32);
  #groupBits = 0;

  /** Size class by size in units of the alignment, rounded up. */
  readonly #classOf: Uint8Array;
  readonly #classSize: Int32Array;
  readonly #classSlots: Int32Array;
  readonly #classPages: Int32Array;
  /** By class: the first slab with both used and free slots, and at most one wholly free slab. */
  readonly #partial: Int32Array;
  readonly #spare: Int32Array;

  #live = 0;
  #peak = 0;
  #allocations = 0;
  #frees = 0;

  /** An allocator of `[base, limit)`. Throws a `ValueError` for options that cannot be. */
  constructor(options: AllocatorOptions) {
    const { base, limit, grow, alignment = 64 } = options;
    if (!(Number.isInteger(Math.log2(alignment)) && alignment >= 16 && alignment <= PAGE)) {
      throw new ValueError(
        `Cannot make an Allocator with alignment ${alignment}: ` +
          `it must be a power of two from 16 to ${PAGE}`,
      );
    }
    if (!isSize(base) || !isSize(limit) || limit < base) {
      throw new ValueError(
        `Cannot make an Allocator of [${base}, ${limit}): ` +
          `the bounds must be ordered integers from 0 to 2^53 - 1`,
      );
    }
    this.#base = Math.ceil(base / alignment) * alignment;
    this.#end = this.#base;
    this.#grow = grow;
    this.#alignmentShift = Math.log2(alignment);

    const sizes = classSizes(alignment);
    this.#classSize = Int32Array.from(sizes);
    this.#classPages = this.#classSize.map(slabPages);
    this.#classSlots = this.#classSize.map((size, c) =>
      Math.floor(this.#classPages[c] * PAGE / size)
    );
    this.#classOf = Uint8Array.from(
      { length: SMALL_MAX / alignment + 1 },
      (_, units) => sizes.findIndex((size) => size >= units * alignment),
    );
    this.#partial = new Int32Array(sizes.length);
    this.#spare = new Int32Array(sizes.length);
    this.#adopt(limit);
  }

  /** Bytes in blocks handed out, as in `stats`. */
  get live(): number {
    return this.#live;
  }

  /** Bytes managed. */
  get reserved(): number {
    return this.#pages * PAGE;
  }

  /**
   * The address of a new block of at least `bytes` bytes, with whatever they hold. A block of 0 bytes
   * has an address of its own, too. Throws a `MemoryError` where `tryMalloc` gives -1.
   */
  malloc(bytes: number): number {
    const address = this.tryMalloc(bytes);
    if (address >= 0) return address;
    const { live, blocks, reserved, largestFree } = this.stats();
    throw new MemoryError(
      `Cannot allocate ${bytes} bytes: the memory cannot grow: ${live} bytes are live in ` +
        `${blocks} blocks, ${reserved} reserved, the largest free range has ${largestFree}; ` +
        `free tensors or use smaller batches`,
    );
  }

  /**
   * Like `malloc`, but -1 if the memory has no room and cannot grow.
   * Throws a `ValueError` unless `bytes` is an integer from 0 to 2^53 - 1.
   */
  tryMalloc(bytes: number): number {
    if (bytes <= SMALL_MAX && bytes >= 0 && (bytes | 0) === bytes) {
      const units = (bytes + (1 << this.#alignmentShift) - 1) >>> this.#alignmentShift;
      const address = this.#mallocSlot(this.#classOf[units]);
      if (address >= 0) return address;
      // No room for a whole slab; there may be for a page or a few.
    } else if (!isSize(bytes)) {
      throw new ValueError(
        `Cannot allocate ${bytes} bytes: the size must be an integer from 0 to 2^53 - 1`,
      );
    }
    const pages = Math.max(Math.ceil(bytes / PAGE), 1);
    const span = this.#takeSpan(pages, LARGE);
    if (span === 0) return -1;
    this.#countIn(pages * PAGE);
    return this.#base + this.#first[span] * PAGE;
  }

  /**
   * Takes a block back. Throws an `InternalError`, and changes nothing, if the address is not the
   * start of a live block: freed twice, or not from here.
   */
  free(address: number): void {
    const span = this.#find(address, "free");
    const kind = this.#kind[span];
    this.#frees++;
    if (kind === LARGE) {
      this.#live -= this.#count[span] * PAGE;
      this.#releaseSpan(span);
    } else {
      this.#live -= this.#classSize[kind];
      this.#freeSlot(span, kind, address);
    }
  }

  /** The usable bytes of a live block. Throws like `free`. */
  sizeOf(address: number): number {
    const span = this.#find(address, "take the size of");
    const kind = this.#kind[span];
    return kind === LARGE ? this.#count[span] * PAGE : this.#classSize[kind];
  }

  /**
   * Gives the wholly free slabs (at most one to a size class is kept) back to the large blocks. Done
   * by itself before the memory grows.
   */
  trim(): void {
    for (let c = 0; c < this.#spare.length; c++) {
      if (this.#spare[c] !== 0) this.#releaseSpan(this.#spare[c]);
      this.#spare[c] = 0;
    }
  }

  /** The counts. Takes time in the number of free spans of the largest size, at most. */
  stats(): AllocatorStats {
    let largest = 0;
    if (this.#groupBits !== 0) {
      const group = 31 - Math.clz32(this.#groupBits);
      const bin = group * 32 + 31 - Math.clz32(this.#binBits[group]);
      for (let span = this.#bins[bin]; span !== 0; span = this.#next[span]) {
        largest = Math.max(largest, this.#count[span]);
      }
    }
    return {
      live: this.#live,
      peak: this.#peak,
      reserved: this.reserved,
      blocks: this.#allocations - this.#frees,
      largestFree: largest * PAGE,
      allocations: this.#allocations,
      frees: this.#frees,
    };
  }

  /** Starts a new measurement of the peak at what is live now. */
  resetPeak(): void {
    this.#peak = this.#live;
  }

  #countIn(bytes: number): void {
    this.#allocations++;
    this.#live += bytes;
    if (this.#live > this.#peak) this.#peak = this.#live;
  }

  /** The span of a live block that starts at the address; throws if there is none. */
  #find(address: number, call: string): number {
    const offset = address - this.#base;
    const page = Math.floor(offset / PAGE);
    if (!(page >= 0 && page < this.#pages)) {
      throw new InternalError(
        `Cannot ${call} block ${address}: it lies outside of the allocator's memory ` +
          `[${this.#base}, ${this.#base + this.reserved})`,
      );
    }
    const span = this.#spanOf[page];
    const first = this.#first[span];
    const kind = this.#kind[span];
    // An entry left over from an earlier span may name a record that has moved elsewhere.
    if (kind === LARGE) {
      if (offset === first * PAGE) return span;
    } else if (kind >= 0 && page >= first) {
      const size = this.#classSize[kind];
      const within = offset - first * PAGE;
      const slot = (within / size) | 0;
      if (
        slot * size === within && slot < this.#classSlots[kind] &&
        (this.#freeSlots[span * SLOT_WORDS + (slot >>> 5)] & (1 << (slot & 31))) === 0
      ) return span;
    }
    throw new InternalError(
      `Cannot ${call} block ${address}: no live block starts there: ` +
        `it was freed before, or never handed out`,
    );
  }

  // Small blocks.

  #mallocSlot(sizeClass: number): number {
    let slab = this.#partial[sizeClass];
    if (slab === 0) {
      slab = this.#spare[sizeClass];
      if (slab === 0) slab = this.#newSlab(sizeClass);
      else this.#spare[sizeClass] = 0;
      if (slab === 0) return -1;
      this.#link(this.#partial, sizeClass, slab);
    }
    let word = slab * SLOT_WORDS;
    while (this.#freeSlots[word] === 0) word++;
    const bits = this.#freeSlots[word];
    const bit = 31 - Math.clz32(bits & -bits);
    this.#freeSlots[word] = bits & (bits - 1);
    if (++this.#used[slab] === this.#classSlots[sizeClass]) {
      this.#unlink(this.#partial, sizeClass, slab);
    }
    const size = this.#classSize[sizeClass];
    this.#countIn(size);
    const slot = (word - slab * SLOT_WORDS) * 32 + bit;
    return this.#base + (this.#first[slab] * PAGE + slot * size);
  }

  #freeSlot(slab: number, sizeClass: number, address: number): void {
    const within = address - this.#base - this.#first[slab] * PAGE;
    const slot = (within / this.#classSize[sizeClass]) | 0;
    this.#freeSlots[slab * SLOT_WORDS + (slot >>> 5)] |= 1 << (slot & 31);
    const used = --this.#used[slab];
    if (used + 1 === this.#classSlots[sizeClass]) this.#link(this.#partial, sizeClass, slab);
    if (used > 0) return;
    this.#unlink(this.#partial, sizeClass, slab);
    if (this.#spare[sizeClass] === 0) this.#spare[sizeClass] = slab;
    else this.#releaseSpan(slab);
  }

  #newSlab(sizeClass: number): number {
    const pages = this.#classPages[sizeClass];
    const slab = this.#takeSpan(pages, sizeClass);
    if (slab === 0) return 0;
    const first = this.#first[slab];
    this.#spanOf.fill(slab, first, first + pages);
    this.#used[slab] = 0;
    const slots = this.#classSlots[sizeClass];
    for (let w = 0; w < SLOT_WORDS; w++) {
      const inWord = Math.min(Math.max(slots - 32 * w, 0), 32);
      this.#freeSlots[slab * SLOT_WORDS + w] = inWord === 32 ? -1 : (1 << inWord) - 1;
    }
    return slab;
  }

  // Spans.

  /** A span of exactly so many pages, or 0. */
  #takeSpan(pages: number, kind: number): number {
    if (pages > PAGES_MAX) return 0;
    let span = this.#bestFit(pages);
    if (span === 0) {
      this.trim();
      span = this.#bestFit(pages);
    }
    if (span === 0) {
      this.#growFor(pages);
      span = this.#bestFit(pages);
      if (span === 0) return 0;
    }
    this.#unbin(span);
    const rest = this.#count[span] - pages;
    if (rest > 0) {
      const upper = this.#record();
      this.#place(span, this.#first[span], pages);
      this.#place(upper, this.#first[span] + pages, rest);
      this.#bin(upper);
    }
    this.#kind[span] = kind;
    return span;
  }

  /** Makes a span free, joined with the free spans beside it. */
  #releaseSpan(span: number): void {
    let first = this.#first[span];
    let count = this.#count[span];
    if (first > 0) {
      const left = this.#spanOf[first - 1];
      if (this.#kind[left] === FREE) {
        this.#unbin(left);
        first = this.#first[left];
        count += this.#count[left];
        this.#discard(left);
      }
    }
    if (first + count < this.#pages) {
      const right = this.#spanOf[first + count];
      if (this.#kind[right] === FREE) {
        this.#unbin(right);
        count += this.#count[right];
        this.#discard(right);
      }
    }
    this.#place(span, first, count);
    this.#bin(span);
  }

  #place(span: number, first: number, count: number): void {
    this.#first[span] = first;
    this.#count[span] = count;
    this.#spanOf[first] = span;
    this.#spanOf[first + count - 1] = span;
  }

  /** The smallest free span found that has so many pages, or 0. */
  #bestFit(pages: number): number {
    const own = binOf(pages);
    const span = this.#smallestIn(own, pages);
    if (span !== 0) return span;
    // All spans of higher bins fit.
    let group = own >>> 5;
    let bits = this.#binBits[group] & (-2 << (own & 31));
    if (bits === 0) {
      const groups = this.#groupBits & (-2 << group);
      if (groups === 0) return 0;
      group = 31 - Math.clz32(groups & -groups);
      bits = this.#binBits[group];
    }
    return this.#smallestIn(group * 32 + 31 - Math.clz32(bits & -bits), pages);
  }

  #smallestIn(bin: number, pages: number): number {
    let best = 0;
    let bestCount = PAGES_MAX;
    let span = this.#bins[bin];
    for (let looked = 0; span !== 0 && looked < SCAN; looked++) {
      const count = this.#count[span];
      if (count === pages) return span;
      if (count > pages && count <= bestCount) {
        best = span;
        bestCount = count;
      }
      span = this.#next[span];
    }
    return best;
  }

  #bin(span: number): void {
    this.#kind[span] = FREE;
    const bin = binOf(this.#count[span]);
    this.#link(this.#bins, bin, span);
    this.#binBits[bin >>> 5] |= 1 << (bin & 31);
    this.#groupBits |= 1 << (bin >>> 5);
  }

  #unbin(span: number): void {
    const bin = binOf(this.#count[span]);
    this.#unlink(this.#bins, bin, span);
    if (this.#bins[bin] !== 0) return;
    const group = bin >>> 5;
    this.#binBits[group] &= ~(1 << (bin & 31));
    if (this.#binBits[group] === 0) this.#groupBits &= ~(1 << group);
  }

  #link(heads: Int32Array, list: number, span: number): void {
    const head = heads[list];
    this.#next[span] = head;
    this.#prev[span] = 0;
    if (head !== 0) this.#prev[head] = span;
    heads[list] = span;
  }

  #unlink(heads: Int32Array, list: number, span: number): void {
    const next = this.#next[span];
    const prev = this.#prev[span];
    if (prev === 0) heads[list] = next;
    else this.#next[prev] = next;
    if (next !== 0) this.#prev[next] = prev;
  }

  /** The number of a record to use. */
  #record(): number {
    const reused = this.#unused;
    if (reused !== 0) {
      this.#unused = this.#next[reused];
      return reused;
    }
    if (this.#records === this.#first.length) {
      const capacity = 2 * this.#records;
      this.#first = longer(this.#first, capacity);
      this.#count = longer(this.#count, capacity);
      this.#kind = longer(this.#kind, capacity);
      this.#next = longer(this.#next, capacity);
      this.#prev = longer(this.#prev, capacity);
      this.#used = longer(this.#used, capacity);
      this.#freeSlots = longer(this.#freeSlots, capacity * SLOT_WORDS);
    }
    return this.#records++;
  }

  #discard(span: number): void {
    this.#kind[span] = UNUSED;
    this.#next[span] = this.#unused;
    this.#unused = span;
  }

  // Growth.

  /** Grows by a sensible step, or by just what is missing for a span of so many pages. */
  #growFor(pages: number): void {
    const last = this.#pages === 0 ? 0 : this.#spanOf[this.#pages - 1];
    const missing = pages - (this.#kind[last] === FREE ? this.#count[last] : 0);
    const step = Math.min(Math.max(this.#pages >>> 3, GROW_MIN), GROW_MAX);
    if (this.#growBy(Math.max(missing, step)) || missing >= step) return;
    this.#growBy(missing);
  }

  /** Whether the owner gave that many pages more. */
  #growBy(pages: number): boolean {
    const wanted = this.#pages + pages;
    const bytesNeeded = this.#base + wanted * PAGE - this.#end;
    if (wanted > PAGES_MAX || !isSize(this.#end + bytesNeeded)) return false;
    const end = this.#grow(bytesNeeded);
    if (end === -1) return false;
    if (!isSize(end) || end < this.#end + bytesNeeded) {
      throw new InternalError(
        `Cannot grow the memory by ${bytesNeeded} bytes from ${this.#end}: ` +
          `its owner gave ${end} as new end`,
      );
    }
    this.#adopt(end);
    return true;
  }

  /** Takes over the whole pages up to a new end. */
  #adopt(end: number): void {
    this.#end = Math.max(end, this.#end);
    const pages = Math.min(Math.floor((this.#end - this.#base) / PAGE), PAGES_MAX);
    const added = pages - this.#pages;
    if (added === 0) return;
    if (pages > this.#spanOf.length) {
      this.#spanOf = longer(this.#spanOf, Math.max(pages, 2 * this.#spanOf.length));
    }
    const span = this.#record();
    this.#first[span] = this.#pages;
    this.#count[span] = added;
    this.#pages = pages;
    this.#releaseSpan(span);
  }
}

/** Bin by number of pages: exact below 32, then by the leading 1 and the five bits after it. */
function binOf(pages: number): number {
  if (pages < 32) return pages;
  const top = 31 - Math.clz32(pages);
  return (top - 4) * 32 + ((pages >>> (top - 5)) & 31);
}

/** Sizes of small blocks: four to each doubling, multiples of the alignment. */
function classSizes(alignment: number): number[] {
  const sizes: number[] = [];
  const step = (size: number) => Math.max(2 ** Math.floor(Math.log2(size)) / 4, alignment);
  for (let size = alignment; size <= SMALL_MAX; size += step(size)) sizes.push(size);
  return sizes;
}

/** Pages of a slab: 256 slots or 64 KiB, and then on until at most a 16th is left over. */
function slabPages(size: number): number {
  let pages = Math.min(Math.ceil(SLOTS_MAX * size / PAGE), 65536 / PAGE);
  while ((pages * PAGE) % size > pages * PAGE / 16) pages++;
  return pages;
}

function longer(array: Int32Array, length: number): Int32Array<ArrayBuffer> {
  const copy = new Int32Array(length);
  copy.set(array);
  return copy;
}

function isSize(x: number): boolean {
  return Number.isSafeInteger(x) && x >= 0;
}
