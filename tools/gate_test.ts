import { assert, assertEquals, assertStringIncludes } from "jsr:@std/assert@1";
import { run } from "./gate_step.ts";
import { addTallies, EMPTY, lastLine, tallyOf, unexplained } from "./gate_tally.ts";
import { filesIn, wrongIn } from "./publish_check.ts";

function script(code: string): string[] {
  return [Deno.execPath(), "eval", "--no-lock", code];
}

Deno.test("gate: a step keeps its output without colors, and its success", async () => {
  const code = `console.log("%cred", "color: red"); console.error("\\x1b[31mtwo"); Deno.exit(`;
  const good = await run({ name: "good", command: script(code + "0)") }, { cwd: "." });
  assert(good.success);
  assertEquals(good.output.trim().split("\n").sort(), ["red", "two"]);
  const bad = await run({ name: "bad", command: script(code + "3)") }, { cwd: "." });
  assert(!bad.success && !bad.timedOut);
});

Deno.test("gate: a step that takes too long or is called off is ended", async () => {
  const command = script("setInterval(() => {}, 1000)");
  const late = await run({ name: "late", command, minutes: 0.01 }, { cwd: "." });
  assertEquals([late.success, late.timedOut], [false, true]);
  const stopped = await run({ name: "stopped", command }, {
    cwd: ".",
    signal: AbortSignal.abort(),
  });
  assertEquals([stopped.success, stopped.timedOut], [false, false]);
});

Deno.test("gate: a step sees the environment that it is given", async () => {
  const command = script("console.log(Deno.env.get('PLESIO_TEST_FULL'))");
  const { output } = await run({ name: "env", command }, {
    cwd: ".",
    env: { PLESIO_TEST_FULL: "1" },
  });
  assertEquals(output, "1\n");
});

const JUNIT = `<testsuites>
  <testsuite name="./a_test.ts">
    <testcase name="long (only in test:full)" classname="a" line="2"><skipped/></testcase>
    <testcase name="other (only in test:full)" classname="a">
        <skipped/>
    </testcase>
    <testcase name="runs (always)" classname="a">
    </testcase>
    <testcase name="a &lt; b &amp; &quot;c&quot;" classname="a">
        <skipped/>
    </testcase>
  </testsuite>
</testsuites>`;

Deno.test("gate: counts come from the closing line, reasons from the report", () => {
  const tally = tallyOf(
    "ok | 12 passed (3 steps) | 0 failed | 3 ignored (1 step) (19ms)",
    JUNIT,
    true,
  );
  assertEquals([tally.passed, tally.failed, tally.skipped], [12, 0, 3]);
  assertEquals(tally.reasons.get("only in test:full"), 2);
  assertEquals(unexplained(tally), [`a < b & "c"`]);
  assertEquals(lastLine(addTallies(tally, tally)), "24 passed, 0 failed, 6 skipped");
  assertEquals(addTallies(tally, tally).reasons.get("only in test:full"), 4);
});

Deno.test("gate: a run that fails counts at least one failure", () => {
  const failed = tallyOf("FAILED | 2 passed | 3 failed (1 step) | 1 ignored (1ms)", "", false);
  assertEquals(lastLine(failed), "2 passed, 3 failed, 1 skipped");
  assertEquals(
    lastLine(tallyOf("ok | 2 passed | 0 failed (1ms)", "", false)),
    "2 passed, 1 failed, 0 skipped",
  );
  assertEquals(
    lastLine(tallyOf("error: Module not found", "", false)),
    "0 passed, 1 failed, 0 skipped",
  );
  assertEquals(unexplained(EMPTY), []);
});

Deno.test("gate: what is published has the entry and the license, no tests and no adapters", () => {
  const good = ["LICENSE", "README.md", "deno.json", "mod.ts", "docs/a.md", "examples/b.ts"];
  const listing = "Simulating publish of @plesio/plesio@0.1.0 with files:\n" +
    good.map((path) => `   file:///tmp/x/package/${path} (1.00KB)\n`).join("");
  assertEquals(filesIn(listing), good);
  assertEquals(wrongIn(good), []);
  const wrong = wrongIn([
    "README.md",
    "deno.json",
    "mod.ts",
    "ops/a_test.ts",
    ".ci/run",
    "tools/a.ts",
  ]);
  assertEquals(wrong.length, 4);
  assertStringIncludes(wrong[0], "LICENSE would not be published");
  assertStringIncludes(wrong[1], "ops/a_test.ts would be published");
});
