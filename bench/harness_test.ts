import { assert, assertEquals } from "jsr:@std/assert@1";
import {
  type Contest,
  type Contestant,
  difference,
  measure,
  reason,
  type Run,
  spread,
  times,
} from "./harness.ts";

/** Work that says itself how long it took. */
const takes = (name: string, ms: number[], more: Partial<Run> & { against?: string } = {}) => {
  let i = 0;
  return {
    name,
    against: more.against,
    make: () => ({ once: () => ms[i++ % ms.length], ...more }),
  } satisfies Contestant;
};

const contest = (...contestants: Contestant[]): Contest => ({
  name: "row",
  title: "a row",
  warmUp: 0,
  single: true,
  contestants,
});

Deno.test("a spread has the middle of an odd and of an even count", () => {
  assertEquals(spread([3, 1, 10]), { median: 3, min: 1, max: 10 });
  assertEquals(spread([4, 1, 2, 10]), { median: 3, min: 1, max: 10 });
});

Deno.test("a difference is a part of the largest magnitude, and never hides NaN or a missing element", () => {
  assertEquals(difference([1, 2], [1, 2]), 0);
  assertEquals(difference([0, -8.5], [0, -8]), 0.0625);
  assertEquals(difference([0], [0]), 0);
  for (const odd of [[1], [1, NaN], [NaN, 1], [1, Infinity]]) {
    assertEquals(difference(odd, [1, 2]), Infinity);
  }
});

Deno.test("ratios are taken round by round", async () => {
  // The second is twice as slow in every round; medians of either alone would not say so.
  const outcome = await measure(contest(takes("a", [1, 10, 4]), takes("b", [2, 20, 8])), {
    rounds: 3,
  });
  const [a, b] = outcome.scores;
  assertEquals(a, {
    name: "a",
    ms: { median: 4, min: 1, max: 10 },
    ratio: undefined,
    peak: undefined,
  });
  assertEquals(b.ratio, { median: 2, min: 2, max: 2 });
  assertEquals([outcome.rounds, outcome.wrong], [3, false]);
});

Deno.test("all take turns, and another begins each round", async () => {
  const calls: string[] = [];
  const logs = (name: string): Contestant => ({
    name,
    make: () => ({
      once: () => {
        calls.push(name);
        return 1;
      },
    }),
  });
  await measure(contest(logs("a"), logs("b"), logs("c")), { rounds: 3 });
  assertEquals(calls.join(""), "abcbcacab");
});

Deno.test("another result is found before timing, and only by whom it is compared with", async () => {
  const result = (...values: number[]) => () => Promise.resolve(values);
  let timed = 0;
  const once = () => ++timed;
  const outcome = await measure(contest(
    takes("a", [1], { result: result(1, 2) }),
    takes("close", [1], { result: result(1, 2.00001), against: "a" }),
    takes("far", [1], { result: result(1, 2.1), against: "a", once }),
    takes("other work", [1], { result: result(7) }),
  ));
  assertEquals(outcome.scores.map(({ error }) => error), [
    undefined,
    undefined,
    "differs by 5.0e-2, more than 0.00001",
    undefined,
  ]);
  assertEquals([outcome.wrong, timed], [true, 0]);
});

Deno.test("who cannot take part is named with the reason, and the others go on", async () => {
  const outcome = await measure(contest(
    takes("a", [1]),
    {
      name: "b",
      make: () => {
        throw new Error("no such kernel\n  at a place");
      },
    },
    takes("c", [1], { once: () => Promise.reject(new Error("broke")) }),
    takes("d", [3]),
  ));
  assertEquals(outcome.scores.map(({ error }) => error), [
    undefined,
    "no such kernel",
    "broke",
    undefined,
  ]);
  assertEquals(outcome.scores[3].ratio?.median, 3);
  assertEquals(outcome.wrong, false);
  assert((await measure(contest(takes("c", [1], { once: () => Promise.reject("broke") })))).wrong);
});

Deno.test("a contest's own limit of rounds holds, and everybody is disposed", async () => {
  const disposed: string[] = [];
  const outcome = await measure({
    ...contest(
      takes("a", [1], { dispose: () => disposed.push("a") }),
      takes("b", [1], { dispose: () => disposed.push("b") }),
    ),
    rounds: 2,
  }, { rounds: 5 });
  assertEquals([outcome.rounds, disposed.join()], [2, "a,b"]);
});

Deno.test("short work is repeated in a sample, long work is not", async () => {
  for (const [ms, repeats] of [[5, 4], [200, 1]]) {
    let calls = 0;
    const once = () => {
      calls++;
      return ms;
    };
    const one = { ...contest(takes("a", [], { once })), warmUp: 1, single: false };
    await measure({ ...one, warmFor: 0 }, { rounds: 3, sample: 20 });
    assertEquals(calls, 1 + 3 * repeats);
  }
});

Deno.test("memory is asked for unless it is not wanted", async () => {
  const a = { ...takes("a", [1]), peak: () => Promise.resolve({ process: 8 }) };
  const peak = async (memory: boolean) =>
    (await measure(contest(a), { rounds: 1, memory })).scores[0].peak;
  assertEquals(await peak(true), { process: 8 });
  assertEquals(await peak(false), undefined);
});

Deno.test("reasons tell no address and no path", () => {
  const text = "Failed loading https://example.org/x for file:///srv/me/y in /srv/me/z.ts: 1/2";
  assertEquals(reason(new Error(text)), "Failed loading … for … in …: 1/2");
});

Deno.test("times are those of single calls, sorted", async () => {
  let calls = 0;
  const found = await times(() => calls++, { repeats: 3, samples: 4, warmUp: 1 });
  assertEquals([found.length, calls], [4, 15]);
  assertEquals(found, found.toSorted((a, b) => a - b));
});
