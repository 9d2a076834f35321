/**
 * The measuring of all benchmarks: contestants do the same work, are checked against the first of them,
 * warmed up, and then timed turn by turn, so that ratios come from one run and a disturbance meets all.
 * Deliberately not here: what is measured (`workloads.ts`), by whom (`peers/`), and what is made of the
 * numbers (`report.ts`).
 *
 * @module
 */

/** Work that is ready to be done again and again. */
export interface Run {
  /**
   * Does the work once. What it gives must exist when this returns (or resolves): whoever is lazy reads
   * something back. A number is taken as the time in ms, for work that measures itself.
   */
  once(): void | number | Promise<void | number>;
  /** What the work gives, to be compared. For work with a state it may advance the state. */
  result?(): Promise<ArrayLike<number>>;
  dispose?(): void;
}

/** One way to do the work of a contest. */
export interface Contestant {
  readonly name: string;
  /** Prepares the work; a throw says why it cannot be done. */
  make(): Run | Promise<Run>;
  /** The name of an earlier contestant that this one must agree with. */
  readonly against?: string;
  /** The highest memory use of the work, measured apart from the times. */
  peak?(): Promise<Peak>;
}

/** The same work, done by several. */
export interface Contest {
  readonly name: string;
  /** What is measured, in a few words. */
  readonly title: string;
  /** The first is what the others are compared with. */
  readonly contestants: readonly Contestant[];
  /** Allowed difference of results, as a part of the largest magnitude in the reference. Default 1e-5. */
  readonly tolerance?: number;
  /** What one run amounts to, to print a rate: so many per run. */
  readonly amount?: { readonly count: number; readonly unit: "FLOP" | "B" | "op" };
  /** At most so many rounds, for slow work. */
  readonly rounds?: number;
  /** At least so many runs before the first that counts; default 3. */
  readonly warmUp?: number;
  /** At least so many ms of such runs; default 1000. */
  readonly warmFor?: number;
  /** The work is a process: nothing of it is warmed by more runs, and a sample is one run. */
  readonly single?: boolean;
}

/** Lowest, middle and highest. */
export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
}

/** Highest memory use, in bytes. */
export interface Peak {
  /** What a process of its own took from the system for the work. */
  readonly process: number;
  /** Of this the tensors, where the library counts them. */
  readonly tensors?: number;
}

/** How a contestant did. */
export interface Score {
  readonly name: string;
  /** Milliseconds of one run. */
  readonly ms?: Spread;
  /** How many times the first contestant's time, round by round. */
  readonly ratio?: Spread;
  readonly peak?: Peak;
  /** Why there are no times. */
  readonly error?: string;
}

/** A contest that has been measured. */
export interface Outcome {
  readonly name: string;
  readonly title: string;
  readonly rounds: number;
  readonly amount?: Contest["amount"];
  readonly scores: readonly Score[];
  /** Whether the first contestant failed, or one gave another result. */
  readonly wrong: boolean;
}

/** How to measure. */
export interface MeasureOptions {
  /** Default 11. */
  readonly rounds?: number;
  /** A timed sample repeats the work until it lasts about so many ms. Default 20. */
  readonly sample?: number;
  /** Whether to measure memory too. Default true. */
  readonly memory?: boolean;
}

/** Long enough that memory which a library reuses has been touched: the first touch of a page is slow. */
const WARM_MS = 1000;
const MAX_WARM_RUNS = 500;

/** Lowest, middle (for an even count: the mean of the two) and highest of some numbers. */
export function spread(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
  return { median, min: sorted[0], max: sorted[sorted.length - 1] };
}

/** How far two results are apart, as a part of the reference's largest magnitude; infinite if sizes differ. */
export function difference(result: ArrayLike<number>, reference: ArrayLike<number>): number {
  if (result.length !== reference.length) return Infinity;
  let largest = 0;
  let apart = 0;
  for (let i = 0; i < reference.length; i++) {
    largest = Math.max(largest, Math.abs(reference[i]));
    // Written so that NaN counts as a difference.
    const d = Math.abs(result[i] - reference[i]);
    if (!(d <= apart)) apart = d;
    if (Number.isNaN(apart)) return Infinity;
  }
  return apart === 0 ? 0 : apart / largest;
}

/** One macrotask: finalizers run, and the engine swaps in optimised code. */
export function breathe(ms = 0): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Times in ms of one call of `run`, sorted, after a warm-up. For work that is measured alone. */
export async function times(
  run: () => void,
  { repeats = 1, samples = 11, warmUp = 5 }: {
    readonly repeats?: number;
    readonly samples?: number;
    readonly warmUp?: number;
  } = {},
): Promise<number[]> {
  const sample = (): number => {
    const start = performance.now();
    for (let r = 0; r < repeats; r++) run();
    return (performance.now() - start) / repeats;
  };
  for (let i = 0; i < warmUp; i++) {
    sample();
    await breathe(10);
  }
  return Array.from({ length: samples }, sample).sort((a, b) => a - b);
}

/** What went wrong, in one line and without addresses or paths. */
export function reason(error: unknown): string {
  const [line] = (error instanceof Error ? error.message : String(error)).split("\n");
  return line.replace(/(?:https?|file):[^\s"']+|(?<![\w.])\/[\w@.+-]+\/[^\s"':]+/g, "…").slice(
    0,
    200,
  );
}

async function timed(run: Run, repeats: number): Promise<number> {
  let own = 0;
  const start = performance.now();
  for (let r = 0; r < repeats; r++) own += await run.once() ?? 0;
  return (own > 0 ? own : performance.now() - start) / repeats;
}

/** A contestant that takes part, or why not. */
interface Entrant {
  readonly contestant: Contestant;
  run?: Run;
  error?: string;
  repeats: number;
  readonly samples: number[];
}

/** Makes everybody ready and compares what they give; true if one gives something else. */
async function qualify(contest: Contest, entrants: readonly Entrant[]): Promise<boolean> {
  const results = new Map<string, ArrayLike<number>>();
  const tolerance = contest.tolerance ?? 1e-5;
  let wrong = false;
  for (const entrant of entrants) {
    const { name, against } = entrant.contestant;
    try {
      entrant.run = await entrant.contestant.make();
      const result = await entrant.run.result?.();
      if (result === undefined) continue;
      const reference = against === undefined ? undefined : results.get(against);
      results.set(name, result);
      if (reference === undefined) continue;
      const apart = difference(result, reference);
      if (apart <= tolerance) continue;
      wrong = true;
      entrant.error = `differs by ${apart.toExponential(1)}, more than ${tolerance}`;
    } catch (error) {
      entrant.error = reason(error);
    }
  }
  return wrong || entrants[0]?.error !== undefined;
}

/** Runs until the engine has optimised the code, and chooses how often a sample repeats the work. */
async function warmUp(entrant: Entrant, contest: Contest, sample: number): Promise<void> {
  const { warmUp: runs = 3, warmFor = WARM_MS, single = false } = contest;
  const start = performance.now();
  let fastest = Infinity;
  for (let i = 0; i < MAX_WARM_RUNS; i++) {
    if (i >= runs && (single || performance.now() - start >= warmFor)) break;
    fastest = Math.min(fastest, await timed(entrant.run!, 1));
    await breathe();
  }
  entrant.repeats = single ? 1 : Math.max(1, Math.min(10_000, Math.round(sample / fastest)));
}

async function peakOf(contestant: Contestant, wanted: boolean): Promise<Peak | undefined> {
  if (!wanted) return undefined;
  try {
    return await contestant.peak?.();
  } catch (error) {
    console.error(reason(error));
    return undefined;
  }
}

/** Measures a contest. Contestants that fail have no times; the others go on. */
export async function measure(contest: Contest, options: MeasureOptions = {}): Promise<Outcome> {
  const { sample = 20, memory = true } = options;
  const rounds = Math.max(1, Math.min(options.rounds ?? 11, contest.rounds ?? Infinity));
  const entrants = contest.contestants.map((contestant): Entrant => ({
    contestant,
    repeats: 1,
    samples: [],
  }));
  let wrong = await qualify(contest, entrants);
  const guarded = async (entrant: Entrant, work: () => Promise<void>): Promise<void> => {
    if (entrant.error !== undefined) return;
    try {
      await work();
    } catch (error) {
      entrant.error = reason(error);
      wrong ||= entrant === entrants[0];
    }
  };
  for (const entrant of entrants) {
    await guarded(entrant, () => warmUp(entrant, contest, sample));
  }
  for (let round = 0; round < rounds; round++) {
    for (let i = 0; i < entrants.length; i++) {
      const entrant = entrants[(i + round) % entrants.length];
      await guarded(entrant, async () => {
        entrant.samples.push(await timed(entrant.run!, entrant.repeats));
        await breathe();
      });
    }
  }
  for (const { run } of entrants) run?.dispose?.();
  const scores: Score[] = [];
  const [first] = entrants;
  for (const { contestant, samples, error } of entrants) {
    const { name } = contestant;
    if (error !== undefined) {
      scores.push({ name, error });
      continue;
    }
    const ratio = contestant === first.contestant || first.error !== undefined
      ? undefined
      : spread(samples.map((ms, i) => ms / first.samples[i]));
    scores.push({ name, ms: spread(samples), ratio, peak: await peakOf(contestant, memory) });
  }
  const { name, title, amount } = contest;
  return { name, title, rounds, amount, scores, wrong };
}
