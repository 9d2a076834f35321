import * as std from "jsr:@std/assert@1";

const { AssertionError, equal } = std;

/** The message of the AssertionError that a call throws. */
function failure(fn: () => unknown): string {
  try {
    fn();
  } catch (error) {
    if (error instanceof AssertionError) return error.message;
    throw error;
  }
  throw new TypeError("the assertion passed");
}

Deno.test("std/assert: what is equal and what is not", () => {
  class A {
    x = 1;
  }
  const circle = (x: number) => {
    const value: Record<string, unknown> = { x };
    return Object.assign(value, { self: value });
  };
  const same: [unknown, unknown][] = [
    [0, -0],
    [NaN, NaN],
    [[0, { x: -0 }], [-0, { x: 0 }]],
    [new Float32Array([0, NaN, 1]), new Float32Array([-0, NaN, 1])],
    [new Float16Array([-0]), new Float16Array([0])],
    [new Map([["a", [-0]]]), new Map([["a", [0]]])],
    [new Set([1, 2]), new Set([2, 1])],
    [new BigInt64Array([1n]), new BigInt64Array([1n])],
    [circle(-0), circle(0)],
    [/a/g, /a/g],
    [new Date(5), new Date(5)],
  ];
  for (const [a, b] of same) std.assert(equal(a, b), Deno.inspect([a, b]));
  const different: [unknown, unknown][] = [
    [1, 2],
    [1, 1n],
    [1, "1"],
    [[1], [1, 2]],
    [{ x: undefined }, {}],
    [new A(), { x: 1 }],
    [new Float32Array([1]), new Float64Array([1])],
    [new Float32Array([1, 2]), new Float32Array([1, 3])],
    [new Map([["a", 1]]), new Map([["b", 1]])],
    [new Set([1]), new Set([2])],
    [circle(1), circle(2)],
    [/a/g, /a/],
    [null, undefined],
    [[1, 2], { 0: 1, 1: 2 }],
  ];
  for (const [a, b] of different) std.assertFalse(equal(a, b), Deno.inspect([a, b]));
});

Deno.test("std/assert: a failed comparison shows the lines that differ, and the message", () => {
  const text = failure(() => std.assertEquals({ a: 1, b: [1, 2] }, { a: 1, b: [1, 3] }, "note"));
  std.assertMatch(text, /^note\n/);
  std.assertMatch(text, /^\+ +2$/m);
  std.assertMatch(text, /^- +3$/m);
  std.assertStringIncludes(failure(() => std.assertStrictEquals(0, -0)), "-0");
});

Deno.test("std/assert: each assertion passes and fails where it should", async () => {
  const thrower = () => {
    throw new RangeError("too far");
  };
  const passes: (() => unknown)[] = [
    () => std.assert(1),
    () => std.assertFalse(0),
    () => std.assertNotEquals([1], [2]),
    () => std.assertStrictEquals(NaN, NaN),
    () => std.assertNotStrictEquals({}, {}),
    () => std.assertAlmostEquals(1, 1 + 1e-8),
    () => std.assertAlmostEquals(Infinity, Infinity),
    () => std.assertAlmostEquals(1, 1.4, 0.5),
    () => std.assertGreater(2, 1),
    () => std.assertGreaterOrEqual(2, 2),
    () => std.assertLess(1, 2),
    () => std.assertLessOrEqual(2, 2),
    () => std.assertExists(0),
    () => std.assertStringIncludes("abc", "bc"),
    () => std.assertArrayIncludes([{ a: 1 }, 2], [{ a: 1 }]),
    () => std.assertMatch("abc", /b/),
    () => std.assertNotMatch("abc", /d/),
    () => std.assertInstanceOf([], Array),
    () => std.assertNotInstanceOf({}, Array),
    () => std.assertIsError(new RangeError("too far"), RangeError, /far$/),
    () => std.assertThrows(thrower),
    () => std.assertThrows(thrower, RangeError, "far"),
  ];
  for (const pass of passes) pass();
  const fails: [() => unknown, RegExp][] = [
    [() => std.assert(0, "why"), /^why$/],
    [() => std.assertFalse(1, "why"), /^why$/],
    [() => std.assertNotEquals([0], [-0]), /both are \[ 0 \]/],
    [() => std.assertNotStrictEquals(1, 1), /not to be the same/],
    [() => std.assertAlmostEquals(1, 1.1), /delta 0\.1\d* is greater than 1\.1\d*e-7/],
    [() => std.assertAlmostEquals(NaN, 1, 5), /NaN/],
    [() => std.assertGreater(1, 1), /Expected 1 > 1/],
    [() => std.assertGreaterOrEqual(0, 1), /Expected 0 >= 1/],
    [() => std.assertLess(1, 1), /Expected 1 < 1/],
    [() => std.assertLessOrEqual(2, 1), /Expected 2 <= 1/],
    [() => std.assertExists(null), /null or undefined/],
    [() => std.assertStringIncludes("abc", "x", "why"), /'abc' to contain: 'x': why/],
    [() => std.assertArrayIncludes([1], [1, 2]), /to include: \[ 2 \]/],
    [() => std.assertMatch("abc", /x/), /to match: \/x\//],
    [() => std.assertNotMatch("abc", /b/), /to not match/],
    [() => std.assertInstanceOf({}, Array), /"Array" but was "Object"/],
    [() => std.assertNotInstanceOf([], Array), /"Array"/],
    [() => std.assertThrows(() => 1), /Expected function to throw/],
    [() => std.assertThrows(thrower, TypeError), /"TypeError", but was "RangeError"/],
    [() => std.assertThrows(thrower, RangeError, "near"), /include 'near', but got 'too far'/],
    [() => std.fail("why"), /Failed assertion: why/],
    [() => std.unreachable(), /Unreachable/],
    [() => std.unimplemented(), /Unimplemented/],
  ];
  for (const [fail, message] of fails) std.assertMatch(failure(fail), message);

  std.assertEquals(std.assertThrows(thrower, RangeError).message, "too far");
  const reject = () => Promise.reject(new RangeError("too far"));
  std.assertEquals((await std.assertRejects(reject, RangeError, "far")).message, "too far");
  await std.assertRejects(
    () => std.assertRejects(() => Promise.resolve()),
    AssertionError,
    "Expected function to reject",
  );
  await std.assertRejects(
    () => std.assertRejects(thrower),
    AssertionError,
    "the call itself threw",
  );
});
