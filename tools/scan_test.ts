import { assertEquals } from "jsr:@std/assert@1";
import { type Import, importsOf, tokensOf } from "./scan.ts";

/** Each import as `line kind specifier`. */
function scan(source: string): string[] {
  return importsOf(tokensOf(source)).map((x: Import) => `${x.line} ${x.kind} ${x.specifier}`);
}

Deno.test("scan: every form of import and export", () => {
  assertEquals(
    scan(`import "./effect.ts";
import def from "./def.ts";
import * as ns from './ns.ts';
import def2, { a as b, type C } from "./named.ts";
import {
  d,
} from "./lines.ts";
import type { T } from "./type.ts";
import type D from "./type_default.ts";
import type * as N from "./type_ns.ts";
import type from "./named_type.ts";
export * from "./all.ts";
export * as all from "./all_as.ts";
export { e, f as default } from "./some.ts";
export type { G } from "./type_some.ts";
export type * from "./type_all.ts";
import data from "./data.json" with { type: "json" };
import fs from "node:fs";
`),
    [
      "1 static ./effect.ts",
      "2 static ./def.ts",
      "3 static ./ns.ts",
      "4 static ./named.ts",
      "7 static ./lines.ts",
      "8 type ./type.ts",
      "9 type ./type_default.ts",
      "10 type ./type_ns.ts",
      "11 static ./named_type.ts",
      "12 static ./all.ts",
      "13 static ./all_as.ts",
      "14 static ./some.ts",
      "15 type ./type_some.ts",
      "16 type ./type_all.ts",
      "17 static ./data.json",
      "18 static node:fs",
    ],
  );
});

Deno.test("scan: dynamic imports, imports in types, and what is neither", () => {
  assertEquals(
    scan(`const a = await import("./a.ts");
import("./b.ts").then((x) => x);
type C = import("./c.ts").C;
let d: typeof import("./d.ts");
const e = await import(\`./e.ts\`);
const f = await import("npm:" + name);
const g = await import(\`npm:\${name}\`);
const h = await import(name);
console.log(import.meta.url, x.import("./no.ts"), { import: "./no.ts" });
export { here };
export type Here = { from: "./no.ts" };
export const from = "./no.ts";
export default from;
`),
    [
      "1 dynamic ./a.ts",
      "2 dynamic ./b.ts",
      "3 type ./c.ts",
      "4 type ./d.ts",
      "5 dynamic ./e.ts",
      "6 dynamic npm:",
      "7 dynamic npm:",
    ],
  );
});

Deno.test("scan: comments, strings, templates and regular expressions hide nothing else", () => {
  assertEquals(
    scan(`#!/usr/bin/env -S deno run
// import "./no.ts";
/* import "./no.ts";
 * \`\${ */
const s = 'import "./no.ts"' + "it's \\" // ";
const t = \`import "./no.ts" \${f({ a: \`\${b}\` }) / 2} // \${await import("./a.ts")} \\\` \`;
const r = /["'\`/*]/g.test(s) && x / y / z;
const q = (a + b) / 2 / c[0] / d! / 4; i++ / 2;
const u = cond ? /import "/ : [/[/"]/, 7 / 2];
return /'/;
import "./last.ts";
`),
    ["6 dynamic ./a.ts", "11 static ./last.ts"],
  );
});

Deno.test("scan: an export without from takes none from a later statement", () => {
  assertEquals(
    scan(`export { a };\nimport { from } from "./b.ts";\nexport { c }\nexport * from "./d.ts";\n`),
    ["2 static ./b.ts", "4 static ./d.ts"],
  );
});
