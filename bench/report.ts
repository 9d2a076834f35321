/**
 * What is made of measured contests: facts about the machine, a JSON line for each row, and a Markdown
 * table. Deliberately not here: measuring (`harness.ts`).
 *
 * @module
 */

import { cpus } from "node:os";
import type { Outcome, Peak, Spread } from "./harness.ts";

/** Where and when rows were measured; nothing that names a host or a person. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly os: string;
  readonly deno: string;
  /** UTC, to the minute. */
  readonly date: string;
  /** Programs that wanted a core, on average over the minute before. */
  readonly load: number;
  /** The commit that was checked out, with a plus if there were changes. */
  readonly commit?: string;
}

/** A line of a results file. */
export interface Line extends Omit<Outcome, "wrong"> {
  readonly machine: Machine;
  /** Version and threads by library. */
  readonly libraries: Readonly<Record<string, string>>;
}

async function commit(): Promise<string | undefined> {
  try {
    const git = async (...args: string[]) => {
      const { success, stdout } = await new Deno.Command("git", {
        args,
        cwd: new URL("..", import.meta.url),
        stderr: "null",
      }).output();
      return success ? new TextDecoder().decode(stdout).trim() : undefined;
    };
    const hash = await git("rev-parse", "--short", "HEAD");
    const changes = await git("status", "--porcelain", "--", ".", ":(exclude)bench/results");
    return hash === undefined ? undefined : hash + (changes ? "+" : "");
  } catch {
    return undefined;
  }
}

/** The facts of this machine now. */
export async function machine(): Promise<Machine> {
  return {
    cpu: cpus()[0]?.model.trim() || "unknown",
    cores: navigator.hardwareConcurrency,
    os: `${Deno.build.os} ${Deno.build.arch}`,
    deno: Deno.version.deno,
    date: `${new Date().toISOString().slice(0, 16)}Z`,
    load: Number(Deno.loadavg()[0].toFixed(1)),
    commit: await commit(),
  };
}

/** Three significant digits, without an exponent for what occurs here. */
export function short(x: number): string {
  if (!Number.isFinite(x)) return "–";
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(x) || 1)));
  return x.toFixed(Math.min(digits, 4));
}

/** What one run amounts to, in a second; or the time of each of its small parts. */
function rate({ amount }: Line, ms: Spread | undefined): string {
  if (amount === undefined || ms === undefined) return "";
  if (amount.unit === "op") return `${short(ms.median / amount.count * 1e6)} ns each`;
  return `${short(amount.count / ms.median / 1e6)} G${amount.unit}/s`;
}

/** MiB of the process, and of the tensors. */
function memory(peak: Peak | undefined): string {
  if (peak === undefined) return "";
  const tensors = peak.tensors === undefined ? "" : ` (${short(peak.tensors / 2 ** 20)})`;
  return short(peak.process / 2 ** 20) + tensors;
}

const range = (s: Spread): string => `${short(s.min)} – ${short(s.max)}`;

/** A Markdown table of its cells, as `deno fmt` lays it out. */
export function markdownTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const widths = head.map((title, i) => Math.max(3, title.length, ...rows.map((r) => r[i].length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i])).join(" | ")} |`;
  return [line(head), `| ${widths.map((w) => "-".repeat(w)).join(" | ")} |`, ...rows.map(line)]
    .join("\n");
}

/** The table of some lines, as Markdown. */
export function table(lines: readonly Line[]): string {
  const rows: string[][] = [];
  const notes: string[] = [];
  for (const line of lines) {
    line.scores.forEach((score, i) => {
      if (score.error !== undefined) {
        notes.push(`- ${line.name}, ${score.name}: ${score.error}`);
      }
      rows.push([
        i === 0 ? line.name : "",
        score.name,
        score.ms === undefined ? "–" : short(score.ms.median),
        score.ms === undefined ? "" : range(score.ms),
        rate(line, score.ms),
        score.ratio === undefined ? "" : `${short(score.ratio.median)}×`,
        score.ratio === undefined ? "" : range(score.ratio),
        memory(score.peak),
      ]);
    });
  }
  const head = ["row", "who", "ms", "range", "rate", "ratio", "range", "peak MiB"];
  return markdownTable(head, rows) + (notes.length > 0 ? `\n\n${notes.join("\n")}` : "");
}

/** One line of text about a row. */
export function brief({ name, scores }: Line): string {
  const each = scores.map(({ name, ms, ratio, error }) => {
    if (ms === undefined) return `${name}: ${error}`;
    return `${name} ${short(ms.median)} ms` + (ratio && ` (${short(ratio.median)}×)` || "");
  });
  return `${name}: ${each.join(", ")}`;
}

/** A page about some lines. */
export function page(name: string, lines: readonly Line[]): string {
  const measured = new Map<string, string[]>();
  for (const { name: row, machine: m, rounds } of lines) {
    const facts = `${m.cpu}, ${m.cores} cores, ${m.os}, Deno ${m.deno}, ${m.date}, ` +
      `load ${m.load}${m.commit === undefined ? "" : `, commit ${m.commit}`}, ${rounds} rounds`;
    measured.set(facts, [...measured.get(facts) ?? [], row]);
  }
  const libraries = new Map(lines.flatMap((line) => Object.entries(line.libraries)));
  return [
    `# Benchmark results: ${name}`,
    "Medians over rounds in which all take turns; a ratio is the time of a contestant over that of " +
    "the first in the same round. What the columns mean is in [the README](../README.md).",
    [...libraries].map(([library, facts]) => `- ${library} ${facts}`).join("\n"),
    [...measured].map(([facts, rows]) => `- ${rows.join(", ")}: ${facts}`).join("\n"),
    table(lines),
    lines.map((line) => `- ${line.name}: ${line.title}`).join("\n"),
  ].filter((part) => part !== "").join("\n\n") + "\n";
}

/** Lines with newer ones in place of those of the same row; `order` says how rows are sorted. */
export function merge(
  old: readonly Line[],
  fresh: readonly Line[],
  order: readonly string[],
): Line[] {
  const rows = new Map([...old, ...fresh].map((line) => [line.name, line]));
  const place = (line: Line) => {
    const at = order.indexOf(line.name);
    return at < 0 ? order.length : at;
  };
  return [...rows.values()].sort((a, b) => place(a) - place(b));
}

/** A line of a results file; times to a few digits. */
export function jsonLine(line: Line): string {
  const rounded = (_: string, value: unknown) =>
    typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(5)) : value;
  return `${JSON.stringify(line, rounded)}\n`;
}

const RESULTS = new URL("results/", import.meta.url);

/** Writes `results/NAME.jsonl` and `results/NAME.md`; rows that were not measured now stay as they are. */
export async function save(
  name: string,
  fresh: readonly Line[],
  order: readonly string[],
): Promise<void> {
  await Deno.mkdir(RESULTS, { recursive: true });
  const file = new URL(`${name}.jsonl`, RESULTS);
  let old: Line[] = [];
  try {
    const text = await Deno.readTextFile(file);
    old = text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  const lines = merge(old, fresh, order);
  await Deno.writeTextFile(file, lines.map(jsonLine).join(""));
  const markdown = new URL(`${name}.md`, RESULTS);
  await Deno.writeTextFile(markdown, page(name, lines));
  // Long lines are folded as the gate wants them.
  await new Deno.Command(Deno.execPath(), { args: ["fmt", "--quiet", markdown.pathname] }).output();
}
