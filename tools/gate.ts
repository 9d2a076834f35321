/**
 * `deno task test`: everything that must hold before a change is in, in one command. Cheap steps run
 * two at a time, then the tests in parallel, then those that need a quiet machine one by one; the
 * first step that fails ends it. The last line is `N passed, N failed, N skipped`. Deliberately not
 * here: what a step checks.
 *
 *     deno task test                  all
 *     deno task test:full             with the long sweeps (PLESIO_TEST_FULL=1)
 *     deno task test ops/ nn/         tests of some folders or files only, no other step
 *
 * @module
 */

import { readTree } from "./check_ranks.ts";
import { FOLDER as EXAMPLES } from "./doc_examples.ts";
import { run, type Step, type StepResult } from "./gate_step.ts";
import { addTallies, EMPTY, lastLine, type Tally, tallyOf, unexplained } from "./gate_tally.ts";

const ROOT = `${import.meta.dirname}/..`;

/** Tests in files of this name run after the others, one at a time: they measure memory or time. */
const ALONE = /_alone_test\.ts$/;

const deno = (...args: string[]) => [Deno.execPath(), ...args];
const tool = (name: string) => deno("run", "-A", "--no-check", `tools/${name}.ts`);

/** Steps that look at the sources; in an order that keeps two cores busy. */
function staticSteps(examples: readonly string[], entries: readonly string[]): Step[] {
  return [
    {
      name: "types",
      command: deno("check", "--frozen", ".", ...examples),
      remedy: "if the lockfile is out of date, run `deno check .` and commit deno.lock",
    },
    { name: "format", command: deno("fmt", "--check"), remedy: "run `deno fmt`" },
    { name: "lint", command: deno("lint") },
    { name: "ranks", command: tool("check_ranks") },
    { name: "doc lint", command: deno("doc", "--lint", ...entries) },
    { name: "publish", command: tool("publish_check") },
  ];
}

/** Two lanes; after a failure what runs is stopped and nothing else starts. */
async function runSteps(steps: readonly Step[]): Promise<Step | undefined> {
  const queue = [...steps];
  const stop = new AbortController();
  let failed: Step | undefined;
  const lane = async () => {
    for (let step = queue.shift(); step !== undefined; step = queue.shift()) {
      const result = await run(step, { cwd: ROOT, signal: stop.signal });
      if (failed !== undefined) return;
      report(step, result);
      if (result.success) continue;
      failed = step;
      queue.length = 0;
      stop.abort();
    }
  };
  await Promise.all([lane(), lane()]);
  return failed;
}

function report(step: Step, result: StepResult, note = ""): void {
  const seconds = (result.milliseconds / 1000).toFixed(1).padStart(6);
  console.log(`${result.success ? "ok    " : "FAILED"} ${seconds} s  ${step.name}${note}`);
  if (result.success) return;
  console.log(`\n${result.output.trim()}\n`);
  if (result.timedOut) console.log(`${step.name} was stopped: it took more than its limit\n`);
  console.log(`Failed: ${step.name}: ${step.command.slice(1).join(" ").slice(0, 200)}`);
  if (step.remedy !== undefined) console.log(`Remedy: ${step.remedy}`);
}

/** One `deno test` over some files; prints a dot for each test. */
async function runTests(
  name: string,
  files: readonly string[],
  { full, check, parallel }: { full: boolean; check: boolean; parallel: boolean },
): Promise<Tally> {
  if (files.length === 0) return EMPTY;
  const junit = await Deno.makeTempFile({ prefix: "plesio_junit_", suffix: ".xml" });
  try {
    const step: Step = {
      name: `${name}: ${files.length} files`,
      command: deno(
        ...["test", "-A", "--reporter=dot", `--junit-path=${junit}`],
        ...(check ? [] : ["--no-check"]),
        ...(parallel ? ["--parallel"] : []),
        ...files,
      ),
      minutes: full ? 60 : 20,
    };
    const env: Record<string, string> = full ? { PLESIO_TEST_FULL: "1" } : {};
    const result = await run(step, { cwd: ROOT, env, dots: true });
    const tally = tallyOf(result.output, await Deno.readTextFile(junit), result.success);
    const unnamed = unexplained(tally);
    if (unnamed.length === 0) {
      report(step, result, `: ${lastLine(tally)}`);
      return tally;
    }
    const output = `Skipped without a reason in parentheses at the end of the name:\n  ` +
      unnamed.join("\n  ");
    report({ ...step, remedy: "use testIf or longTest of tools/testing.ts" }, {
      ...result,
      success: false,
      output: result.success ? output : `${result.output}\n${output}`,
    });
    return { ...tally, failed: tally.failed + unnamed.length };
  } finally {
    await Deno.remove(junit);
  }
}

/** The whole gate; returns the exit code. */
async function gate(args: readonly string[]): Promise<number> {
  const started = performance.now();
  const full = args.includes("--full") || Deno.env.get("PLESIO_TEST_FULL") === "1";
  const only = args.filter((arg) => !arg.startsWith("--"));
  const tree = await readTree(ROOT);
  const tests = [...tree.keys()].filter((path) =>
    path.endsWith("_test.ts") && (only.length === 0 || only.some((part) => path.startsWith(part)))
  );
  const close = (tally: Tally): number => {
    const minutes = (performance.now() - started) / 60_000;
    for (const [reason, count] of tally.reasons) console.log(`skipped ${count}: ${reason}`);
    console.log(`${minutes.toFixed(1)} minutes${full ? ", with the long sweeps" : ""}`);
    console.log(lastLine(tally));
    return tally.failed > 0 ? 1 : 0;
  };

  const examples: string[] = [];
  if (only.length === 0) {
    const extract: Step = { name: "examples of the docs", command: tool("doc_examples") };
    const result = await run(extract, { cwd: ROOT });
    report(extract, result);
    if (!result.success) return close({ ...EMPTY, failed: 1 });
    examples.push(...result.output.split("\n").filter((line) => line.startsWith(EXAMPLES)));
    const config: { exports: Record<string, string> } = JSON.parse(tree.get("deno.json") ?? "");
    const failed = await runSteps(staticSteps(examples, Object.values(config.exports)));
    if (failed !== undefined) return close({ ...EMPTY, failed: 1 });
  }

  const check = only.length > 0;
  const together = [...examples, ...tests.filter((path) => !ALONE.test(path))];
  let tally = await runTests("tests", together, { full, check, parallel: true });
  if (tally.failed === 0) {
    const alone = tests.filter((path) => ALONE.test(path));
    const quiet = await runTests("tests that run alone", alone, { full, check, parallel: false });
    tally = addTallies(tally, quiet);
  }
  if (tally.passed + tally.failed === 0) {
    console.log(`No test in ${only.join(" ") || "the tree"}`);
    return close({ ...tally, failed: 1 });
  }
  return close(tally);
}

if (import.meta.main) Deno.exitCode = await gate(Deno.args);
