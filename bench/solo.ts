/**
 * The highest memory use of one contestant, measured in a process of its own: what the system gave it
 * beyond what library and input took before. Run by `main.ts`; deliberately not here: times.
 *
 *     deno run -A --no-lock bench/solo.ts LIBRARY WORKLOAD VARIANT [--one-thread]
 *
 * @module
 */

import { breathe, type Peak } from "./harness.ts";
import { type LibraryName, loadLibrary, variants } from "./peers/library.ts";
import { deno, lastLine } from "./program.ts";
import { type WorkloadName, WORKLOADS } from "./workloads.ts";

const RUNS = 5;

/** The highest resident size of this process since the last call, where the system keeps it. */
async function highWater(): Promise<number> {
  const { rss } = Deno.memoryUsage();
  if (Deno.build.os !== "linux") return rss;
  const status = await Deno.readTextFile("/proc/self/status");
  const kilobytes = Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]);
  return Number.isNaN(kilobytes) ? rss : kilobytes * 1024;
}

/** Makes the system forget the highest resident size so far. */
async function resetHighWater(): Promise<void> {
  if (Deno.build.os === "linux") await Deno.writeTextFile("/proc/self/clear_refs", "5");
}

/** Starts a process for one contestant. */
export async function soloPeak(
  library: LibraryName,
  workload: WorkloadName,
  variant: string,
  oneThread: boolean,
): Promise<Peak> {
  const flags = oneThread ? ["--one-thread"] : [];
  const self = import.meta.filename!;
  return JSON.parse(
    lastLine(await deno("run", "-A", "--no-lock", self, library, workload, variant, ...flags)),
  );
}

if (import.meta.main) {
  const [name, workload, variant, ...flags] = Deno.args;
  const library = await loadLibrary(name as LibraryName, {
    oneThread: flags.includes("--one-thread"),
  });
  const input = WORKLOADS[workload as WorkloadName].input();
  const way = variants(library, workload as WorkloadName).find((each) => each.variant === variant);
  if (way === undefined) throw new Error(`no ${workload} ${variant} by ${name}`);
  await resetHighWater();
  const before = Deno.memoryUsage().rss;
  let peak = 0;
  const run = await way.make(input as never);
  for (let i = 0; i < RUNS; i++) {
    await run.once();
    await breathe();
    peak = Math.max(peak, await highWater());
  }
  const found: Peak = { process: peak - before, tensors: library.tensorPeak?.() };
  console.log(JSON.stringify(found));
  Deno.exit(0);
}
