/**
 * The house rules as functions of a tree of files: ranks, circles, what the entry may reach, and what
 * no file may contain. Deliberately not here: reading the tree and printing, which are in
 * `check_ranks.ts`, and anything that the compiler or the linter checks.
 *
 * @module
 */

import { ENTRY, IMPLEMENTATIONS, OUTSIDE, REGISTRY, roomOf } from "./ranks.ts";
import { type ImportKind, importsOf, type Token, tokensOf } from "./scan.ts";

/** A broken rule. */
export interface Fault {
  readonly path: string;
  /** From 1. */
  readonly line: number;
  readonly rule: string;
  /** What is wrong, and what to do. */
  readonly message: string;
}

/** The files of a tree: paths from its root, with slashes, and their texts. */
export type Tree = ReadonlyMap<string, string>;

/** An import whose target is known. */
interface Edge {
  readonly from: string;
  /** A path of the tree for relative imports, the specifier for others. */
  readonly to: string;
  readonly relative: boolean;
  readonly kind: ImportKind;
  readonly line: number;
}

/** A file has at most so many lines. */
export const MAX_LINES = 600;

/** Every broken rule of a tree, in the order of its files. */
export function faultsOf(tree: Tree): Fault[] {
  const sources = new Map<string, Token[]>();
  for (const [path, text] of tree) if (path.endsWith(".ts")) sources.set(path, tokensOf(text));
  const edges = [...sources].flatMap(([path, tokens]) => edgesOf(path, tokens));
  const faults = [
    ...rankFaults(sources, edges),
    ...circleFaults(edges),
    ...specifierFaults(edges),
    ...reachFaults(edges),
    ...[...sources].flatMap(([path, tokens]) => bareErrorFaults(path, tokens)),
    ...[...tree].flatMap(([path, text]) => textFaults(path, text)),
  ];
  const order = new Map([...tree.keys()].map((path, i) => [path, i]));
  const place = (fault: Fault) => order.get(fault.path) ?? 0;
  return faults.sort((a, b) => place(a) - place(b) || a.line - b.line);
}

function edgesOf(path: string, tokens: readonly Token[]): Edge[] {
  return importsOf(tokens).map(({ specifier, kind, line }) => {
    const relative = specifier.startsWith("./") || specifier.startsWith("../");
    return {
      from: path,
      to: relative ? resolve(path, specifier) : specifier,
      relative,
      kind,
      line,
    };
  });
}

function resolve(from: string, specifier: string): string {
  const parts = from.split("/").slice(0, -1);
  for (const part of specifier.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== ".") parts.push(part);
  }
  return parts.join("/");
}

/** Rooms: imports go down, at run time everywhere and for types outside core. */
function rankFaults(sources: ReadonlyMap<string, unknown>, edges: readonly Edge[]): Fault[] {
  const faults: Fault[] = [];
  for (const path of sources.keys()) {
    if (roomOf(path) !== undefined) continue;
    const message = "is in no room: move it to one, or add its room to tools/ranks.ts";
    faults.push({ path, line: 1, rule: "room", message });
  }
  for (const { from, to, relative, kind, line } of edges) {
    const [here, there] = [roomOf(from), roomOf(to)];
    if (!relative || here === undefined || there === undefined) continue;
    if (here === OUTSIDE || here === there) continue;
    const called =
      `"${to}" (${there.name}, rank ${there.rank}) from ${here.name}, rank ${here.rank}`;
    if (kind === "type") {
      if (there.rank > here.rank && !from.startsWith("core/")) {
        const message = `imports a type of ${called}: types may go up inside core/ alone; ` +
          "move the type to the lower room";
        faults.push({ path: from, line, rule: "type-rank", message });
      }
    } else if (there.rank >= here.rank) {
      const message = `imports ${called}: only lower ranks may be imported at run time; move the ` +
        "code down, pass it in as an argument, or use `import type` where that is allowed";
      faults.push({ path: from, line, rule: "rank", message });
    }
  }
  for (const { from, to, relative, kind, line } of edges) {
    const implementation = IMPLEMENTATIONS.exec(to)?.[0];
    if (!relative || implementation === undefined || kind === "type") continue;
    if (from === REGISTRY || from.startsWith(implementation) || roomOf(from) === OUTSIDE) continue;
    const message = `imports "${to}": only ${REGISTRY} imports the files of an implementation; ` +
      "go through the registry or the Backend interface";
    faults.push({ path: from, line, rule: "implementation", message });
  }
  return faults;
}

/** The shortest circle of run-time imports through each file that no circle before it has named. */
function circleFaults(edges: readonly Edge[]): Fault[] {
  const graph = new Map<string, Edge[]>();
  for (const edge of edges) {
    if (edge.relative && edge.kind !== "type") {
      graph.set(edge.from, [...(graph.get(edge.from) ?? []), edge]);
    }
  }
  const faults: Fault[] = [];
  const known = new Set<string>();
  for (const start of graph.keys()) {
    if (known.has(start)) continue;
    const circle = shortestCircle(graph, start);
    if (circle === undefined) continue;
    const names = [start, ...circle.map((edge) => edge.to)];
    names.forEach((name) => known.add(name));
    const message =
      `is in an import circle: ${names.join(" -> ")}; move what both sides need to a ` +
      "file of its own, or use `import type` if only types are needed";
    faults.push({ path: start, line: circle[0].line, rule: "circle", message });
  }
  return faults;
}

/** Breadth first from a file back to itself. */
function shortestCircle(graph: ReadonlyMap<string, Edge[]>, start: string): Edge[] | undefined {
  const cameBy = new Map<string, Edge>();
  const queue = [start];
  for (const path of queue) {
    for (const edge of graph.get(path) ?? []) {
      if (edge.to === start) {
        const circle = [edge];
        while (circle[0].from !== start) circle.unshift(cameBy.get(circle[0].from)!);
        return circle;
      }
      if (cameBy.has(edge.to)) continue;
      cameBy.set(edge.to, edge);
      queue.push(edge.to);
    }
  }
  return undefined;
}

/** No file needs an import map. */
function specifierFaults(edges: readonly Edge[]): Fault[] {
  return edges.filter((edge) =>
    !edge.relative && !/^(node|npm|jsr|https?|data|file):/.test(edge.to)
  )
    .map(({ from, to, line }) => ({
      path: from,
      line,
      rule: "import-map",
      message: `imports "${to}", which needs an import map that a user by URL does not have; ` +
        "write a relative path, or `npm:` or `jsr:` with a version",
    }));
}

/** Nothing that the entry reaches, even lazily or for types, is a third party's or Deno's alone. */
function reachFaults(edges: readonly Edge[]): Fault[] {
  const graph = Map.groupBy(edges, (edge) => edge.from);
  const cameFrom = new Map<string, string | undefined>([[ENTRY, undefined]]);
  const faults: Fault[] = [];
  for (const path of cameFrom.keys()) {
    for (const { to, relative, kind, line } of graph.get(path) ?? []) {
      if (relative) {
        if (!cameFrom.has(to)) cameFrom.set(to, path);
        continue;
      }
      const way = [path];
      for (let up = cameFrom.get(path); up !== undefined; up = cameFrom.get(up)) way.unshift(up);
      if (/^(npm|jsr|https?):/.test(to)) {
        const message =
          `imports "${to}" and is reached from ${ENTRY} (${way.join(" -> ")}): nothing ` +
          "there names a third party; make an entry file of its own, listed in the exports";
        faults.push({ path, line, rule: "third-party", message });
      } else if (to.startsWith("node:") && kind === "static") {
        const message = `imports "${to}" statically and is reached from ${ENTRY} ` +
          `(${way.join(" -> ")}), which also runs in browsers; use ` +
          "`process.getBuiltinModule` or a guarded dynamic import";
        faults.push({ path, line, rule: "node", message });
      }
    }
  }
  return faults;
}

/** The library throws classes of core/errors.ts. */
function bareErrorFaults(path: string, tokens: readonly Token[]): Fault[] {
  const room = roomOf(path);
  if (room === undefined || room === OUTSIDE) return [];
  const faults: Fault[] = [];
  for (let i = 0; i < tokens.length; i++) {
    const [a, b, c] = [tokens[i], tokens[i + 1], tokens[i + 2]];
    if (a.text === "throw" && b?.text === "new" && c?.text === "Error" && c.kind === "word") {
      const message = "throws a bare Error: throw a class of core/errors.ts that says what was " +
        "called, which rule was broken and what to do";
      faults.push({ path, line: a.line, rule: "bare-error", message });
    }
  }
  return faults;
}

/** What no line of any text file may contain. The sources are spelled so as not to match themselves. */
const FORBIDDEN: readonly { rule: string; pattern: RegExp; message: string }[] = [
  {
    rule: "host",
    pattern: /registry\.npmjs|jsr\.io|(deb|security)\.debian|pypi\.org|static\.crates/,
    message: "names the host of a registry: say which package, not where it comes from",
  },
  {
    rule: "machine-path",
    pattern: /(?<![\w.])\/(w[o]rk|f[a]rm|r[o]ot|h[o]me\/\w+|Us[e]rs\/\w+|o[p]t\/(pypi|wheels))\//,
    message: "names a path of one machine: use a relative path or Deno.makeTempDir",
  },
  {
    rule: "to-do",
    pattern: /\b(T[O]DO|F[I]XME)\b/,
    message: "leaves work for later: do it, or file an issue and say here what is true now",
  },
];

function textFaults(path: string, text: string): Fault[] {
  const faults: Fault[] = [];
  const lines = text.split("\n");
  if (path !== "LICENSE") {
    lines.forEach((content, i) => {
      for (const { rule, pattern, message } of FORBIDDEN) {
        if (pattern.test(content)) faults.push({ path, line: i + 1, rule, message });
      }
    });
  }
  const count = text.endsWith("\n") ? lines.length - 1 : lines.length;
  const written = path.endsWith(".ts") && !/_generated\.ts$|goldens/.test(path);
  if (written && count > MAX_LINES) {
    const message = `has ${count} lines: at most ${MAX_LINES}; split it by responsibility`;
    faults.push({ path, line: MAX_LINES + 1, rule: "length", message });
  }
  return faults;
}
