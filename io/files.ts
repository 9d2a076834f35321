// Weights in files: written aside and renamed, so that an interrupted run never leaves half a file. A missing
// permission is an error that names the flag; nothing is asked for.
import { describe } from "../core/describe.ts";
import { FormatError, PermissionError, ValueError } from "../core/errors.ts";
import type { Place } from "../core/place.ts";
import type { Tensor } from "../core/tensor.ts";
import { decodeSafetensors, encodeSafetensors, type Metadata } from "./safetensors.ts";

/** The file functions of Deno in use; absent in browsers. */
type DenoFiles = Pick<typeof Deno, "open" | "readFile" | "rename" | "remove" | "permissions">;

function files(call: string, path: string): DenoFiles {
  const deno = (globalThis as { Deno?: DenoFiles }).Deno;
  if (deno === undefined) {
    throw new PermissionError(
      `Cannot ${call} "${path}": there are no files here; use io.encodeSafetensors and io.decodeSafetensors`,
    );
  }
  return deno;
}

function pathOf(path: string | URL): string {
  if (typeof path === "string") return path;
  if (!(path instanceof URL)) {
    throw new ValueError(
      `Cannot use ${describe(path)} as a file: it must be a path or a file: URL`,
    );
  }
  if (path.protocol !== "file:") {
    throw new FormatError(
      `Cannot use ${path.href} as a file: only file: URLs are; fetch() others and use io.decodeSafetensors`,
    );
  }
  return decodeURIComponent(path.pathname);
}

function granted(deno: DenoFiles, name: "read" | "write", path: string): boolean {
  return deno.permissions.querySync({ name, path }).state === "granted";
}

/** The folder of a path. */
function folderOf(path: string): string {
  const at = Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\"));
  return at < 0 ? "." : path.slice(0, at + 1);
}

/**
 * Writes tensors to a safetensors file, whole or not at all.
 *
 * @param path Where to. The file is written beside it under another name and then renamed.
 * @param tensors Tensors by name, such as `model.stateDict()`.
 * @param options `metadata`: texts by name, kept in the file.
 * @throws {PermissionError} if reading and writing in its folder were not granted (nothing is asked for).
 * @throws {DTypeError} if a tensor has a dtype that the format lacks.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { load, save, tensor } from "../mod.ts";
 *
 * const path = await Deno.makeTempFile();
 * await save(path, { w: tensor([[1, 2], [3, 4]]) });
 * assertEquals(await (await load(path)).w.toArray(), [[1, 2], [3, 4]]);
 * ```
 */
export async function save(
  path: string | URL,
  tensors: Readonly<Record<string, Tensor>>,
  options: { readonly metadata?: Metadata } = {},
): Promise<void> {
  const target = pathOf(path);
  const deno = files("save", target);
  const aside = `${target}.${crypto.randomUUID().slice(0, 8)}.tmp`;
  // Renaming a file takes the right to read it.
  if (
    !granted(deno, "write", target) || !granted(deno, "write", aside) ||
    !granted(deno, "read", aside)
  ) {
    const folder = folderOf(target);
    throw new PermissionError(
      `Cannot save "${target}": access to its folder was not granted, where it is written aside and ` +
        `renamed; run with --allow-read=${folder} --allow-write=${folder}`,
    );
  }
  const bytes = await encodeSafetensors(tensors, options);
  try {
    const file = await deno.open(aside, { write: true, createNew: true });
    try {
      for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
      await file.syncData();
    } finally {
      file.close();
    }
    await deno.rename(aside, target);
  } catch (e) {
    await deno.remove(aside).catch(() => {});
    throw e;
  }
}

/**
 * Reads the tensors of a safetensors file.
 *
 * @param path A path or a file: URL.
 * @param options `place`: where the tensors are made.
 * @returns The tensors by name; `model.setStateDict` takes them.
 * @throws {PermissionError} if reading there was not granted (nothing is asked for).
 * @throws {FormatError} if the file breaks the format's rules, naming what.
 */
export async function load(
  path: string | URL,
  options: { readonly place?: Place } = {},
): Promise<Record<string, Tensor>> {
  const source = pathOf(path);
  const deno = files("load", source);
  if (!granted(deno, "read", source)) {
    throw new PermissionError(
      `Cannot load "${source}": read access was not granted; run with --allow-read=${source}`,
    );
  }
  return decodeSafetensors(await deno.readFile(source), options).tensors;
}
