/**
 * What whole-program tests share: running Deno, with and without a terminal, and temporary folders.
 * Deliberately not here: tests.
 *
 * @module
 */

/** The root of the checkout, without a slash at the end. */
export const ROOT: string = new URL("..", import.meta.url).pathname.replace(/\/$/, "");

/** What a program printed, and how it ended. */
export interface Output {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** How {@link runProgram} and {@link deno} run a program. */
export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Record<string, string>;
  /** Seconds after which it is killed: that it ends is part of what is tested. Default 120. */
  readonly limit?: number;
}

/** Runs a program without a terminal and without colors. */
export async function runProgram(
  program: string,
  args: readonly string[],
  { cwd = ROOT, env = {}, limit = 120 }: RunOptions = {},
): Promise<Output> {
  const { code, signal, stdout, stderr } = await new Deno.Command(program, {
    args: [...args],
    cwd,
    env: { NO_COLOR: "1", ...env },
    stdin: "null",
    signal: AbortSignal.timeout(limit * 1000),
  }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  // The signal of the limit, unless the program was killed otherwise.
  const late = signal === "SIGTERM" ? `\nended by SIGTERM; its limit was ${limit} s` : "";
  return { code, out, err: err + late };
}

/** Runs Deno itself. */
export function deno(args: readonly string[], options: RunOptions = {}): Promise<Output> {
  return runProgram(Deno.execPath(), args, options);
}

/** Whether there is a program that gives another one a terminal: `script` of util-linux. */
export const hasTerminal: boolean = await (async () => {
  if (Deno.build.os !== "linux") return false;
  try {
    const { out } = await runProgram("script", ["--version"]);
    return out.includes("util-linux");
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
})();

/** What Deno shows when it asks for a permission. */
const PROMPT = "Allow? [y/n";

/** What a program sent to the screen, errors included, and whether it asked for a permission. */
export interface Screen {
  readonly code: number;
  readonly text: string;
  readonly asked: boolean;
}

/** Runs Deno under a pseudo-terminal; a question for a permission ends it. */
export async function denoInTerminal(
  args: readonly string[],
  { cwd = ROOT, env = {}, limit = 120 }: RunOptions = {},
): Promise<Screen> {
  const quoted = [Deno.execPath(), ...args].map((arg) => `'${arg.replaceAll("'", `'\\''`)}'`);
  const child = new Deno.Command("script", {
    args: ["-qec", quoted.join(" "), "/dev/null"],
    cwd,
    env: { NO_COLOR: "1", ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "null",
    signal: AbortSignal.timeout(limit * 1000),
  }).spawn();
  let text = "";
  let asked = false;
  for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
    text += part;
    if (asked || !text.includes(PROMPT)) continue;
    asked = true;
    child.kill();
  }
  const { code } = await child.status;
  return { code, text, asked };
}

/** Gives a temporary folder, removed afterwards. */
export async function withTemp<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await Deno.makeTempDir({ prefix: "plesio_test_" });
  try {
    return await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
