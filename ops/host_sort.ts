// Stable sorting of host arrays by key: every dtype is mapped to unsigned words whose order is the order
// of the values, NaN last and equal to NaN, -0 equal to 0. Short rows are sorted by insertion, others by
// radix. Not here: axes and ops (sort.ts).
import type { HostArray } from "../core/host.ts";
import { sizeOf } from "../core/shape.ts";
import { widened } from "./host_arrays.ts";

/** Keys of the elements in row-major order; `low` is there for dtypes of 64 bits. */
export interface Keys {
  readonly high: Uint32Array;
  readonly low: Uint32Array | null;
}

const SIGN = 0x80000000;

/** Keys of a dense array (float16 and bfloat16 included). Descending order turns all bits around. */
export function keysOf(a: HostArray, descending: boolean): Keys {
  const x = widened(a);
  const n = sizeOf(x.shape);
  const high = new Uint32Array(n);
  const { offset, data } = x;
  const flip = descending ? 0xffffffff : 0;
  switch (x.dtype) {
    case "float32": {
      const bits = new Uint32Array(data.buffer, data.byteOffset + offset * 4, n);
      for (let i = 0; i < n; i++) {
        let b = bits[i];
        if ((b & 0x7fffffff) > 0x7f800000) b = 0xffffffff;
        else if (b === SIGN) b = SIGN;
        else b = b & SIGN ? ~b : b | SIGN;
        high[i] = b ^ flip;
      }
      return { high, low: null };
    }
    case "float64": {
      const low = new Uint32Array(n);
      const words = new Uint32Array(data.buffer, data.byteOffset + offset * 8, 2 * n);
      for (let i = 0; i < n; i++) {
        let l = words[2 * i];
        let h = words[2 * i + 1];
        const v = data[offset + i] as number;
        if (Number.isNaN(v)) {
          l = 0xffffffff;
          h = 0xffffffff;
        } else if (v === 0) {
          l = 0;
          h = SIGN;
        } else if (h & SIGN) {
          l = ~l;
          h = ~h;
        } else h |= SIGN;
        low[i] = l ^ flip;
        high[i] = h ^ flip;
      }
      return { high, low };
    }
    case "int64": {
      const low = new Uint32Array(n);
      const words = new Uint32Array(data.buffer, data.byteOffset + offset * 8, 2 * n);
      for (let i = 0; i < n; i++) {
        low[i] = words[2 * i] ^ flip;
        high[i] = words[2 * i + 1] ^ SIGN ^ flip;
      }
      return { high, low };
    }
    default:
      for (let i = 0; i < n; i++) high[i] = (data[offset + i] as number) ^ SIGN ^ flip;
      return { high, low: null };
  }
}

/** Shorter rows are sorted by insertion. */
const RADIX_FROM = 48;
/** From here on wider digits, and so fewer passes, are worth more buckets. */
const WIDE_FROM = 3000;

/** Work space for rows of one length. */
export class Sorter {
  readonly #n: number;
  readonly #keys: Keys;
  readonly #bits: number;
  readonly #counts: Uint32Array;
  readonly #placed: Keys & { readonly low: Uint32Array };
  #order: Int32Array;
  #spare: Int32Array;

  /** For rows of `n` keys. */
  constructor(keys: Keys, n: number) {
    this.#keys = keys;
    this.#n = n;
    this.#bits = n < WIDE_FROM ? 8 : 11;
    this.#counts = new Uint32Array(1 << this.#bits);
    this.#placed = { high: new Uint32Array(RADIX_FROM), low: new Uint32Array(RADIX_FROM) };
    this.#order = new Int32Array(n);
    this.#spare = new Int32Array(n);
  }

  /** Positions within the row that begins at key `start`, in order; valid until the next call. */
  sort(start: number): Int32Array {
    if (this.#n < RADIX_FROM) this.#insert(start);
    else this.#radix(start);
    return this.#order;
  }

  #insert(start: number): void {
    const { high, low } = this.#keys;
    const placed = this.#placed;
    const order = this.#order;
    for (let i = 0; i < this.#n; i++) {
      const h = high[start + i];
      const l = low === null ? 0 : low[start + i];
      let j = i;
      while (
        j > 0 &&
        (placed.high[j - 1] > h || (placed.high[j - 1] === h && placed.low[j - 1] > l))
      ) {
        placed.high[j] = placed.high[j - 1];
        placed.low[j] = placed.low[j - 1];
        order[j] = order[j - 1];
        j--;
      }
      placed.high[j] = h;
      placed.low[j] = l;
      order[j] = i;
    }
  }

  /** One stable pass for each digit, the lowest first. */
  #radix(start: number): void {
    const { high, low } = this.#keys;
    for (let i = 0; i < this.#n; i++) this.#order[i] = i;
    const words = low === null ? [high] : [low, high];
    for (const word of words) {
      for (let shift = 0; shift < 32; shift += this.#bits) this.#pass(word, start, shift);
    }
  }

  #pass(keys: Uint32Array, start: number, shift: number): void {
    const n = this.#n;
    const counts = this.#counts.fill(0);
    const mask = counts.length - 1;
    for (let i = start; i < start + n; i++) counts[(keys[i] >>> shift) & mask]++;
    // All in one bucket: this digit orders nothing.
    if (counts[(keys[start] >>> shift) & mask] === n) return;
    let sum = 0;
    for (let b = 0; b <= mask; b++) {
      const c = counts[b];
      counts[b] = sum;
      sum += c;
    }
    const order = this.#order;
    const spare = this.#spare;
    for (let i = 0; i < n; i++) {
      const at = order[i];
      spare[counts[(keys[start + at] >>> shift) & mask]++] = at;
    }
    this.#order = spare;
    this.#spare = order;
  }
}

/** Positions of the elements of a dense array of rank 1 in ascending (or descending) order, stable. */
export function sortOrder(a: HostArray, descending: boolean): Int32Array {
  return new Sorter(keysOf(a, descending), sizeOf(a.shape)).sort(0);
}

/**
 * The first `k` positions of the order of the row at `start`, in order: a heap of the best so far, its
 * worst on top.
 */
export function firstOf(keys: Keys, start: number, n: number, k: number): Int32Array {
  const { high, low } = keys;
  const after = (a: number, b: number): boolean => {
    const x = high[start + a];
    const y = high[start + b];
    if (x !== y) return x > y;
    if (low !== null && low[start + a] !== low[start + b]) return low[start + a] > low[start + b];
    return a > b;
  };
  const heap = new Int32Array(k);
  const sink = (from: number, size: number): void => {
    const item = heap[from];
    let i = from;
    for (let child = 2 * i + 1; child < size; child = 2 * i + 1) {
      if (child + 1 < size && after(heap[child + 1], heap[child])) child++;
      if (!after(heap[child], item)) break;
      heap[i] = heap[child];
      i = child;
    }
    heap[i] = item;
  };
  for (let i = 0; i < k; i++) heap[i] = i;
  for (let i = (k >> 1) - 1; i >= 0; i--) sink(i, k);
  for (let i = k; i < n; i++) {
    if (!after(heap[0], i)) continue;
    heap[0] = i;
    sink(0, k);
  }
  for (let size = k - 1; size > 0; size--) {
    const worst = heap[0];
    heap[0] = heap[size];
    heap[size] = worst;
    sink(0, size);
  }
  return heap;
}
