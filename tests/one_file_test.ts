/**
 * An op is one definition in one file: the diff that docs/architecture.md shows is applied to a copy of the
 * library, and with no other change the new op is exported, runs, differentiates twice, and has its
 * generated tests and its documented example. Deliberately not here: what such a definition may contain.
 *
 * @module
 */

import { assert, assertEquals, assertMatch } from "jsr:@std/assert@1";
import { readTree } from "../tools/check_ranks.ts";
import { examplesOf, moduleOf } from "../tools/doc_examples.ts";
import { faultsOf } from "../tools/house.ts";
import { deno, ROOT, withTemp } from "./support.ts";

/** What the copy consists of: the library, its links, and the generated op tests. */
const COPIED =
  /^((core|ops|backends|nn|optim|io|links)\/.*|mod\.ts|deno\.json|tests\/op(s_test|_samples)\.ts)$/;

/** The diff of the page: the file it changes and the lines it adds at its end. */
function addition(page: string): { path: string; lines: string[] } {
  const [, diff] = /```diff\n([^]*?)\n```/.exec(page) ?? [];
  assert(diff !== undefined, "docs/architecture.md shows a diff");
  const lines = diff.split("\n");
  const path = lines.find((line) => line.startsWith("+++ b/"))?.slice("+++ b/".length);
  assert(path !== undefined && lines.filter((line) => line.startsWith("+++ ")).length === 1, diff);
  const added = lines.filter((line) => !/^(---|\+\+\+) /.test(line));
  assertEquals(added.filter((line) => !line.startsWith("+")), [], "the diff only adds lines");
  return { path, lines: added.map((line) => line.slice(1)) };
}

const SCRIPT = `import { cube, grad, tensor } from "./mod.ts";
const x = tensor([2, -1, 0.5], { requiresGrad: true });
const y = cube(x);
const [dx] = grad(y.sum(), x, { createGraph: true });
const [ddx] = grad(dx.sum(), x);
console.log(JSON.stringify([y, dx, ddx].map((t) => t.toArraySync())));
`;

Deno.test("one file: the op of docs/architecture.md, added to one file, is whole", async () => {
  const { path, lines } = addition(await Deno.readTextFile(`${ROOT}/docs/architecture.md`));
  const tree = new Map([...await readTree(ROOT)].filter(([path]) => COPIED.test(path)));
  const before = tree.get(path);
  assert(before !== undefined, path);
  tree.set(path, `${before}\n${lines.join("\n")}\n`);
  const faults = faultsOf(tree).filter((fault) => fault.path === path);
  assertEquals(faults, [], "house rules");

  await withTemp(async (folder) => {
    for (const [path, text] of tree) {
      await Deno.mkdir(`${folder}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
      await Deno.writeTextFile(`${folder}/${path}`, text);
    }
    const run = (...args: string[]) => deno(args, { cwd: folder, limit: 300 });

    await Deno.writeTextFile(`${folder}/script.ts`, SCRIPT);
    const script = await run("run", "--no-prompt", "--no-check", "script.ts");
    assertEquals(script.out, "[[8,-1,0.125],[12,3,0.75],[12,-6,3]]\n", script.err);

    const documented = examplesOf(new Map([[path, tree.get(path)!]])).find((example) =>
      example.code.includes("cube(")
    );
    assert(documented !== undefined, "an example in the documentation");
    const file = `.out/doc/${path}/example.ts`;
    await Deno.mkdir(`${folder}/${file}`.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${folder}/${file}`, moduleOf(documented, ""));
    const example = await run("run", "--no-prompt", "--no-check", file);
    assertEquals(example.code, 0, example.err);

    // With types, so that the definition is known to be a good one.
    const tests = await run("test", "-A", "--filter", "op cube:", "tests/ops_test.ts");
    assertEquals(tests.code, 0, tests.out + tests.err);
    assertMatch(tests.out, /^ok \| 2 passed \| 0 failed/m);

    const formatted = await run("fmt", "--check", path);
    const linted = await run("lint", path);
    assertEquals([formatted.code, linted.code], [0, 0], formatted.err + linted.err);
  });
});
