/**
 * How a program that used the library ends: by itself, on a throw, and on Ctrl-C in the middle of training.
 * Each program has seconds to end; a hang fails. Deliberately not here: how fast.
 *
 * @module
 */

import { assert, assertEquals, assertMatch } from "jsr:@std/assert@1";
import { testIf } from "../tools/testing.ts";
import { deno, ROOT, withTemp } from "./support.ts";

const TRAINING = `import { nn, optim, randn } from "${ROOT}/mod.ts";
const model = new nn.Sequential(new nn.Linear(64, 64), new nn.ReLU(), new nn.Linear(64, 1));
const optimizer = new optim.Adam({ learningRate: 1e-3, parameters: model.parameters() });
const x = randn([256, 64]);
async function train(steps: number): Promise<void> {
  for (let step = 0; step < steps; step++) {
    model.call(x).square().mean().backward();
    await optimizer.step();
    optimizer.clearGrad();
    if (step === 20) console.log("training");
  }
}
`;

/** Runs a script to its end and nothing more. */
async function run(script: string): Promise<{ code: number; out: string; err: string }> {
  return await withTemp(async (folder) => {
    await Deno.writeTextFile(`${folder}/script.ts`, script);
    return await deno(["run", "--no-prompt", "--no-check", "script.ts"], {
      cwd: folder,
      limit: 30,
    });
  });
}

Deno.test("process: ends by itself", async () => {
  const { code, out, err } = await run(`${TRAINING}await train(30);\nconsole.log("end");\n`);
  assertEquals([code, out, err], [0, "training\nend\n", ""]);
});

Deno.test("process: a throw ends it with 1", async () => {
  const { code, out, err } = await run(`${TRAINING}await train(30);\nthrow new Error("oh");\n`);
  assertEquals([code, out], [1, "training\n"]);
  assertMatch(err, /Error: oh/);
});

Deno.test("process: an error of the library that nobody catches ends it with 1", async () => {
  const { code, err } = await run(`${TRAINING}await train(30);\nx.matmul(x);\n`);
  assertEquals(code, 1);
  assertMatch(err, /ShapeError: Cannot matmul \[256, 64\] with \[256, 64\]/);
});

/** Sends SIGINT once a script says that it trains, and again when it says so again; gives its end. */
async function interrupt(script: string): Promise<{ status: Deno.CommandStatus; text: string }> {
  return await withTemp(async (folder) => {
    await Deno.writeTextFile(`${folder}/script.ts`, script);
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "--no-prompt", "--no-check", "script.ts"],
      cwd: folder,
      stdin: "null",
      stdout: "piped",
      stderr: "null",
      signal: AbortSignal.timeout(30_000),
    }).spawn();
    let text = "";
    let sent = false;
    for await (const part of child.stdout.pipeThrough(new TextDecoderStream())) {
      text += part;
      if (sent || !text.includes("training\n")) continue;
      sent = true;
      child.kill("SIGINT");
    }
    return { status: await child.status, text };
  });
}

const unix = Deno.build.os !== "windows";

testIf(unix, "no signals", "process: Ctrl-C ends a training loop", async () => {
  const { status, text } = await interrupt(`${TRAINING}await train(Infinity);\n`);
  assertEquals([status.signal, text], ["SIGINT", "training\n"]);
});

testIf(unix, "no signals", "process: a loop that awaits lets a Ctrl-C handler in", async () => {
  const { status, text } = await interrupt(`${TRAINING}
Deno.addSignalListener("SIGINT", () => {
  console.log("saving");
  Deno.exit(7);
});
await train(Infinity);
`);
  assert(!status.success);
  assertEquals([status.code, text], [7, "training\nsaving\n"]);
});
