// Reductions where the generated tests do not look: messages, empty tensors, many elements, gradients at
// special points.
import { assertEquals, assertThrows } from "jsr:@std/assert@1";
import {
  argmax,
  DTypeError,
  full,
  logSumExp,
  max,
  maxWithIndex,
  mean,
  min,
  norm,
  prod,
  ShapeError,
  std,
  sum,
  type Tensor,
  tensor,
  ValueError,
  variance,
  zeros,
} from "../mod.ts";

const leaf = (values: number[] | number[][], dtype: "float32" | "float64" = "float64"): Tensor =>
  tensor(values, { dtype, requiresGrad: true });

async function gradient(x: Tensor, f: (x: Tensor) => Tensor): Promise<unknown> {
  f(x).sum().backward();
  return await x.grad!.toArray();
}

Deno.test("the extreme of nothing is refused, but not where there is nothing to give", () => {
  for (const [name, f] of Object.entries({ max, min, argmax })) {
    assertThrows(
      () => f(zeros([0, 3]), 0),
      ValueError,
      `Cannot ${name} [0, 3] over axes [0]: there is no ${name} of no elements; leave empty tensors ` +
        "out before the call",
    );
    assertEquals(f(zeros([0, 3]), 1).shape, [0]);
  }
  assertThrows(() => maxWithIndex(zeros([2, 0]), 1), ValueError, "no maxWithIndex of no elements");
});

Deno.test("axes are checked", () => {
  assertThrows(
    () => sum(zeros([2, 3]), 2),
    ShapeError,
    "Cannot sum over axis 2: a tensor of rank 2 has axes -2 to 1",
  );
  assertThrows(
    () => mean(zeros([2, 3]), [1, -1]),
    ShapeError,
    "Cannot mean over axes [1, -1]: axis 1 is named twice",
  );
});

Deno.test("sums take a dtype, but not bool", async () => {
  const x = tensor([200, 100], { dtype: "uint8" });
  assertEquals([sum(x).dtype, await sum(x).item()], ["int64", 300]);
  assertEquals(sum(x, 0, { dtype: "float64" }).dtype, "float64");
  assertThrows(
    () => prod(x, 0, { dtype: "bool" }),
    DTypeError,
    "Cannot prod in bool: bools do not add up; use any() or all()",
  );
});

Deno.test("half floats add up in float32 and are rounded once", async () => {
  const x = full([4096], 0.25, { dtype: "float16" });
  assertEquals([sum(x).dtype, await sum(x).item()], ["float16", 1024]);
});

Deno.test("variance does not lose its digits to a large mean or to many elements", async () => {
  const values = new Float64Array(100_000).map((_, i) => 1e6 + (i % 2));
  assertEquals(await variance(tensor(values), undefined, { unbiased: false }).item(), 0.25);
  const many = full([3_000_000], 1000).add(tensor([0, 1, 2]).tile(1_000_000));
  const v = await variance(many, undefined, { unbiased: false }).item() as number;
  assertEquals(Math.abs(v - 2 / 3) < 1e-6, true, `variance is ${v}`);
});

Deno.test("gradients where the plain formula would divide by zero", async () => {
  assertEquals(await gradient(leaf([2, 2, 2]), (x) => std(x)), [0, 0, 0]);
  assertEquals(await gradient(leaf([0, 0]), (x) => norm(x)), [0, 0]);
  assertEquals(await gradient(leaf([0, 0]), (x) => norm(x, { p: 3 })), [0, 0]);
  assertEquals(await gradient(leaf([0, 3]), (x) => norm(x, { p: 0 })), [0, 0]);
  assertEquals(await gradient(leaf([0, 2, 3]), (x) => prod(x)), [6, 0, 0]);
  assertEquals(await gradient(leaf([0, 0, 3]), (x) => prod(x)), [0, 0, 0]);
  assertEquals(await gradient(leaf([-Infinity, -Infinity]), (x) => logSumExp(x)), [0, 0]);
  assertEquals(await gradient(leaf([-Infinity, 0]), (x) => logSumExp(x)), [0, 1]);
});

Deno.test("ties share the gradient of max, and give all of it to the first for maxWithIndex", async () => {
  const values = [[1, 3, 3], [2, 2, 2]];
  const third = 1 / 3;
  assertEquals(await gradient(leaf(values), (x) => max(x, 1)), [
    [0, 0.5, 0.5],
    [third, third, third],
  ]);
  assertEquals(await gradient(leaf(values), (x) => maxWithIndex(x, 1)[0]), [[0, 1, 0], [1, 0, 0]]);
});

Deno.test("positions in a transposed tensor are those of the view", async () => {
  const x = tensor([[1, 9], [3, 4], [5, 6]]).T;
  assertEquals(await argmax(x).item(), 3);
  assertEquals(await argmax(x, 0).toArray(), [1, 1, 1]);
});
