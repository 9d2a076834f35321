// Stable sorting of host arrays by key: every dtype is mapped to unsigned words whose order is the order
// of the values, NaN last and equal to NaN, -0 equal to 0. Short rows are merged, long ones go through a
// radix sort. Not here: axes and ops (sort.ts).
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

const RUN = 24;
/** From here on a radix sort is faster than merging. */
const RADIX_FROM = 3000;
const BITS = 11;
const BUCKETS = 1 << BITS;

/** Work space for rows of one length. */
export class Sorter {
  readonly #n: number;
  readonly #keys: Keys;
  readonly #counts = new Uint32Array(BUCKETS);
  #order: Int32Array;
  #spare: Int32Array;

  /** For rows of `n` keys. */
  constructor(keys: Keys, n: number) {
    this.#keys = keys;
    this.#n = n;
    this.#order = new Int32Array(n);
    this.#spare = new Int32Array(n);
  }

  /** Positions within the row that begins at key `start`, in order; valid until the next call. */
  sort(start: number): Int32Array {
    const n = this.#n;
    for (let i = 0; i < n; i++) this.#order[i] = i;
    if (n >= RADIX_FROM) this.#radix(start);
    else this.#merge(start);
    return this.#order;
  }

  #radix(start: number): void {
    const { high, low } = this.#keys;
    if (low !== null) {
      for (let shift = 0; shift < 32; shift += BITS) {
        this.#pass(low, start, shift);
      }
    }
    for (let shift = 0; shift < 32; shift += BITS) this.#pass(high, start, shift);
  }

  #pass(keys: Uint32Array, start: number, shift: number): void {
    const n = this.#n;
    const counts = this.#counts.fill(0);
    const mask = BUCKETS - 1;
    for (let i = start; i < start + n; i++) counts[(keys[i] >>> shift) & mask]++;
    // All in one bucket: this digit orders nothing.
    if (counts[(keys[start] >>> shift) & mask] === n) return;
    let sum = 0;
    for (let b = 0; b < BUCKETS; b++) {
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

  #merge(start: number): void {
    const n = this.#n;
    const { high, low } = this.#keys;
    /** Whether key a comes before key b, or is equal. */
    const before = low === null
      ? (a: number, b: number) => high[start + a] <= high[start + b]
      : (a: number, b: number) => {
        const x = high[start + a];
        const y = high[start + b];
        return x < y || (x === y && low[start + a] <= low[start + b]);
      };
    let order = this.#order;
    for (let from = 0; from < n; from += RUN) {
      const end = Math.min(from + RUN, n);
      for (let i = from + 1; i < end; i++) {
        const at = order[i];
        let j = i;
        while (j > from && !before(order[j - 1], at)) {
          order[j] = order[j - 1];
          j--;
        }
        order[j] = at;
      }
    }
    let spare = this.#spare;
    for (let width = RUN; width < n; width *= 2) {
      for (let from = 0; from < n; from += 2 * width) {
        const middle = Math.min(from + width, n);
        const end = Math.min(from + 2 * width, n);
        let i = from;
        let j = middle;
        for (let at = from; at < end; at++) {
          const left = j >= end || (i < middle && before(order[i], order[j]));
          spare[at] = left ? order[i++] : order[j++];
        }
      }
      [order, spare] = [spare, order];
    }
    this.#order = order;
    this.#spare = spare;
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
