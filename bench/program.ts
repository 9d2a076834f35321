/**
 * Running Deno as a process of its own, for benchmarks of whole programs and of memory.
 *
 * @module
 */

/** What the program printed; throws with its complaint if it failed. */
export async function deno(...args: string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args,
    cwd: new URL("..", import.meta.url),
    env: { NO_COLOR: "1" },
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim();
  if (!success) throw new Error(text(stderr) || "the program failed");
  return text(stdout);
}

/** The last line of a text: what a program prints that others start. */
export function lastLine(text: string): string {
  return text.slice(text.lastIndexOf("\n") + 1);
}
