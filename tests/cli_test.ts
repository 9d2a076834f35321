/**
 * The `plesio` command as a person starts it: what it prints, its exit codes, and that it asks for nothing.
 *
 * @module
 */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "jsr:@std/assert@1";
import { registerBackend } from "../backends/registry.ts";
import { check } from "../cli/check.ts";
import { VERSION } from "../cli/version.ts";
import { getPlace, PlaceError } from "../mod.ts";
import { testIf } from "../tools/testing.ts";
import { deno, denoInTerminal, hasTerminal, ROOT } from "./support.ts";

const plesio = (flags: string[], ...args: string[]) =>
  deno(["run", "--no-prompt", "--no-check", ...flags, "cli/main.ts", ...args]);

Deno.test("cli: the version is that of the package", async () => {
  const { version } = JSON.parse(await Deno.readTextFile(`${ROOT}/deno.json`));
  assertEquals(VERSION, version);
  for (const flag of ["--version", "-V"]) {
    const { code, out, err } = await plesio([], flag);
    assertEquals([code, out, err], [0, `plesio ${version}\n`, ""]);
  }
});

Deno.test("cli: check without any permission", async () => {
  const { code, out, err } = await plesio([], "check");
  assertEquals([code, err], [0, ""], out);
  assertStringIncludes(out, `Plesio ${VERSION}, Deno ${Deno.version.deno}, V8 `);
  assertMatch(out, /^ {2}✓ cpu +trained: loss \d\.\d{4} → \d\.\d{4} in \d+ ms; embedded/m);
  assertMatch(out, /^ {2}✓ ref +trained: /m);
  assertMatch(out, /^ {2}✓ simd +128-bit vectors$/m);
  assertMatch(out, /^ {2}[✓-] relaxed simd /m);
  assertMatch(out, /^ {2}[✓-] threads /m);
  assertMatch(out, /^ {2}[✓-] memory64 /m);
  assertMatch(out, /^ {2}- read +--allow-read=FILE would unlock load\(\) of weights$/m);
  assertMatch(out, /^ {2}- ffi +not used in this version$/m);
  assertMatch(out, /\n\nPlesio works here: a network trained on cpu and ref\.\n$/);
  // Both places computed the same.
  const [cpu, ref] = [...out.matchAll(/loss (\d\.\d{4}) → (\d\.\d{4})/g)].map((found) => found[0]);
  assertEquals(cpu, ref);
});

Deno.test("cli: check says which permissions are granted", async () => {
  const { code, out } = await plesio(["--allow-read"], "check");
  assertEquals(code, 0, out);
  assertMatch(out, /^ {2}✓ read +unlocks load\(\) of weights$/m);
  assertMatch(
    out,
    /^ {2}- write +--allow-write=FOLDER --allow-read=FOLDER would unlock save\(\) of weights$/m,
  );
});

testIf(
  hasTerminal,
  "no script of util-linux",
  "cli: check asks for nothing in a terminal",
  async () => {
    const { asked, code, text } = await denoInTerminal(["run", "cli/main.ts", "check"]);
    assertEquals([asked, code], [false, 0], text);
    assertStringIncludes(text, "Plesio works here");
  },
);

Deno.test("cli: a place that cannot be had makes check fail, and say so", async () => {
  const kind = `broken${crypto.randomUUID().slice(0, 8)}`;
  registerBackend(kind, (place) => {
    throw new PlaceError(`Cannot use ${place}: it is broken`);
  });
  const lines: string[] = [];
  const code = await check((line) => void lines.push(line));
  assertEquals(code, 1);
  assert(lines.includes(`  ✗ ${kind.padEnd(14)}PlaceError: Cannot use ${kind}:0: it is broken`));
  assertEquals(
    lines.at(-1),
    `\nPlesio does not work on ${kind}: not the default place: what does not name it works.`,
  );
  assertEquals(getPlace().name, "cpu");
});

Deno.test("cli: help, and refusals that point to it", async () => {
  for (const flag of ["--help", "-h"]) {
    const { code, out, err } = await plesio([], flag);
    assertEquals([code, err], [0, ""]);
    assertStringIncludes(out, "Usage: plesio [OPTIONS] COMMAND");
    assertStringIncludes(out, "check");
  }
  const cases: [string[], string][] = [
    [[], "no command was given"],
    [["train"], 'unknown command "train"'],
    [["--fast"], "unknown option --fast"],
    [["check", "cpu"], 'check takes no arguments: got "cpu"'],
  ];
  for (const [args, why] of cases) {
    const { code, out, err } = await plesio([], ...args);
    assertEquals([code, out, err], [2, "", `plesio: ${why}; see plesio --help\n`]);
  }
});
