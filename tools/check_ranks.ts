/**
 * `deno task check`: prints each broken house rule of the checkout with its file, line and remedy, and
 * exits with 1 if there is one. The rules are in `house.ts`, the ranks in `ranks.ts`.
 *
 * Permissions: `--allow-read --allow-run=git`.
 *
 * @module
 */

import { faultsOf, type Tree } from "./house.ts";

/** Files whose contents are data, not text of ours. */
const BINARY = /\.(png|jpe?g|gif|ico|wasm|npy|npz|safetensors|onnx|bin|gz|zip|pt|parquet)$/;

/** Folders that are never part of the project, for a tree that is no git checkout. */
const SKIPPED = new Set([".git", ".out", "node_modules", "coverage"]);

/** The text files of a folder that git tracks or would track; without git, all of them. */
export async function readTree(root: string): Promise<Tree> {
  const paths = await tracked(root) ?? await walk(root, "");
  const tree = new Map<string, string>();
  for (const path of paths.sort()) {
    if (BINARY.test(path)) continue;
    try {
      tree.set(path, await Deno.readTextFile(`${root}/${path}`));
    } catch (error) {
      // Deleted but still in the index, or a folder: a submodule.
      if (!(error instanceof Deno.errors.NotFound || error instanceof Deno.errors.IsADirectory)) {
        throw error;
      }
    }
  }
  return tree;
}

async function tracked(root: string): Promise<string[] | undefined> {
  try {
    const { success, stdout } = await new Deno.Command("git", {
      args: ["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
      cwd: root,
      stderr: "null",
    }).output();
    return success ? new TextDecoder().decode(stdout).split("\0").filter(Boolean) : undefined;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

/** The paths of all files of a folder, of the folders that are never part of the project none. */
export async function walk(root: string, folder: string): Promise<string[]> {
  const paths: string[] = [];
  for await (const { name, isDirectory, isFile } of Deno.readDir(`${root}/${folder}`)) {
    if (isDirectory && !SKIPPED.has(name)) paths.push(...await walk(root, `${folder}${name}/`));
    else if (isFile) paths.push(folder + name);
  }
  return paths;
}

if (import.meta.main) {
  const tree = await readTree(`${import.meta.dirname}/..`);
  const faults = faultsOf(tree);
  for (const { path, line, rule, message } of faults) {
    console.error(`${path}:${line}: [${rule}] ${message}`);
  }
  const sources = [...tree.keys()].filter((path) => path.endsWith(".ts")).length;
  console.log(`check_ranks: ${tree.size} files, ${sources} of TypeScript: ${faults.length} faults`);
  if (faults.length > 0) Deno.exit(1);
}
