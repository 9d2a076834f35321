/**
 * Random generators: a key and a position in its stream. Drawing means reserving a range of counters;
 * the words are computed from the range alone, wherever and in whatever order suits the place that
 * runs the kernel, so results depend on neither backend nor number of threads. Not here: Philox
 * itself (`philox.ts`), distributions (`distributions.ts`).
 *
 * @module
 */

import { describe } from "../describe.ts";
import { StateError, ValueError } from "../errors.ts";
import type { PhiloxRange } from "./philox.ts";

/** A generator's whole state, ready for JSON: 32-bit halves, lower half first. */
export interface GeneratorState {
  /** The only algorithm there is; a checkpoint names it so that another can follow. */
  readonly algorithm: "philox4x32-10";
  /** The seed. */
  readonly key: readonly [number, number];
  /** The number of blocks (of four words) handed out. */
  readonly offset: readonly [number, number];
}

/** Reservations beyond this could not be indexed by exact numbers (two words for each value). */
const MAX_COUNT = 2 ** 52;

/**
 * A stream of 32-bit random words, of which consumers reserve ranges.
 *
 * The stream has 2^64 blocks of four words; after them it starts over. Word i of a range is word
 * i mod 4 of the block with counter (offset + floor(i / 4), 0, 0) under the key (= the seed).
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { Generator } from "./generator.ts";
 *
 * const generator = new Generator(42);
 * generator.reserve(5); // two blocks
 * assertEquals(generator.reserve(4), { key0: 42, key1: 0, offsetLo: 2, offsetHi: 0 });
 * ```
 */
export class Generator {
  #key0 = 0;
  #key1 = 0;
  #offsetLo = 0;
  #offsetHi = 0;

  /** A generator at the start of the stream of `seed` (see {@linkcode seed}). */
  constructor(seed: number | bigint = 0) {
    this.seed(seed);
  }

  /**
   * Goes to the start of the stream of a seed: any bigint, taken modulo 2^64, or any safe integer
   * (equal values of both kinds are the same seed). Throws a `ValueError` for other numbers.
   */
  seed(seed: number | bigint): this {
    if (typeof seed !== "bigint" && !Number.isSafeInteger(seed)) {
      throw new ValueError(
        `Cannot seed with ${describe(seed)}: a seed must be a safe integer or a bigint`,
      );
    }
    const bits = BigInt.asUintN(64, BigInt(seed));
    this.#key0 = Number(bits & 0xffff_ffffn);
    this.#key1 = Number(bits >> 32n);
    this.#offsetLo = 0;
    this.#offsetHi = 0;
    return this;
  }

  /** The key: the seed's lower and upper 32 bits. */
  get key(): readonly [number, number] {
    return [this.#key0, this.#key1];
  }

  /** How many blocks of four words have been handed out since seeding, modulo 2^64. */
  get offset(): bigint {
    return (BigInt(this.#offsetHi) << 32n) | BigInt(this.#offsetLo);
  }

  /**
   * Hands out the next `count` words, and with them the rest of their last block: no later
   * reservation overlaps. Throws a `ValueError` unless `count` is an integer in 0 … 2^52.
   */
  reserve(count: number): PhiloxRange {
    if (!Number.isInteger(count) || count < 0 || count > MAX_COUNT) {
      throw new ValueError(
        `Cannot reserve ${count} random words: the count must be an integer from 0 to 2^52`,
      );
    }
    const range = {
      key0: this.#key0,
      key1: this.#key1,
      offsetLo: this.#offsetLo,
      offsetHi: this.#offsetHi,
    };
    const lo = this.#offsetLo + Math.ceil(count / 4);
    this.#offsetLo = lo >>> 0;
    this.#offsetHi = (this.#offsetHi + Math.floor(lo / 2 ** 32)) >>> 0;
    return range;
  }

  /** The state, as a plain object that survives JSON. */
  getState(): GeneratorState {
    return {
      algorithm: "philox4x32-10",
      key: [this.#key0, this.#key1],
      offset: [this.#offsetLo, this.#offsetHi],
    };
  }

  /** Takes up a state of {@linkcode getState}. Throws a `StateError` if it is none. */
  setState(state: GeneratorState): void {
    if (state?.algorithm !== "philox4x32-10" || !isPair(state.key) || !isPair(state.offset)) {
      throw new StateError(
        `Cannot setState: a state must be { algorithm: "philox4x32-10", key, offset } with pairs ` +
          `of 32-bit unsigned integers: got ${show(state)}`,
      );
    }
    [this.#key0, this.#key1] = state.key;
    [this.#offsetLo, this.#offsetHi] = state.offset;
  }
}

function isPair(value: unknown): boolean {
  return Array.isArray(value) && value.length === 2 &&
    value.every((x) => typeof x === "number" && x >>> 0 === x);
}

function show(value: unknown): string {
  return JSON.stringify(value, (_, x) => typeof x === "bigint" ? `${x}n` : x) ?? "undefined";
}

let shared: Generator | undefined;

/**
 * The generator used where none is given. Until {@linkcode seed} is called its seed is 64 bits of
 * the system's entropy.
 *
 * @example
 * ```ts
 * import { assert } from "jsr:@std/assert@1";
 * import { defaultGenerator, Generator } from "./generator.ts";
 *
 * assert(defaultGenerator() instanceof Generator);
 * assert(defaultGenerator() === defaultGenerator());
 * ```
 */
export function defaultGenerator(): Generator {
  // On first use: some hosts refuse entropy while modules load.
  return shared ??= new Generator(crypto.getRandomValues(new BigUint64Array(1))[0]);
}

/**
 * Seeds the default generator and returns it.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { seed } from "./generator.ts";
 *
 * const first = seed(1).reserve(8);
 * assertEquals(seed(1).reserve(8), first);
 * ```
 */
export function seed(n: number | bigint): Generator {
  return (shared ??= new Generator()).seed(n);
}

/**
 * The state of the default generator, for a checkpoint.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { defaultGenerator, getRngState, setRngState } from "./generator.ts";
 *
 * const saved = JSON.stringify(getRngState());
 * const range = defaultGenerator().reserve(100);
 * setRngState(JSON.parse(saved));
 * assertEquals(defaultGenerator().reserve(100), range);
 * ```
 */
export function getRngState(): GeneratorState {
  return defaultGenerator().getState();
}

/**
 * Puts the default generator into a state of {@linkcode getRngState}. Throws a `StateError` if it is
 * none.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { getRngState, seed, setRngState } from "./generator.ts";
 *
 * seed(7).reserve(4);
 * const state = getRngState();
 * seed(8);
 * setRngState(state);
 * assertEquals(getRngState().key, [7, 0]);
 * ```
 */
export function setRngState(state: GeneratorState): void {
  (shared ??= new Generator()).setState(state);
}
