// Choices of which the costly side is skipped.
import { assertEquals } from "jsr:@std/assert@1";
import * as ex from "../../../../core/ir/expr.ts";
import type { Expr } from "../../../../core/ir/expr.ts";
import { makeKernel } from "../../../../core/ir/kernel.ts";
import { interpreted, readable, rendered } from "./harness_test.ts";
import { findChoices } from "./lazy.ts";

const x = ex.leaf("load", "float32", 0);

/** Something long to compute. */
function costly(from: Expr, seed = 1): Expr {
  let e = from;
  for (let i = 0; i < 25; i++) e = ex.add(ex.mul(e, 0.75), i + seed);
  return e;
}

function check(values: readonly Expr[]): void {
  const unit = { outer: "unit" as const, inner: "zero" as const };
  const kernel = makeKernel({
    outerRank: 1,
    innerRank: 0,
    inputs: [{ dtype: "float32", ...unit }],
    args: [],
    stages: [{ kind: "map", values }],
    outputs: values.map((e, value) => ({
      dtype: e.dtype === "float64" ? "float64" : e.dtype === "bool" ? "bool" : "float32",
      ...unit,
      stage: 0,
      value,
    })),
    index32: true,
  });
  const n = 45;
  for (
    const data of [
      Float32Array.from({ length: n }, (_, i) => i % 7 === 0 ? -i - 1 : i),
      Float32Array.from({ length: n }, (_, i) => i),
      Float32Array.from({ length: n }, (_, i) => -1 - i),
    ]
  ) {
    const outputs = kernel.outputs.map((o) =>
      o.dtype === "float64"
        ? new Float64Array(n)
        : o.dtype === "bool"
        ? new Uint8Array(n)
        : new Float32Array(n)
    );
    const arrays = [data, ...outputs];
    const each = arrays.map(() => [1]);
    const launch = { sizes: [n], strides: each, offsets: arrays.map(() => 0), args: [] };
    const got = readable(kernel, rendered(kernel, launch, arrays));
    assertEquals(got, readable(kernel, interpreted(kernel, launch, arrays)));
  }
}

const below = ex.lt(x, 0);

Deno.test("choices are found on either side, and only where they are worth it", () => {
  const yes = ex.where(below, costly(x), x);
  const no = ex.where(below, x, costly(x));
  assertEquals(findChoices([yes]).get(yes)?.side, 1);
  assertEquals(findChoices([no]).get(no)?.side, 2);
  const shared = costly(x);
  assertEquals(findChoices([ex.where(below, shared, x), shared]).size, 0);
  assertEquals(findChoices([ex.where(below, ex.sqrt(x), x)]).size, 0);
});

Deno.test("choices by one condition are made together", () => {
  const shared = costly(x);
  const a = ex.where(below, shared, x);
  const b = ex.where(below, ex.neg(shared), ex.add(x, 1));
  const found = findChoices([a, b]);
  assertEquals(found.get(a), found.get(b));
  check([a, b]);
});

Deno.test("choices give what is chosen, on either side", () => {
  check([ex.where(below, costly(x), x)]);
  check([ex.where(below, x, costly(x))]);
  check([ex.where(below, ex.lt(costly(x), 5), ex.eq(x, 3))]);
});

Deno.test("choices in 64-bit lanes", () => {
  const wide = ex.cast(x, "float64");
  check([ex.where(ex.lt(wide, 0), costly(wide), wide)]);
  check([ex.where(below, costly(wide), wide), ex.where(ex.lt(wide, 0), costly(x), x)]);
});

Deno.test("what a costly side shares with other values is there for both", () => {
  const root = ex.sqrt(ex.abs(x));
  check([ex.where(below, costly(root), x), ex.neg(root)]);
});

Deno.test("a choice inside of a choice by the same condition", () => {
  check([ex.where(below, costly(ex.where(below, costly(x, 3), ex.neg(x))), x)]);
});

Deno.test("a choice inside of a choice by another condition", () => {
  const inner = ex.where(ex.lt(x, -20), costly(ex.sqrt(ex.neg(x)), 3), ex.neg(x));
  check([ex.where(below, costly(inner), x)]);
});

Deno.test("choices by one condition in several stages are made where each stands", () => {
  const total = ex.leaf("result", "float32", 0, 0);
  const unit = { outer: "any" as const, inner: "unit" as const };
  const kernel = makeKernel({
    outerRank: 1,
    innerRank: 1,
    inputs: [{ dtype: "float32", ...unit }],
    args: [],
    stages: [
      {
        kind: "reduce",
        init: [ex.constant(0, "float32")],
        lift: [ex.where(below, ex.floor(costly(x)), ex.constant(1, "float32"))],
        combine: [ex.add(ex.leaf("left", "float32", 0), ex.leaf("right", "float32", 0))],
      },
      { kind: "map", values: [ex.where(below, costly(ex.add(x, total)), total)] },
    ],
    outputs: [{ dtype: "float32", ...unit, stage: 1, value: 0 }],
    index32: true,
  });
  const data = Float32Array.from({ length: 3 * 21 }, (_, i) => i % 5 - 1);
  const arrays = [data, new Float32Array(data.length)];
  const launch = { sizes: [3, 21], strides: [[21, 1], [21, 1]], offsets: [0, 0], args: [] };
  const got = readable(kernel, rendered(kernel, launch, arrays));
  assertEquals(got, readable(kernel, interpreted(kernel, launch, arrays)));
});
