/**
 * The rooms of the project and their ranks: the one place that says who may import whom. A file
 * imports, at run time, only from rooms of lower rank and from its own room; `import type` may go up
 * inside `core/` alone. Deliberately not here: the checking, which is in `house.ts`.
 *
 * @module
 */

/** A room: some files and folders that share a rank. */
export interface Room {
  /** How messages call it. */
  readonly name: string;
  /** Its rank: imports go to lower ones. */
  readonly rank: number;
  /** Its folders (with a slash at the end) and files; the longest match decides. */
  readonly paths: readonly string[];
}

/** From the lowest rank to the highest. */
export const ROOMS: readonly Room[] = [
  {
    name: "core base",
    rank: 0,
    paths: [
      "core/describe.ts",
      "core/errors.ts",
      "core/flags.ts",
      "core/dtype.ts",
      "core/shape.ts",
      "core/half.ts",
    ],
  },
  { name: "core/ir", rank: 1, paths: ["core/ir/"] },
  { name: "core", rank: 2, paths: ["core/"] },
  { name: "ops", rank: 3, paths: ["ops/"] },
  { name: "core/compiler", rank: 3, paths: ["core/compiler/"] },
  { name: "backends", rank: 4, paths: ["backends/"] },
  { name: "core/engine", rank: 5, paths: ["core/engine/"] },
  { name: "jit", rank: 6, paths: ["jit/"] },
  { name: "amp", rank: 6, paths: ["amp/"] },
  { name: "profiler", rank: 6, paths: ["profiler/"] },
  { name: "nn", rank: 7, paths: ["nn/"] },
  { name: "optim", rank: 7, paths: ["optim/"] },
  { name: "io", rank: 7, paths: ["io/"] },
  { name: "dist", rank: 8, paths: ["dist/"] },
  { name: "slim", rank: 8, paths: ["slim/"] },
  { name: "models", rank: 8, paths: ["models/"] },
  { name: "serving", rank: 9, paths: ["serving/"] },
  { name: "cli", rank: 9, paths: ["cli/"] },
  { name: "the entry", rank: 10, paths: ["mod.ts"] },
  {
    name: "outside",
    rank: 11,
    paths: ["examples/", "bench/", "tests/", "tools/", "links/", "docs/"],
  },
];

/** The module that a user imports: what it reaches obeys the strictest rules. */
export const ENTRY = "mod.ts";

/** The rank of the room of examples, tests and tools, which import what they like. */
export const OUTSIDE: Room = ROOMS[ROOMS.length - 1];

/** Folders of `backends/` whose files only the registry and the folder itself may import. */
export const IMPLEMENTATIONS = /^backends\/(ref|cpu|webgpu|cuda)\//;

/** The only file that imports implementations. */
export const REGISTRY = "backends/registry.ts";

/** The room of a file, by its path from the root; tests and benchmarks are outside wherever they stand. */
export function roomOf(path: string): Room | undefined {
  if (/_(test|bench)\.ts$/.test(path)) return OUTSIDE;
  let found: Room | undefined;
  let length = 0;
  for (const room of ROOMS) {
    for (const prefix of room.paths) {
      const matches = prefix.endsWith("/") ? path.startsWith(prefix) : path === prefix;
      if (matches && prefix.length > length) [found, length] = [room, prefix.length];
    }
  }
  return found;
}
