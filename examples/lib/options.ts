// Options of an example, checked: whole numbers with defaults, and a file to save to. Needs no permission.
import { parseArgs } from "node:util";

/** Ends the program: the call was wrong. */
function refuse(why: string): never {
  console.error(why);
  Deno.exit(2);
}

/** Reads `--NAME N` for each name of `numbers` (with its default), and `--save FILE`. */
export function options<K extends string>(
  numbers: Readonly<Record<K, number>>,
): Record<K, number> & { save?: string } {
  const names = Object.keys(numbers) as K[];
  let values: Record<string, string | undefined>;
  try {
    const declared = Object.fromEntries(
      [...names, "save"].map((name) => [name, { type: "string" as const }]),
    );
    values = parseArgs({ args: Deno.args, options: declared }).values;
  } catch (error) {
    refuse((error as Error).message);
  }
  const found = { ...numbers } as Record<K, number>;
  for (const name of names) {
    const text = values[name];
    if (text === undefined) continue;
    const value = Number(text);
    if (!Number.isSafeInteger(value) || value < 1) {
      refuse(`--${name} takes a whole number of at least 1: got ${text}`);
    }
    found[name] = value;
  }
  return { ...found, save: values.save };
}

/** Ends the program now, not after the training, if the file could not be written and read again. */
export function demandFile(path: string): void {
  const folder = path.includes("/") ? path.slice(0, path.lastIndexOf("/") + 1) : ".";
  const granted = (name: "read" | "write") =>
    Deno.permissions.querySync({ name, path: folder }).state === "granted";
  if (granted("write") && granted("read")) return;
  refuse(
    `--save writes ${path} and reads it again: run with --allow-read=${folder} --allow-write=${folder}`,
  );
}
