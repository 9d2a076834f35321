/**
 * Runs one command of the gate: bounded in time, its output kept, dots shown while tests run.
 * Deliberately not here: which commands, and in what order.
 *
 * @module
 */

/** A command with a name. */
export interface Step {
  readonly name: string;
  readonly command: readonly string[];
  /** What to do when it fails. */
  readonly remedy?: string;
  /** Its limit: 10 by default. */
  readonly minutes?: number;
}

/** How a step ended. */
export interface StepResult {
  readonly success: boolean;
  readonly timedOut: boolean;
  /** Standard output and error as they came, without colors. */
  readonly output: string;
  readonly milliseconds: number;
}

/** Where and how {@link run} runs a step. */
export interface RunOptions {
  readonly cwd: string;
  readonly env?: Record<string, string>;
  /** Ends the step. */
  readonly signal?: AbortSignal;
  /** Shows the dots of `deno test --reporter=dot` as they come. */
  readonly dots?: boolean;
}

/** Runs a step to its end or limit. */
export async function run(step: Step, options: RunOptions): Promise<StepResult> {
  const started = performance.now();
  const child = new Deno.Command(step.command[0], {
    args: step.command.slice(1),
    cwd: options.cwd,
    env: options.env,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  let timedOut = false;
  const kill = () => {
    try {
      child.kill("SIGKILL");
    } catch (error) {
      // It has ended by itself.
      if (!(error instanceof TypeError || error instanceof Deno.errors.NotFound)) throw error;
    }
  };
  const timer = setTimeout(() => {
    timedOut = true;
    kill();
  }, (step.minutes ?? 10) * 60_000);
  options.signal?.addEventListener("abort", kill);
  if (options.signal?.aborted) kill();

  let output = "";
  let shown = 0;
  const take = async (stream: ReadableStream<Uint8Array>) => {
    for await (const line of lines(stream)) {
      if (options.dots && /^[.,!]$/.test(line)) {
        await show(line + (++shown % 100 === 0 ? "\n" : ""));
      } else {
        output += line + "\n";
      }
    }
  };
  const [{ success }] = await Promise.all([child.status, take(child.stdout), take(child.stderr)]);
  clearTimeout(timer);
  options.signal?.removeEventListener("abort", kill);
  if (shown % 100 !== 0) await show("\n");
  return { success, timedOut, output, milliseconds: performance.now() - started };
}

async function show(text: string): Promise<void> {
  await Deno.stdout.write(new TextEncoder().encode(text));
}

/** The lines of a stream, without the escape sequences of a terminal. */
async function* lines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  let rest = "";
  for await (const text of stream.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + text).split("\n");
    rest = parts.pop() ?? "";
    for (const part of parts) yield plain(part);
  }
  if (rest !== "") yield plain(rest);
}

function plain(line: string): string {
  // deno-lint-ignore no-control-regex
  return line.replace(/\x1b\[[0-9;]*m/g, "");
}
