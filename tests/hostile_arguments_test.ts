/**
 * Every argument of every public function, and every option by name, replaced by nonsense: a result, or an error
 * that is the library's own and says what was called. Programs also run without a type check.
 *
 * @module
 */

import { assertEquals } from "jsr:@std/assert@1";
import { InternalError, isGradEnabled, memory, PlesioError, Tensor, tensor } from "../mod.ts";
import { type Arguments, type Call, maker, publicCalls } from "./call_table.ts";

function gone(): Tensor {
  const x = tensor([1, 2, 3]);
  x.dispose();
  return x;
}

const NONSENSE: readonly (readonly [string, () => unknown])[] = [
  ["undefined", () => undefined],
  ["null", () => null],
  ["a word", () => "abc"],
  ["a digit as text", () => "0"],
  ["NaN", () => NaN],
  ["1.5", () => 1.5],
  ["-1", () => -1],
  ["-99", () => -99],
  ["1e300", () => 1e300],
  ["2^53", () => 2 ** 53],
  ["Infinity", () => Infinity],
  ["a bigint", () => 5n],
  ["true", () => true],
  ["an object", () => ({})],
  ["no elements", () => []],
  ["an array with a hole", () => Object.assign(new Array(3), { 0: 1, 2: 2 })],
  ["[NaN]", () => [NaN]],
  ["['a']", () => ["a"]],
  ["[null]", () => [null]],
  ["[[]]", () => [[]]],
  ["a function", () => () => 1],
  ["a date", () => new Date(0)],
  ["a tensor", () => tensor([[1.5]])],
  ["a mask", () => tensor([true])],
  ["a tensor of another place", () => tensor([1, 2, 3], { place: "ref" })],
  ["a disposed tensor", gone],
  ["a typed array", () => new Float32Array(3)],
  ["a map", () => new Map()],
  ["a promise", () => Promise.resolve(1)],
  ["[a tensor]", () => [tensor([1])]],
];

/** A place in the arguments: the position, and the name where it is an option or the index in a list. */
type Site = readonly [position: number, name?: string];

function sitesOf({ run }: Call, args: readonly unknown[]): Site[] {
  const inside = (x: unknown): string[] =>
    typeof x === "object" && x !== null && !(x instanceof Tensor) ? Object.keys(x) : [];
  const positions = Math.max(run.length, args.length + 1);
  return Array.from({ length: positions }, (_, i): Site[] => [
    [i],
    ...inside(args[i]).map((name): Site => [i, name]),
  ]).flat();
}

function withNonsense(made: unknown[], [position, name]: Site, value: unknown): unknown[] {
  while (made.length <= position) made.push(undefined);
  if (name === undefined) made[position] = value;
  else (made[position] as Record<string, unknown>)[name] = value;
  return made;
}

async function use(result: unknown): Promise<void> {
  const given = await result;
  for (const x of Array.isArray(given) ? given : [given]) {
    if (x instanceof Tensor) await x.data();
  }
}

/** What is wrong with how a call ended, or null. */
function fault(error: unknown): string | null {
  if (!(error instanceof PlesioError)) return String(error);
  if (error instanceof InternalError) return `InternalError: ${error.message}`;
  return /^Cannot \w/.test(error.message) ? null : `no call in the message: ${error.message}`;
}

async function attack(call: Call, make: Arguments): Promise<string[]> {
  // One of each kind.
  const faults = new Map<string, string>();
  for (const site of sitesOf(call, make(maker("float32")))) {
    for (const [label, value] of NONSENSE) {
      try {
        await use(call.run(...withNonsense(make(maker("float32")), site, value())));
      } catch (error) {
        const what = fault(error);
        if (what !== null) {
          faults.set(what, `${call.name} with ${label} at ${site.join(".")}: ${what}`);
        }
      }
      if (!isGradEnabled()) faults.set("off", `${call.name} with ${label} leaves gradients off`);
    }
  }
  return [...faults.values()];
}

Deno.test("nonsense in any argument of any function is refused by name, or makes sense", async () => {
  const { limit } = memory.stats();
  memory.setLimit(256 * 2 ** 20);
  try {
    const faults: string[] = [];
    for (const call of publicCalls()) faults.push(...await attack(call, call.cases[0]));
    assertEquals(faults, []);
  } finally {
    memory.setLimit(limit);
  }
});

Deno.test("options are objects: a value in their place is not left unread", () => {
  const faults: string[] = [];
  for (const { name, run, cases } of publicCalls()) {
    const args = cases[0](maker("float32"));
    const last = args.at(-1);
    const isOptions = typeof last === "object" && last !== null && !Array.isArray(last) &&
      !(last instanceof Tensor);
    if (!isOptions || args.length === 1) continue;
    for (const value of [3, true, "x", null, [1]]) {
      try {
        run(...args.slice(0, -1), value);
        faults.push(`${name} takes ${JSON.stringify(value)} for options`);
      } catch (error) {
        if (!String(error).includes("options are an object")) faults.push(`${name}: ${error}`);
      }
    }
  }
  assertEquals(faults, []);
});
