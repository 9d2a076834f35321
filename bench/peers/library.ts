/**
 * What a library that takes part says about itself. Deliberately not here: any library.
 *
 * @module
 */

import type { Contestant, Peak, Run } from "../harness.ts";
import { type InputOf, type WorkloadName, WORKLOADS } from "../workloads.ts";

/** Prepares a workload. */
export type Make<I> = (input: I) => Run | Promise<Run>;

/** A workload done in one way, in several (by name), or the reason why it is not done. */
export type Entry<I> = Make<I> | { readonly [variant: string]: Make<I> } | string;

/** A library that is loaded. */
export interface Library {
  readonly name: string;
  readonly version: string;
  /** What a user imports. */
  readonly module: string;
  /** How many threads it works on. */
  readonly threads: string;
  /** The most that tensors have held so far in bytes, if it is counted. */
  readonly tensorPeak?: () => number;
  readonly rows: { readonly [W in WorkloadName]: Entry<InputOf<W>> };
}

/** How a library is wanted. */
export interface LoadOptions {
  /** Keep to one thread, also where it would start more. */
  readonly oneThread: boolean;
}

/** The libraries; the first is what the others are compared with. */
export const LIBRARIES = ["plesio", "jax_js", "tfjs"] as const;

/** The name of a library's file. */
export type LibraryName = typeof LIBRARIES[number];

/** Loads a library; throws if it is not to be had. */
export async function loadLibrary(name: LibraryName, options: LoadOptions): Promise<Library> {
  // Not analyzable, so that a package that is not to be had disturbs no other library.
  const file = new URL(`./${name}.ts`, import.meta.url).href;
  const module: { load(options: LoadOptions): Promise<Library> } = await import(file);
  return await module.load(options);
}

/**
 * A package, typed by whoever asks. A literal import would put it, and hundreds of megabytes with it,
 * into the lock file of the checkout, and so into the first run of every example.
 */
export async function importPackage<T>(specifier: string): Promise<T> {
  return await import(specifier);
}

/** One way in which a library does a workload. */
export interface Way<I> {
  /** The library, and the variant if there are several. */
  readonly name: string;
  readonly variant: string;
  readonly make: Make<I>;
}

/** How a library does a workload, by the names of the variants. */
export function variants<W extends WorkloadName>(
  library: Library,
  workload: W,
): Way<InputOf<W>>[] {
  const entry = library.rows[workload] as Entry<InputOf<W>>;
  if (typeof entry === "string") {
    const make = () => {
      throw new Error(entry);
    };
    return [{ name: library.name, variant: "", make }];
  }
  const ways = typeof entry === "function" ? { "": entry } : entry;
  return Object.entries(ways).map(([variant, way]) => ({
    name: variant === "" ? library.name : `${library.name} ${variant}`,
    variant,
    make: way,
  }));
}

/** All libraries at one workload; variants of the same name, up to a comma, must agree. */
export function contestants<W extends WorkloadName>(
  libraries: readonly Library[],
  workload: W,
  peak?: (library: Library, variant: string) => Promise<Peak>,
): Contestant[] {
  const all = libraries.flatMap((library) =>
    variants(library, workload).map((way) => ({ library, ...way }))
  );
  const first = new Map<string, string>();
  // The same for all, and not made before the row's turn.
  let input: InputOf<W> | undefined;
  return all.map(({ library, name, variant, make }) => {
    const [kind] = variant.split(",");
    const against = first.get(kind);
    if (against === undefined) first.set(kind, name);
    const ready = () => make(input ??= WORKLOADS[workload].input() as InputOf<W>);
    return { name, make: ready, against, peak: peak && (() => peak(library, variant)) };
  });
}
