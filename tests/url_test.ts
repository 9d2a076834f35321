/**
 * Use by URL with no flags: examples and a user's script run from a served checkout, train as well as from
 * files, and never ask for a permission. Deliberately not here: what the examples compute.
 *
 * @module
 */

import { assert, assertEquals, assertMatch } from "jsr:@std/assert@1";
import { serve } from "../tools/serve.ts";
import { testIf } from "../tools/testing.ts";
import { deno, denoInTerminal, hasTerminal, ROOT, withTemp } from "./support.ts";

/** Ten lines that a user may write, with the entry at some address. */
const script = (origin: string): string =>
  `import { nn, optim, seed, tensor } from "${origin}/mod.ts";
seed(1);
const [x, y] = [tensor([[0], [1], [2], [3]]), tensor([[1], [3], [5], [7]])];
const model = new nn.Linear(1, 1);
const optimizer = new optim.SGD({ learningRate: 0.1, parameters: model.parameters() });
for (let step = 0; step < 200; step++) {
  nn.functional.mseLoss(model.call(x), y).backward();
  await optimizer.step();
  optimizer.clearGrad();
}
console.log(Number(await model.call(tensor([[10]])).item()).toFixed(1));
`;

testIf(
  hasTerminal,
  "no script of util-linux",
  "url: the terminal of these tests shows a question for a permission",
  async () => {
    const { asked, code, text } = await denoInTerminal(["eval", "0"]);
    assertEquals([asked, code], [false, 0], text);
    await withTemp(async (folder) => {
      await Deno.writeTextFile(`${folder}/ask.ts`, `Deno.readTextFileSync("ask.ts");\n`);
      const asking = await denoInTerminal(["run", "ask.ts"], { cwd: folder });
      assert(asking.asked, asking.text);
    });
  },
);

testIf(
  hasTerminal,
  "no script of util-linux",
  "url: a script that imports mod.ts trains with no flags in a terminal",
  async () => {
    await using served = serve(ROOT);
    await withTemp(async (folder) => {
      await Deno.writeTextFile(`${folder}/user.ts`, script(served.origin));
      const env = { DENO_DIR: `${folder}/cache` };
      const args = ["run", `--allow-import=${served.host}`, "user.ts"];
      const { asked, code, text } = await denoInTerminal(args, { cwd: folder, env });
      assertEquals([asked, code], [false, 0], text);
      assertMatch(text, /^21\.0\r?$/m);
    });
    assert(served.requests.includes("/mod.ts"));
    const strangers = served.requests.filter((path) => !path.endsWith(".ts"));
    assertEquals(strangers, [], "only modules are asked for");
  },
);

Deno.test("url: the digits example trains without a terminal, and says how well", async () => {
  await using served = serve(ROOT);
  // --no-prompt turns any use of a permission into an error.
  const address = `${served.origin}/examples/digits.ts`;
  const args = ["run", "--no-prompt", `--allow-import=${served.host}`, address, "--epochs", "1"];
  const { code, out, err } = await deno(args);
  assertEquals(code, 0, err);
  const last = out.trimEnd().split("\n").at(-1) ?? "";
  const [, percent] = /^held-out accuracy: (\d\d\.\d\d) %$/.exec(last) ?? [];
  // One epoch of several; all of them are run by `deno task demo`.
  assert(Number(percent) >= 93, last);
  assert(!out.includes("\r") && !out.includes("\u001b"), "plain lines without a terminal");
  assertMatch(out, /^epoch 1\/1 {2}loss \d\.\d{4} {2}accuracy \d\d\.\d\d % .*samples\/s/m);
});

testIf(
  hasTerminal,
  "no script of util-linux",
  "url: the digits example draws a bar in a terminal and asks for nothing",
  async () => {
    await using served = serve(ROOT);
    const address = `${served.origin}/examples/digits.ts`;
    const { asked, code, text } = await denoInTerminal(
      ["run", `--allow-import=${served.host}`, address, "--epochs", "1"],
    );
    assertEquals([asked, code], [false, 0], text);
    assertMatch(text, /\r█+░+ +\d+ % {2}epoch 1\/1 .* samples\/s {2}ETA \d+:\d\d/);
    assertMatch(text, /held-out accuracy: \d\d\.\d\d %\r?\n$/);
  },
);

Deno.test("url: the entry is its own modules and no other, statically nothing of Node", async () => {
  interface Module {
    readonly specifier: string;
    readonly dependencies?: readonly { readonly specifier: string }[];
  }
  const { code, out, err } = await deno(["info", "--json", "mod.ts"]);
  assertEquals(code, 0, err);
  const graph: { modules: Module[] } = JSON.parse(out);
  const own = new URL("../", import.meta.url).href;
  const others = graph.modules.filter(({ specifier }) => !specifier.startsWith(own));
  assertEquals(others.map(({ specifier }) => specifier), []);
  for (const { specifier, dependencies = [] } of graph.modules) {
    const foreign = dependencies.filter((each) => !/^\.\.?\//.test(each.specifier));
    assertEquals(foreign, [], specifier);
  }
  assert(graph.modules.length > 50, `${graph.modules.length} modules`);
});
