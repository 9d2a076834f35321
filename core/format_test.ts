import { assert, assertEquals, assertLess, assertStringIncludes } from "jsr:@std/assert@1";
import "./engine/mod.ts";
import "../ops/mod.ts";
import { setRequiresGrad } from "./autograd.ts";
import { type DataArray, type DType, DTYPES } from "./dtype.ts";
import { composite, engine } from "./op.ts";
import { Place } from "./place.ts";
import { op } from "./slots.ts";
import { storageStats } from "./storage.ts";
import type { Tensor } from "./tensor.ts";
import type { Shape } from "./shape.ts";

interface PrintCase {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: Shape;
  readonly data: string;
  readonly text: string;
}

function make(dtype: DType, shape: Shape, bytes: Uint8Array, place = "cpu"): Tensor {
  const data = new DTYPES[dtype].array(bytes.slice().buffer) as DataArray;
  return engine.fromData(data, shape, dtype, Place.of(place));
}

/** The text of the values alone. */
function bodyOf(x: Tensor): string {
  const text = String(x);
  const at = text.lastIndexOf("shape: ");
  assert(text.startsWith("Tensor(") && text.endsWith(")") && at > 0, text);
  return text.slice("Tensor(".length, at).replace(/,\s+$/, "");
}

Deno.test("values look as NumPy prints them", async (t) => {
  const url = new URL("../tests/goldens/print.jsonl", import.meta.url);
  const lines = (await Deno.readTextFile(url)).trim().split("\n");
  assert(lines.length > 500);
  const families = new Map<string, PrintCase[]>();
  for (const line of lines) {
    const c: PrintCase = JSON.parse(line);
    if (!families.has(c.dtype)) families.set(c.dtype, []);
    families.get(c.dtype)!.push(c);
  }
  for (const [family, cases] of families) {
    await t.step(family, () => {
      for (const c of cases) {
        const bytes = Uint8Array.from(atob(c.data), (s) => s.charCodeAt(0));
        assertEquals(bodyOf(make(c.dtype, c.shape, bytes)), c.text, c.name);
      }
    });
  }
});

const float32 = (values: readonly number[], shape: Shape = [values.length]) =>
  engine.fromData(Float32Array.from(values), shape, "float32", undefined);

Deno.test("shape, dtype, place and requiresGrad follow the values", () => {
  const x = float32([1, 2.5, -3, 4], [2, 2]);
  const text = [
    "Tensor([[ 1. ,  2.5],",
    "        [-3. ,  4. ]],",
    "       shape: [2, 2], dtype: float32, place: cpu)",
  ];
  assertEquals(String(x), text.join("\n"));
  setRequiresGrad(x, true);
  assertStringIncludes(String(x), "place: cpu, requiresGrad: true)");
  assertEquals(Deno.inspect(x), String(x));
  assertEquals(
    String(float32([], [0, 3])),
    "Tensor([], shape: [0, 3], dtype: float32, place: cpu)",
  );
});

Deno.test("bfloat16 has the digits that it tells apart", () => {
  const bits = Uint16Array.of(0x3f80, 0x3eab, 0x4049, 0xc2f6);
  const x = engine.fromData(bits, [4], "bfloat16", undefined);
  assertEquals(bodyOf(x), "[   1.   ,    0.334,    3.14 , -123.   ]");
});

Deno.test("int64 is exact", () => {
  const x = engine.fromData(BigInt64Array.of(2n ** 63n - 1n, -5n), [2], "int64", undefined);
  assertEquals(bodyOf(x), "[9223372036854775807,                  -5]");
});

Deno.test("views print what they show", () => {
  const x = float32([0, 1, 2, 3, 4, 5], [2, 3]);
  assertEquals(bodyOf(op.transpose(x, 0, 1)), "[[0., 3.],\n        [1., 4.],\n        [2., 5.]]");
  assertEquals(
    bodyOf(op.flip(op.slice(x, { axes: [0], starts: [1], ends: [2] }), 1)),
    "[[5., 4., 3.]]",
  );
  assertEquals(
    bodyOf(op.expand(op.slice(x, { axes: [1], starts: [2], ends: [3] }), [2, 2])),
    "[[2., 2.],\n        [5., 5.]]",
  );
  const long = engine.fromData(
    Int16Array.from({ length: 2000 }, (_, i) => i),
    [2, 1000],
    "int16",
    undefined,
  );
  assertEquals(
    bodyOf(op.transpose(long, 0, 1)).replace(/\s+/g, " "),
    "[[ 0, 1000], [ 1, 1001], [ 2, 1002], ..., [ 997, 1997], [ 998, 1998], [ 999, 1999]]",
  );
});

Deno.test("a huge tensor is summarised from its ends, without reading or allocating", () => {
  const one = float32([7]);
  const huge = op.expand(one, [10_000, 10_000, 10_000]);
  const before = storageStats.live;
  const start = performance.now();
  assertEquals(bodyOf(huge).match(/\.\.\./g)!.length, 6 * 6 + 6 + 1);
  // A hundredth of a second is usual; reading 10^12 elements would take many minutes.
  assertLess(performance.now() - start, 10_000);
  assertEquals(storageStats.live, before);
});

/** What a notebook gets. */
const show = (x: Tensor): Record<string, string> =>
  (x as unknown as Record<symbol, () => Record<string, string>>)[Symbol.for("Jupyter.display")]();

Deno.test("what has no values says what it is", () => {
  const x = float32([1, 2]);
  x.dispose();
  assertEquals(String(x), "Tensor(disposed, shape: [2], dtype: float32, place: cpu)");
  let text = "";
  let html = "";
  const probe = composite({
    name: "probe",
    body: ([a]) => {
      text = String(a);
      html = show(a as Tensor)["text/html"];
      return (a as Tensor).neg();
    },
  });
  engine.call(probe, [float32([1, 2], [1, 2])]);
  assertEquals(text, "Tensor(traced, shape: [1, 2], dtype: float32, place: cpu)");
  assertEquals(html, `<pre>${text}</pre>`);
});

Deno.test("the reference place prints the same", () => {
  const bytes = new Uint8Array(Float32Array.of(1, 2.5).buffer);
  assertEquals(bodyOf(make("float32", [2], bytes, "ref")), "[1. , 2.5]");
});

Deno.test("a notebook shows a matrix as a table, others as text", () => {
  const matrix = show(float32([1, 2.5], [1, 2]));
  assertEquals(
    matrix["text/html"],
    '<table><tr><td style="text-align:right">1.</td><td style="text-align:right">2.5</td></tr></table>' +
      "<small>shape: [1, 2], dtype: float32, place: cpu</small>",
  );
  assertStringIncludes(matrix["text/plain"], "Tensor([[1. , 2.5]]");
  assertStringIncludes(show(float32([1]))["text/html"], "<pre>Tensor([1.],");
  assertStringIncludes(show(op.zeros([100, 100]))["text/html"], "...");
  assertStringIncludes(show(op.zeros([0, 2]))["text/html"], "<pre>Tensor([],");
});
