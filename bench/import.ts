/**
 * How long the entry takes to import in a fresh process once it is in Deno's cache: of the import alone,
 * without the start of Deno.
 *
 *     deno run -A --no-lock bench/import.ts           Plesio's, the median of several
 *
 * @module
 */

import { type Contest, measure } from "./harness.ts";
import { deno, lastLine } from "./program.ts";

const ENTRY = new URL("../mod.ts", import.meta.url).href;

/** The contest of some modules, by the names of their libraries. */
export function importContest(modules: Readonly<Record<string, string>>): Contest {
  const self = import.meta.filename!;
  return {
    name: "import",
    title: "import in a fresh process, warm cache",
    // The first run compiles and fills the caches.
    warmUp: 2,
    single: true,
    contestants: Object.entries(modules).map(([name, module]) => ({
      name,
      make: () => ({
        once: async () => Number(lastLine(await deno("run", "-A", "--no-lock", self, module))),
      }),
    })),
  };
}

if (import.meta.main) {
  const [module] = Deno.args;
  if (module === undefined) {
    const { scores: [{ ms, error }], rounds } = await measure(importContest({ plesio: ENTRY }));
    if (ms === undefined) throw new Error(error);
    const [median, min, max] = [ms.median, ms.min, ms.max].map((x) => x.toFixed(1));
    console.log(`import of mod.ts: median ${median} ms of ${rounds}, ${min} to ${max}`);
  } else {
    const start = performance.now();
    await import(module);
    console.log(performance.now() - start);
    Deno.exit(0);
  }
}
