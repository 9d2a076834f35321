/**
 * The house itself: the adapters in `links/` stand in for their registry, the gate catches what it
 * should, its reader of imports agrees with Deno's, and what users and machines start is in order.
 * Deliberately not here: the single rules, which stand beside the tools.
 *
 * @module
 */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "jsr:@std/assert@1";
import { readTree } from "../tools/check_ranks.ts";
import { type Import, importsOf, tokensOf } from "../tools/scan.ts";
import { deno, type Output, ROOT, withTemp } from "./support.ts";

function importsIn(source: string): Import[] {
  return importsOf(tokensOf(source));
}

Deno.test("house: linked packages need no registry and no cache", async () => {
  await withTemp(async (cache) => {
    // A closed port: a request to a registry would end the run.
    const nowhere = "http://127.0.0.1:9/";
    const code = `import { assertEquals } from "jsr:@std/assert@1";
      import { parseArgs } from "jsr:@std/cli@1/parse-args";
      assertEquals(parseArgs(["--save", "x"], { boolean: ["save"] }), { _: ["x"], save: true });
      console.log("linked");`;
    const { code: exit, out, err } = await deno(["eval", "--no-lock", code], {
      env: { DENO_DIR: cache, JSR_URL: nowhere, NPM_CONFIG_REGISTRY: nowhere },
    });
    assertEquals([exit, out], [0, "linked\n"], err);
  });
});

Deno.test("house: every jsr: import of the tree has a link of a version that fits", async () => {
  const tree = await readTree(ROOT);
  const links = new Map<string, string>();
  for (const [path, text] of tree) {
    if (!/^links\/[^/]+\/deno\.json$/.test(path)) continue;
    const { name, version } = JSON.parse(text);
    links.set(name, version);
  }
  const config = JSON.parse(tree.get("deno.json") ?? "");
  assertEquals(config.links.length, links.size);
  for (const [path, text] of tree) {
    if (!path.endsWith(".ts")) continue;
    for (const { specifier, line } of importsIn(text)) {
      const [, name, major] = /^jsr:(@[^/]+\/[^@/]+)@\^?(\d+)/.exec(specifier) ?? [];
      if (name === undefined) continue;
      assertEquals(links.get(name)?.split(".")[0], major, `${path}:${line} imports ${specifier}`);
    }
  }
});

Deno.test("house: the import reader agrees with Deno's on every file behind the entries", async () => {
  interface Dependency {
    specifier: string;
    code?: unknown;
    isDynamic?: boolean;
  }
  const root = new URL("../", import.meta.url).href;
  const tree = await readTree(ROOT);
  const compared = new Set<string>();
  for (const entry of ["mod.ts", "cli/main.ts", "tools/gate.ts"]) {
    const { code, out, err } = await deno(["info", "--json", entry]);
    assertEquals(code, 0, err);
    const modules: { specifier: string; dependencies?: Dependency[] }[] = JSON.parse(out).modules;
    for (const { specifier, dependencies = [] } of modules) {
      const path = specifier.slice(root.length);
      if (!specifier.startsWith(root) || !path.endsWith(".ts") || compared.has(path)) continue;
      compared.add(path);
      // Deno joins imports of one specifier: run time counts over types, static over dynamic.
      const kinds = new Map<string, Import["kind"]>();
      for (const { specifier, kind } of importsIn(tree.get(path) ?? "")) {
        const order: Import["kind"][] = ["type", "dynamic", "static"];
        const old = kinds.get(specifier) ?? "type";
        kinds.set(specifier, order[Math.max(order.indexOf(old), order.indexOf(kind))]);
      }
      const theirs = dependencies.map((
        each,
      ) => [
        each.specifier,
        each.code === undefined ? "type" : each.isDynamic ? "dynamic" : "static",
      ]);
      assertEquals([...kinds].sort(), theirs.sort() as [string, Import["kind"]][], path);
    }
  }
  assert(compared.size > 5, `only ${compared.size} files compared`);
});

Deno.test("house: commands that users and machines start", async () => {
  const { tasks } = JSON.parse(await Deno.readTextFile(`${ROOT}/deno.json`));
  assertEquals(Object.keys(tasks), ["demo", "test", "test:full", "check", "bench"]);
  assertEquals(tasks.demo.command, "deno run examples/digits.ts");
  const script = await Deno.readTextFile(`${ROOT}/.ci/run`);
  const readme = await Deno.readTextFile(`${ROOT}/README.md`);
  for (const text of [script, readme]) assertMatch(text, /npx -y deno@2\.9\.6 task/);
  assertStringIncludes(readme, "npx -y deno@2.9.6 task test");
  assertMatch(script, /^task \d+m test$/m);
  assertMatch(script, /^task \d+m test:full$/m);
});

/** The smallest project that the gate passes. */
const SMALL: Record<string, string> = {
  "README.md": "# Small\n\n```ts ignore\nnever();\n```\n",
  "LICENSE": "None.\n",
  "mod.ts": `/** All.\n *\n * @module\n */\n\nexport { one } from "./ops/one.ts";\n`,
  "cli/main.ts": `/** The command.\n *\n * @module\n */\n\n` +
    `import { parseArgs } from "jsr:@std/cli@1/parse-args";\n\n` +
    `if (import.meta.main) console.log(parseArgs(Deno.args)._.length);\n`,
  "ops/one.ts": "/**\n * Is 1.\n *\n * @example\n * ```ts\n" +
    ` * import { assertEquals } from "jsr:@std/assert@1";\n *\n * assertEquals(one(), 1);\n` +
    " * ```\n */\nexport function one(): number {\n  return 1;\n}\n",
  "ops/one_test.ts": `import { assertEquals } from "jsr:@std/assert@1";\n` +
    `import { longTest } from "../tools/testing.ts";\nimport { one } from "./one.ts";\n\n` +
    `Deno.test("one", () => assertEquals(one(), 1));\nlongTest("long", () => {});\n`,
  "ops/two_alone_test.ts": `Deno.test("alone", () => {});\n`,
};

/** Makes the small project in a folder, with its lockfile. */
async function makeSmall(folder: string): Promise<void> {
  const files = { ...SMALL };
  for (const [path, text] of await readTree(ROOT)) {
    const copied = /^(links\/.*|tools\/\w+\.ts|\.gitignore|deno\.json)$/.test(path) &&
      !path.endsWith("_test.ts");
    if (copied) files[path] = text;
  }
  await write(folder, files);
  const { code, err } = await deno(["check", "."], { cwd: folder });
  assertEquals(code, 0, err);
}

async function write(folder: string, files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await Deno.mkdir(`${folder}/${path}`.replace(/\/[^/]*$/, ""), { recursive: true });
    await Deno.writeTextFile(`${folder}/${path}`, text);
  }
}

function gate(folder: string, ...args: string[]): Promise<Output> {
  return deno(["run", "-A", "--no-check", "tools/gate.ts", ...args], {
    cwd: folder,
    env: { PLESIO_TEST_FULL: "0" },
    limit: 600,
  });
}

function closing(output: Output): string | undefined {
  return output.out.trimEnd().split("\n").at(-1);
}

Deno.test("house: the gate passes a small good project and counts its tests", async () => {
  await withTemp(async (folder) => {
    await makeSmall(folder);
    const good = await gate(folder);
    assertEquals(
      [good.code, closing(good)],
      [0, "3 passed, 0 failed, 2 skipped"],
      good.out + good.err,
    );
    assertStringIncludes(good.out, "skipped 1: only in test:full");
    assertStringIncludes(good.out, "skipped 1: marked ignore");
    const full = await gate(folder, "--full");
    assertEquals([full.code, closing(full)], [0, "4 passed, 0 failed, 1 skipped"], full.out);
    const part = await gate(folder, "ops/two");
    assertEquals([part.code, closing(part)], [0, "1 passed, 0 failed, 0 skipped"], part.out);
    const none = await gate(folder, "nowhere/");
    assertEquals([none.code, closing(none)], [1, "0 passed, 1 failed, 0 skipped"], none.out);
  });
});

Deno.test("house: the gate stops at what is wrong, and says so", async () => {
  const config = await Deno.readTextFile(`${ROOT}/deno.json`);
  const cases: { files: Record<string, string>; step: string; texts: string[] }[] = [
    {
      files: { "ops/one_test.ts": `const  x = 1;\nexport { x };\n` },
      step: "format",
      texts: ["ops/one_test.ts", "Remedy: run `deno fmt`"],
    },
    {
      files: { "ops/one_test.ts": `export const x: string = 1;\n` },
      step: "types",
      texts: ["TS2322"],
    },
    {
      files: { "ops/one_test.ts": `if (Math.random() == 1) throw "x";\n` },
      step: "lint",
      texts: ["eqeqeq", "no-throw-literal"],
    },
    {
      files: { "ops/up.ts": `export * from "../mod.ts";\n` },
      step: "ranks",
      texts: ["ops/up.ts:1: [rank]"],
    },
    {
      files: { "ops/one.ts": `export function one(): number {\n  return 1;\n}\n` },
      step: "doc lint",
      texts: ["missing-jsdoc"],
    },
    {
      files: { "deno.json": config.replace('"tools/"', '"t/"') },
      step: "publish",
      texts: ["tools/gate.ts would be published"],
    },
    {
      files: {
        "ops/bad_test.ts": `Deno.test("bad", () => {\n  throw new Error("oh");\n});\n` +
          `Deno.test({ name: "silent", ignore: true, fn() {} });\n`,
        "ops/one.ts": SMALL["ops/one.ts"].replace("(), 1)", "(), 2)"),
      },
      step: "tests",
      texts: ["Error: oh", "one.ts/6.ts:8:1", "Skipped without a reason", "silent"],
    },
  ];
  await withTemp(async (folder) => {
    await makeSmall(folder);
    for (const { files, step, texts } of cases) {
      await write(folder, files);
      const bad = await gate(folder);
      assertEquals(bad.code, 1, bad.out);
      assertMatch(bad.out, new RegExp(`^FAILED +[\\d.]+ s  ${step}`, "m"));
      for (const text of texts) assertStringIncludes(bad.out, text);
      assertMatch(closing(bad) ?? "", /^\d+ passed, [1-9]\d* failed, \d+ skipped$/);
      for (const path of Object.keys(files)) await Deno.remove(`${folder}/${path}`);
      await write(folder, { ...SMALL, "deno.json": config });
    }
  });
});
