// How a launch of a rendered kernel is shared out: what it costs, and along which axis it is cut. Not here:
// rendering, the pool, reductions to a few values (blocks.ts).
import { DTYPES } from "../../../core/dtype.ts";
import { isLeaf, walk } from "../../../core/ir/expr.ts";
import { type Kernel, stageExprs } from "../../../core/ir/kernel.ts";
import { decomposeExtra } from "../../../core/ir/math/mod.ts";
import type { LaunchLayout, LaunchView } from "../wasm/render/mod.ts";
import type { Block, SharedCode } from "./job.ts";
import { isCuttable } from "./job.ts";
import type { Fork } from "./pool.ts";

/** Nanoseconds, roughly, on one core: an op that is a few instructions, one that is a function, a byte. */
const PLAIN_NS = 0.03;
const FUNCTION_NS = 0.8;
const GATHER_NS = 1;
const BYTE_NS = 0.015;
/** Parts of the last outer axis end at multiples of one of these: whole cache lines, whole rounds of loops. */
const GRAINS = [64, 16, 4] as const;

/** What one point of a kernel's domain costs, in nanoseconds. */
export function pointCost(kernel: Kernel): number {
  let ns = 0;
  walk(kernel.stages.flatMap(stageExprs), (e) => {
    if (e.op === "gather") ns += GATHER_NS;
    else if (e.op !== "fma" && Object.hasOwn(decomposeExtra, e.op)) ns += FUNCTION_NS;
    else if (!isLeaf(e.op)) ns += PLAIN_NS;
  });
  for (const b of [...kernel.inputs, ...kernel.outputs]) ns += DTYPES[b.dtype].bytes * BYTE_NS;
  return ns;
}

/** The outer axes that no part may be cut out of, as expressions read their coordinates or sizes. */
function pinnedAxes(kernel: Kernel): ReadonlySet<number> {
  const pinned = new Set<number>();
  walk(kernel.stages.flatMap(stageExprs), (e) => {
    if (e.op === "coord" || e.op === "size") pinned.add(e.index!);
  });
  return pinned;
}

/** Shares out the launches of one kernel. */
export class LaunchSharing {
  readonly code: SharedCode;
  readonly followers: readonly number[];
  readonly #layout: LaunchLayout;
  readonly #outerRank: number;
  readonly #rank: number;
  readonly #ns: number;
  readonly #pinned: ReadonlySet<number>;

  constructor(kernel: Kernel, layout: LaunchLayout, code: SharedCode) {
    this.code = code;
    this.#layout = layout;
    this.#outerRank = kernel.outerRank;
    this.#rank = kernel.outerRank + kernel.innerRank;
    this.#ns = pointCost(kernel);
    this.#pinned = pinnedAxes(kernel);
    this.followers = [...kernel.inputs, ...kernel.outputs].flatMap((b, i) =>
      "gatherRank" in b && b.gatherRank !== undefined ? [] : [i]
    );
  }

  /** What a launch costs, in nanoseconds. */
  cost(sizes: readonly number[]): number {
    let points = 1;
    for (let i = 0; i < this.#rank; i++) points *= sizes[i];
    return points * this.#ns;
  }

  /** The launch as something that threads can copy and cut. */
  block(write: (view: LaunchView) => void): Block {
    return { code: this.code, layout: this.#layout, followers: this.followers, write };
  }

  /**
   * Runs a launch on several threads, or returns false if it cannot be cut. Its parameters are at
   * `address`; `write` writes them again elsewhere.
   */
  run(
    fork: Fork,
    sizes: readonly number[],
    ns: number,
    address: number,
    write: (view: LaunchView) => void,
  ): boolean {
    const axis = this.#axis(sizes, fork.threads);
    if (axis < 0) return false;
    const length = sizes[axis];
    const grain = axis < this.#outerRank - 1
      ? 1
      : GRAINS.find((g) => length >= 4 * g * fork.threads) ?? 1;
    const job = { code: this.code, name: "run", items: 1, length, grain } as const;
    if (axis === 0) {
      fork.run({ ...job, args: [address, { base: 0, begin: 1 }, { base: 0, end: 1 }] }, ns);
      return true;
    }
    const block = this.block(write);
    if (!isCuttable(block)) return false;
    fork.run({ ...job, args: [], cut: { block, axis } }, ns);
    return true;
  }

  /** The first outer axis if it is long enough, else the longest that may be cut; -1 if none. */
  #axis(sizes: readonly number[], threads: number): number {
    if (this.#outerRank === 0) return -1;
    let best = 0;
    if (sizes[0] < 2 * threads) {
      for (let axis = 1; axis < this.#outerRank; axis++) {
        if (sizes[axis] > sizes[best] && !this.#pinned.has(axis)) best = axis;
      }
    }
    return sizes[best] > 1 ? best : -1;
  }
}
