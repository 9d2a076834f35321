/**
 * How long the digits example takes to train: the whole program, as a user runs it.
 *
 * @module
 */

import type { Contest } from "./harness.ts";
import { deno } from "./program.ts";

/** Percent of the held-out digits that must be right for a time to count. */
const RIGHT = 98;

/** The contest; only Plesio has the example. */
export function digitsContest(): Contest {
  return {
    name: "digits",
    title: `the digits example, a whole program without permissions; at least ${RIGHT} % right`,
    rounds: 3,
    warmUp: 0,
    single: true,
    contestants: [{
      name: "plesio",
      make: () => ({
        async once() {
          const start = performance.now();
          const out = await deno("run", "examples/digits.ts");
          const ms = performance.now() - start;
          const right = Number(/held-out accuracy: ([\d.]+) %/.exec(out)?.[1]);
          if (!(right >= RIGHT)) throw new Error(`only ${right} % right`);
          return ms;
        },
      }),
    }],
  };
}
