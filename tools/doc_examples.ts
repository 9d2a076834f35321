/**
 * Makes tests of the examples in documentation: each fenced block of TypeScript in a doc comment of
 * the library or in a Markdown file becomes a module in `.out/doc/`, on the lines that it has in its
 * source. `deno test --doc` runs the same blocks, but starts an isolate for each (a third of a second
 * of processor time); here an isolate serves all blocks of a folder. Deliberately not here: running
 * them, which the gate does.
 *
 * Permissions: `--allow-read --allow-write=.out --allow-run=git`.
 *
 * @module
 */

import { readTree, walk } from "./check_ranks.ts";
import type { Tree } from "./house.ts";
import { OUTSIDE, roomOf } from "./ranks.ts";
import { importsOf, type Token, tokensOf } from "./scan.ts";

/** A fenced block. */
export interface Example {
  readonly path: string;
  /** The line of its first line of code, from 1. */
  readonly line: number;
  readonly code: string;
  /** Whether it is marked `ignore`. */
  readonly ignored: boolean;
}

/** Where the modules go, from the root. */
export const FOLDER = ".out/doc";

const LANGUAGES = new Set(["ts", "typescript", "js", "javascript"]);

/** The examples of a tree: of doc comments in library files, and of Markdown. */
export function examplesOf(tree: Tree): Example[] {
  const found: Example[] = [];
  for (const [path, text] of tree) {
    if (path.endsWith(".md")) {
      found.push(...blocksOf(path, text.split("\n"), 1, ""));
    } else if (path.endsWith(".ts") && (roomOf(path) ?? OUTSIDE) !== OUTSIDE) {
      tokensOf(text, (comment, line) => {
        if (!comment.startsWith("/**")) return;
        const lines = comment.replace(/\*\/$/, "").split("\n").map((each) =>
          each.replace(/^\s*(\/\*)?\* ?/, "")
        );
        found.push(...blocksOf(path, lines, line, "ts"));
      });
    }
  }
  return found;
}

function blocksOf(path: string, lines: string[], first: number, unmarked: string): Example[] {
  const found: Example[] = [];
  for (let i = 0; i < lines.length; i++) {
    const fence = /^(\s*)(`{3,})\s*(\w*)(.*)$/.exec(lines[i]);
    if (fence === null) continue;
    const [, indent, ticks, language, attributes] = fence;
    const start = i + 1;
    do i++; while (i < lines.length && lines[i].trim() !== ticks);
    if (!LANGUAGES.has(language || unmarked)) continue;
    const code = lines.slice(start, i)
      .map((each) => each.startsWith(indent) ? each.slice(indent.length) : each);
    const ignored = /\bignore\b/.test(attributes);
    found.push({ path, line: first + start, code: code.join("\n"), ignored });
  }
  return found;
}

/** The module of an example; exports of its own file that it uses come in without an import. */
export function moduleOf(example: Example, source: string): string {
  const up = "../".repeat(example.path.split("/").length + FOLDER.split("/").length);
  const here = example.path.split("/").slice(0, -1).map((part) => part + "/").join("");
  const tokens = tokensOf(example.code);
  let code = example.code;
  for (const { specifier } of importsOf(tokens)) {
    if (!/^\.\.?\//.test(specifier)) continue;
    const moved = JSON.stringify(up + here + specifier);
    code = code.replaceAll(`"${specifier}"`, moved).replaceAll(`'${specifier}'`, moved);
  }
  const free = tokens.filter(({ kind }, i) => kind === "word" && tokens[i - 1]?.text !== ".");
  const used = new Set(free.map((token) => token.text));
  const own = declaredIn(tokens);
  const names = example.path.endsWith(".ts")
    ? [...exportsOf(tokensOf(source))].filter((name) => used.has(name) && !own.has(name))
    : [];
  const header = names.length > 0
    ? `import { ${names.join(", ")} } from "${up}${example.path}";`
    : "";
  return `${header}${"\n".repeat(example.line - 1)}${code}\nexport {};\n`;
}

const DECLARES = new Set("const let var function class interface type enum".split(" "));

/** Names that a module exports by declaration or list; `export *` is left out. */
function exportsOf(tokens: readonly Token[]): Set<string> {
  const names = new Set<string>();
  tokens.forEach(({ text, kind }, i) => {
    if (kind !== "word" || text !== "export") return;
    let at = i + 1;
    while (["async", "abstract", "declare"].includes(tokens[at]?.text)) at++;
    if (tokens[at]?.text === "type" && tokens[at + 1]?.text === "{") at++;
    if (DECLARES.has(tokens[at]?.text)) {
      at += tokens[at + 1]?.text === "*" ? 2 : 1;
      names.add(tokens[at].text);
    } else if (tokens[at]?.text === "{") {
      for (at++; at < tokens.length && tokens[at].text !== "}"; at++) {
        const last = tokens[at + 1]?.text === "," || tokens[at + 1]?.text === "}";
        if (tokens[at].kind === "word" && last) names.add(tokens[at].text);
      }
    }
  });
  names.delete("default");
  return names;
}

/** Names that an example imports or declares itself, in patterns too. */
function declaredIn(tokens: readonly Token[]): Set<string> {
  const names = new Set<string>();
  tokens.forEach(({ text, kind }, i) => {
    if (kind !== "word") return;
    if (text === "import") {
      for (let at = i + 1; at < tokens.length && tokens[at].kind !== "string"; at++) {
        names.add(tokens[at].text);
      }
    } else if (DECLARES.has(text)) {
      const pattern = tokens[i + 1]?.text === "{" || tokens[i + 1]?.text === "[";
      for (let at = i + 1; at < tokens.length && tokens[at].text !== "="; at++) {
        names.add(tokens[at].text);
        if (!pattern) break;
      }
    }
  });
  return names;
}

/** Writes the modules and, for each folder of the root, a test of its examples; returns the tests. */
export async function writeExamples(root: string): Promise<string[]> {
  const tree = await readTree(root);
  const modules = new Map<string, string>();
  const tests = new Map<string, string>();
  for (const example of examplesOf(tree)) {
    const { path, line, ignored } = example;
    const name = JSON.stringify(`example ${path}:${line}${ignored ? " (marked ignore)" : ""}`);
    const group = path.includes("/") ? path.split("/")[0] : "root";
    const file = `${FOLDER}/${group}_doc_test.ts`;
    const body = ignored
      ? `Deno.test({ name: ${name}, ignore: true, fn() {} });\n`
      : `Deno.test(${name}, async () => void await import("./${path}/${line}.ts"));\n`;
    tests.set(file, (tests.get(file) ?? "") + body);
    if (!ignored) {
      modules.set(`${FOLDER}/${path}/${line}.ts`, moduleOf(example, tree.get(path) ?? ""));
    }
  }
  await replaceFolder(root, new Map([...modules, ...tests]));
  return [...tests.keys()];
}

/** Makes a folder hold these files and no others; files that are right are not touched. */
async function replaceFolder(root: string, files: Tree): Promise<void> {
  const old = await walk(`${root}/${FOLDER}`, "").catch((error) => {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  });
  for (const path of old) {
    if (!files.has(`${FOLDER}/${path}`)) await Deno.remove(`${root}/${FOLDER}/${path}`);
  }
  const present = new Set(old.map((path) => `${FOLDER}/${path}`));
  for (const [path, text] of files) {
    if (present.has(path) && await Deno.readTextFile(`${root}/${path}`) === text) continue;
    await Deno.mkdir(`${root}/${path.slice(0, path.lastIndexOf("/"))}`, { recursive: true });
    await Deno.writeTextFile(`${root}/${path}`, text);
  }
}

if (import.meta.main) {
  for (const test of await writeExamples(`${import.meta.dirname}/..`)) console.log(test);
}
