import { assertEquals, assertMatch } from "jsr:@std/assert@1";
import {
  brief,
  jsonLine,
  type Line,
  machine,
  markdownTable,
  merge,
  page,
  short,
  table,
} from "./report.ts";

const line = (name: string, more: Partial<Line> = {}): Line => ({
  name,
  title: `title of ${name}`,
  rounds: 3,
  scores: [
    {
      name: "plesio",
      ms: { median: 2, min: 1, max: 4 },
      peak: { process: 2 ** 21, tensors: 2 ** 20 },
    },
    {
      name: "peer",
      ms: { median: 5, min: 3, max: 6 },
      ratio: { median: 2.5, min: 2, max: 3 },
      peak: { process: 2 ** 23 },
    },
    { name: "other", error: "no kernel" },
  ],
  machine: { cpu: "CPU", cores: 2, os: "linux x", deno: "2", date: "2026-01-01T00:00Z", load: 0.1 },
  libraries: { plesio: "0.1.0, 1 thread" },
  ...more,
});

Deno.test("numbers are shown with three digits", () => {
  assertEquals(
    [1234, 123.4, 12.34, 1.234, 0.1234, 0, 0.00001, NaN].map(short),
    ["1234", "123", "12.3", "1.23", "0.123", "0.00", "0.0000", "–"],
  );
});

Deno.test("a table is laid out as deno fmt does", () => {
  assertEquals(
    markdownTable(["a", "long head"], [["cell", ""], ["", "x"]]),
    ["| a    | long head |", "| ---- | --------- |", "| cell |           |", "|      | x         |"]
      .join("\n"),
  );
});

Deno.test("a row shows times, ratios, memory, a rate, and why somebody is missing", () => {
  const text = table([line("matmul", { amount: { count: 4e9, unit: "FLOP" } })]);
  const [, , plesio, peer, other, , note] = text.split("\n");
  const cells = (row: string) => row.split("|").map((cell) => cell.trim()).slice(1, -1);
  assertEquals(cells(plesio), [
    ...["matmul", "plesio", "2.00", "1.00 – 4.00", "2000 GFLOP/s", "", ""],
    "2.00 (1.00)",
  ]);
  assertEquals(cells(peer), [
    ...["", "peer", "5.00", "3.00 – 6.00", "800 GFLOP/s", "2.50×", "2.00 – 3.00"],
    "8.00",
  ]);
  assertEquals(cells(other).slice(1, 4), ["other", "–", ""]);
  assertEquals(note, "- matmul, other: no kernel");
  const overhead = table([line("overhead", { amount: { count: 100, unit: "op" } })]);
  assertMatch(overhead, /plesio .* 20000 ns each/);
});

Deno.test("a row in one line", () => {
  assertEquals(brief(line("add")), "add: plesio 2.00 ms, peer 5.00 ms (2.50×), other: no kernel");
});

Deno.test("rows of a new run replace those of the same name, in the order of the rows", () => {
  const [a, b, c, newer] = [line("a"), line("b"), line("c"), line("b", { rounds: 9 })];
  assertEquals(merge([c, b], [newer, a], ["a", "b", "c"]), [a, newer, c]);
});

Deno.test("a page says when, on what and with what rows were measured", () => {
  const text = page("peers", [line("a"), line("b"), line("c", { rounds: 9 })]);
  assertMatch(
    text,
    /^- a, b: CPU, 2 cores, linux x, Deno 2, 2026-01-01T00:00Z, load 0.1, 3 rounds$/m,
  );
  assertMatch(text, /^- c: CPU.* 9 rounds$/m);
  assertMatch(text, /^- plesio 0\.1\.0, 1 thread$/m);
});

Deno.test("facts about the machine name neither host nor path", async () => {
  const facts = await machine();
  const known = ["cpu", "cores", "os", "deno", "date", "load", "commit"];
  assertEquals(Object.keys(facts), known);
  assertMatch(facts.date, /^\d{4}-\d\d-\d\dT\d\d:\d\dZ$/);
});

Deno.test("a line of JSON keeps whole numbers and rounds times", () => {
  const scores = [{ name: "plesio", ms: { median: 1.23456789, min: 1, max: 16777217 } }];
  const text = jsonLine(line("a", { scores }));
  assertEquals(text.endsWith("\n"), true);
  assertEquals(JSON.parse(text).scores[0].ms, { median: 1.2346, min: 1, max: 16777217 });
});
