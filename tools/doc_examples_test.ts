import { assertEquals, assertStringIncludes } from "jsr:@std/assert@1";
import { examplesOf, moduleOf } from "./doc_examples.ts";

const FENCE = "```";

const SOURCE = `/**
 * Adds.
 *
 * @example
 * ${FENCE}ts
 * const three = add(1, 2);
 *   if (three !== 3) throw new Kind();
 * ${FENCE}
 *
 * ${FENCE}ts ignore
 * neverRun();
 * ${FENCE}
 * ${FENCE}sh
 * deno run
 * ${FENCE}
 */
export function add(a: number, b: number): number {
  return a + b; // ${FENCE}ts
}
const text = \`/** ${FENCE}ts
no
${FENCE} */\`;
export { text as label };
  /** ${FENCE}
   * label;
   * ${FENCE} */
export abstract class Kind {}
`;

Deno.test("doc examples: fenced blocks of doc comments, with their lines", () => {
  assertEquals(examplesOf(new Map([["ops/add.ts", SOURCE], ["ops/add_test.ts", SOURCE]])), [
    {
      path: "ops/add.ts",
      line: 6,
      code: "const three = add(1, 2);\n  if (three !== 3) throw new Kind();",
      ignored: false,
    },
    { path: "ops/add.ts", line: 11, code: "neverRun();", ignored: true },
    { path: "ops/add.ts", line: 25, code: "label;", ignored: false },
  ]);
});

Deno.test("doc examples: blocks of Markdown count where they name the language", () => {
  const text =
    `# Title\n\n1. One\n\n   ${FENCE}ts\n   a();\n     b();\n   ${FENCE}\n\n${FENCE}\nno\n${FENCE}\n` +
    `${FENCE}${FENCE}md\n${FENCE}ts\nno\n${FENCE}\n${FENCE}${FENCE}\n${FENCE}js\nc();\n${FENCE}`;
  assertEquals(examplesOf(new Map([["docs/a.md", text]])), [
    { path: "docs/a.md", line: 6, code: "a();\n  b();", ignored: false },
    { path: "docs/a.md", line: 19, code: "c();", ignored: false },
  ]);
});

Deno.test("doc examples: the module keeps the lines and brings in the exports it uses", () => {
  const [first, , third] = examplesOf(new Map([["ops/add.ts", SOURCE]]));
  const lines = moduleOf(first, SOURCE).split("\n");
  assertEquals(lines[0], `import { add, Kind } from "../../../../ops/add.ts";`);
  assertEquals(lines[5], "const three = add(1, 2);");
  assertStringIncludes(moduleOf(third, SOURCE), `import { label } from`);
});

Deno.test("doc examples: what an example imports or declares is its own", () => {
  const code = `import { add } from "./add.ts";\nimport type { Q } from "../q.ts";\n` +
    `const { Kind, other: [label] } = add;\nfunction f() {}`;
  const example = { path: "ops/add.ts", line: 1, code, ignored: false };
  assertEquals(
    moduleOf(example, SOURCE),
    `import { add } from "../../../../ops/./add.ts";\n` +
      `import type { Q } from "../../../../ops/../q.ts";\n` +
      `const { Kind, other: [label] } = add;\nfunction f() {}\nexport {};\n`,
  );
  const member = { ...example, code: "namespace.add.label;" };
  assertEquals(moduleOf(member, SOURCE), "namespace.add.label;\nexport {};\n");
});
