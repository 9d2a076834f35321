/**
 * The examples do what their headers say, with no permission. Deliberately not here: the digits example by
 * URL (url_test.ts).
 *
 * @module
 */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "jsr:@std/assert@1";
import { longTest } from "../tools/testing.ts";
import { deno, ROOT, withTemp } from "./support.ts";

/** Runs an example; what it prints. */
async function run(name: string, ...args: string[]): Promise<string> {
  const { code, out, err } = await deno(["run", "--no-prompt", `examples/${name}.ts`, ...args]);
  assertEquals(code, 0, err);
  return out;
}

function numbersIn(text: string): number[] {
  return [...text.matchAll(/-?\d+(\.\d+)?(e[-+]\d+)?/g)].map((found) => Number(found[0]));
}

Deno.test("examples: every header has the command and what to expect", async () => {
  for await (const { name } of Deno.readDir(`${ROOT}/examples`)) {
    if (!name.endsWith(".ts")) continue;
    const header = (await Deno.readTextFile(`${ROOT}/examples/${name}`)).split("\nimport ")[0];
    assertMatch(header, new RegExp(`^// {5}deno run examples/${name}$`, "m"), name);
    assertMatch(header, /^\/\/ Expected: /m, name);
  }
});

Deno.test("examples: hello learns exclusive or", async () => {
  const out = await run("hello");
  const values = numbersIn(out.split("shape:")[0]);
  assertEquals(values.map(Math.round).map(Math.abs), [0, 1, 1, 0], out);
});

Deno.test("examples: linear regression by hand and by autograd", async () => {
  const out = await run("linear_regression");
  const lines = out.trimEnd().split("\n");
  for (const line of lines.slice(1, 7)) {
    const [, , byHand, auto, byHandB, autoB] = numbersIn(line);
    assert(Math.abs(byHand - auto) <= 1e-5 && Math.abs(byHandB - autoB) <= 1e-5, line);
  }
  const [descent, squares] = lines.slice(7, 9).map(numbersIn);
  descent.forEach((value, i) => assert(Math.abs(value - squares[i]) <= 0.001, out));
  const [farthest] = numbersIn(lines[9]);
  assert(farthest < 1e-5, lines[9]);
});

Deno.test("examples: iris", async () => {
  const out = await run("iris");
  assertStringIncludes(out, "0: setosa, 1: versicolor, 2: virginica");
  const [, percent] = /^held-out accuracy: (\d+\.\d) %\n$/m.exec(out) ?? [];
  assert(Number(percent) >= 94, out);
});

Deno.test("examples: curve", async () => {
  const out = await run("curve");
  assert(
    out.split("\n").filter((line) => line.includes("│") && line.includes("█")).length > 8,
    out,
  );
  const [distance] = numbersIn(out.trimEnd().split("\n").at(-1) ?? "");
  assert(distance <= 0.05, out);
});

Deno.test("examples: digits saves its weights and reads them again", async () => {
  await withTemp(async (folder) => {
    const file = `${folder}/digits.safetensors`;
    const args = ["examples/digits.ts", "--epochs", "1", "--save", file];
    const refused = await deno(["run", "--no-prompt", ...args]);
    assertEquals([refused.code, refused.out], [2, ""]);
    assertMatch(refused.err, /--allow-read=\S+\/ --allow-write=\S+\/\n$/);
    const flags = refused.err.trim().split(" ").filter((word) => word.startsWith("--allow"));
    const { code, out, err } = await deno(["run", "--no-prompt", ...flags, ...args]);
    assertEquals(code, 0, err);
    assertStringIncludes(
      out,
      `saved to ${file}, read back: the same predictions to the last bit\nheld-out accuracy: `,
    );
    const files = await Array.fromAsync(Deno.readDir(folder), ({ name }) => name);
    assertEquals(files, ["digits.safetensors"]);
  });
});

Deno.test("examples: options that are wrong are refused", async () => {
  for (const args of [["--epochs", "0"], ["--epochs", "many"], ["--speed", "9"], ["file"]]) {
    const { code, out } = await deno(["run", "--no-prompt", "examples/curve.ts", ...args]);
    assertEquals([code, out], [2, ""], args.join(" "));
  }
});

longTest("examples: digits, 98 % of those held out", async () => {
  const out = await run("digits");
  const [, percent] = /\nheld-out accuracy: (\d\d\.\d\d) %\n$/.exec(out) ?? [];
  assert(Number(percent) >= 98, out);
});
