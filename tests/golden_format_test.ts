import { assertEquals, assertStringIncludes, assertThrows } from "jsr:@std/assert@1";
import {
  type Comparison,
  differenceOf,
  GoldenFormatError,
  parseFamily,
  parseInput,
  parseTensor,
  resolveArgument,
  toNested,
} from "./golden_format.ts";

function encode(head: string, data: ArrayBufferView): string {
  const bytes = new Uint8Array(data.buffer);
  return `${head}:${btoa(String.fromCharCode(...bytes))}`;
}

const strict: Comparison = { tolerance: { rtol: 0, atol: 0 }, elementwise: true };

Deno.test("golden format: tensors of every dtype survive, special values too", () => {
  const values = [0, -0, NaN, Infinity, -Infinity, 1.5];
  const f32 = parseTensor(encode("float32[2,3]", new Float32Array(values)));
  assertEquals(f32.shape, [2, 3]);
  values.forEach((v, i) => assertEquals(Object.is(f32.data[i], v), true));
  const f64 = parseTensor(encode("float64[]", new Float64Array([0.1])));
  assertEquals([f64.shape, f64.data], [[], new Float64Array([0.1])]);
  const i64 = parseTensor(encode("int64[1]", new BigInt64Array([2n ** 53n + 1n])));
  assertEquals(i64.data[0], 9007199254740993n);
  assertEquals(parseTensor("bool[2]:AAE=").data, new Uint8Array([0, 1]));
  assertEquals(parseTensor("int32[0,3]:").shape, [0, 3]);
});

Deno.test("golden format: malformed tensors are refused", () => {
  assertThrows(() => parseTensor("float16[1]:AAA="), GoldenFormatError, "dtype[sizes]:base64");
  const message = assertThrows(() => parseTensor("int32[2]:AAAAAA=="), GoldenFormatError);
  assertStringIncludes((message as Error).message, "needs 8 bytes, got 4");
});

Deno.test("golden format: a family is a header and as many cases as it says", () => {
  const head = { family: "f", format: 1, source: "PyTorch", cases: 1 };
  const line = { fn: "exp", name: "x", args: [], in: [], out: [] };
  const family = parseFamily(`${JSON.stringify(head)}\n${JSON.stringify(line)}\n`);
  assertEquals(family.family, "f");
  assertEquals(family.cases[0].fn, "exp");
  assertThrows(() => parseFamily(JSON.stringify(head)), GoldenFormatError, "says 1 cases");
  const next = JSON.stringify({ ...head, format: 2 });
  assertThrows(() => parseFamily(next), GoldenFormatError, "format 2");
});

Deno.test("golden format: inputs may be views", () => {
  const { base, views } = parseInput(["bool[1,2]:AAE=", ["permute", [1, 0]]]);
  assertEquals(base.shape, [1, 2]);
  assertEquals(views, [["permute", [1, 0]]]);
  assertEquals(parseInput("bool[1]:AA==").views, []);
});

Deno.test("golden format: arguments refer to tensors and to numbers beyond JSON", () => {
  const resolved = resolveArgument(
    [{ t: 1 }, [{ t: 0 }, 2], { axis: [0, 1], p: { n: "-Infinity" }, w: { t: 0 } }, null],
    ["a", "b"],
  );
  assertEquals(resolved, ["b", ["a", 2], { axis: [0, 1], p: -Infinity, w: "a" }, null]);
  assertEquals(resolveArgument({ n: "undefined" }, []), undefined);
  assertEquals(Object.is(resolveArgument({ n: "-0" }, []), -0), true);
  assertThrows(() => resolveArgument({ t: 2 }, ["a"]), GoldenFormatError, "Cannot find input 2");
});

Deno.test("golden format: nested arrays", () => {
  assertEquals(toNested(parseTensor(encode("int32[2,2]", new Int32Array([1, 2, 3, 4])))), [
    [1, 2],
    [3, 4],
  ]);
  assertEquals(toNested(parseTensor("bool[2]:AAE=")), [false, true]);
  assertEquals(toNested(parseTensor(encode("float32[]", new Float32Array([2])))), 2);
});

Deno.test("golden format: differences name what differs and where", () => {
  const want = parseTensor(encode("float32[2,2]", new Float32Array([1, 2, 3, NaN])));
  const data = Float32Array.from([1, 2, 3, NaN]);
  const got = { dtype: "float32", shape: [2, 2], data };
  assertEquals(differenceOf(got, want, strict), null);
  const say = (change: object) => differenceOf({ ...got, ...change }, want, strict);
  assertEquals(say({ dtype: "float64" }), "dtype: got float64, expected float32");
  assertEquals(say({ shape: [4] }), "shape: got [4], expected [2,2]");
  assertEquals(say({ data: [1, 2, 3] }), "data: got 3 elements, expected 4");
  assertEquals(
    say({ data: [1, 2, 4, NaN] }),
    "at [1, 0]: got 4, expected 3 (allowed 0.0e+0)",
  );
  assertEquals(say({ data: [1, 2, 3, 0] }), "at [1, 1]: got 0, expected NaN (allowed NaN)");
  const scalar = parseTensor(encode("int32[]", new Int32Array([1])));
  const empty = differenceOf({ dtype: "int32", shape: [1], data: [1] }, scalar, strict);
  assertEquals(empty, "shape: got [1], expected []");
});

Deno.test("golden format: tolerance is relative to the value and to the scale of the tensor", () => {
  const want = parseTensor(encode("float64[3]", new Float64Array([100, 0, Infinity])));
  const shown = (data: number[]) => ({ dtype: "float64", shape: [3], data });
  const near = (data: number[], elementwise: boolean, rtol: number, atol: number) =>
    differenceOf(shown(data), want, { tolerance: { rtol, atol }, elementwise }) === null;
  assertEquals(near([100.0009, 0, Infinity], true, 1e-5, 0), true);
  assertEquals(near([100.0011, 0, Infinity], true, 1e-5, 0), false);
  assertEquals(near([100, 0.9e-6, Infinity], true, 0, 1e-6), true);
  assertEquals(near([100, 1.1e-6, Infinity], true, 0, 1e-6), false);
  assertEquals(near([100, 0.9e-4, Infinity], false, 0, 1e-6), true);
  assertEquals(near([100, 1.1e-4, Infinity], false, 0, 1e-6), false);
  assertEquals(near([100, 0, -Infinity], false, 1, 1), false);
  assertEquals(near([100, NaN, Infinity], false, 1, 1), false);
});

Deno.test("golden format: the sign of zero counts where asked", () => {
  const want = parseTensor(encode("float32[2]", new Float32Array([0, -0])));
  const got = { dtype: "float32", shape: [2], data: [0, 0] };
  assertEquals(differenceOf(got, want, strict), null);
  assertEquals(
    differenceOf(got, want, { ...strict, zeroSign: true }),
    "at [1]: got 0, expected -0 (allowed 0.0e+0)",
  );
});

Deno.test("golden format: integers are exact whatever the tolerance", () => {
  const how = { tolerance: { rtol: 1, atol: 1 }, elementwise: false };
  const i64 = parseTensor(encode("int64[1]", new BigInt64Array([2n ** 53n + 1n])));
  const shown = (data: (number | bigint)[]) => ({ dtype: "int64", shape: [1], data });
  assertEquals(differenceOf(shown([2n ** 53n + 1n]), i64, how), null);
  assertEquals(
    differenceOf(shown([2n ** 53n]), i64, how),
    "at [0]: got 9007199254740992, expected 9007199254740993",
  );
  assertEquals(
    differenceOf(shown([9007199254740993]), i64, how)?.startsWith("at [0]"),
    true,
  );
});
