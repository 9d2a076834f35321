import { assert, assertEquals, assertThrows } from "jsr:@std/assert@1";
import { numbers, type WorkloadName, WORKLOADS } from "../workloads.ts";
import { contestants, type Library, variants } from "./library.ts";

const run = { once: () => {} };

function library(name: string, rows: Partial<Library["rows"]>): Library {
  const all = Object.keys(WORKLOADS) as WorkloadName[];
  const none = Object.fromEntries(all.map((row) => [row, "not written"])) as Library["rows"];
  return { name, version: "1", module: "", threads: "1", rows: { ...none, ...rows } };
}

Deno.test("variants have names, and agree with the first of their kind", () => {
  const a = library("a", { mlp: { Adam: () => run, SGD: () => run } });
  const b = library("b", { mlp: { "SGD, eager": () => run } });
  const found = contestants([a, b], "mlp").map(({ name, against }) => [name, against]);
  assertEquals(found, [["a Adam", undefined], ["a SGD", undefined], ["b SGD, eager", "a SGD"]]);
});

Deno.test("all get the same numbers, made when the first needs them", async () => {
  const seen: unknown[] = [];
  const make = (input: unknown) => {
    seen.push(input);
    return run;
  };
  const both = [library("a", { overhead: make }), library("b", { overhead: make })];
  for (const each of contestants(both, "overhead")) await each.make();
  assert(seen.length === 2 && seen[0] === seen[1]);
});

Deno.test("a row that is not done has its reason as the error", () => {
  const [way] = variants(library("a", { sort: "has no sort" }), "sort");
  assertThrows(() => way.make({ x: new Float32Array() }), Error, "has no sort");
});

Deno.test("numbers are repeatable, spread, and within their bounds", () => {
  const x = numbers(10_000, 3, -2, 6);
  assertEquals(x, numbers(10_000, 3, -2, 6));
  assert(x.every((v) => v >= -2 && v <= 6));
  const mean = x.reduce((a, b) => a + b) / x.length;
  assert(Math.abs(mean - 2) < 0.1, `${mean}`);
  assert(new Set(x).size > 9_900);
});

Deno.test("nothing but the benchmarks downloads the peers", async () => {
  const root = new URL("../../", import.meta.url);
  const lock = await Deno.readTextFile(new URL("deno.lock", root));
  assertEquals(/@tensorflow|@jax-js/.exec(lock), null);
  const { tasks } = JSON.parse(await Deno.readTextFile(new URL("deno.json", root)));
  assert(tasks.bench.command.includes("--no-lock"), tasks.bench.command);
});
