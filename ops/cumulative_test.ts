// Running folds where the generated tests do not look: scalars, long rows, gradients past zeros and -Inf.
import { assertEquals, assertThrows } from "jsr:@std/assert@1";
import { cummax, cumprod, cumsum, logCumSumExp, ones, ShapeError, tensor, zeros } from "../mod.ts";

Deno.test("a scalar is a row of one", async () => {
  assertEquals(await cumsum(tensor(3), 0).toArray(), 3);
  const [value, index] = cummax(tensor(3), -1);
  assertEquals([await value.toArray(), await index.toArray()], [3, 0]);
  assertThrows(() => cumsum(tensor(3), 1), ShapeError, "Cannot cumsum over axis 1");
  assertThrows(() => cumprod(zeros([2]), 1), ShapeError, "Cannot cumprod over axis 1");
});

Deno.test("a long running sum is exact where float32 is", async () => {
  const sums = await cumsum(ones([100_000]), 0).data();
  assertEquals([sums[0], sums[54_321], sums[99_999]], [1, 54_322, 100_000]);
});

Deno.test("the gradient of cumprod needs no division", async () => {
  const x = tensor([2, 0, 3, 0, 5], { dtype: "float64", requiresGrad: true });
  cumprod(x, 0).sum().backward();
  // 1 + x1 + x1 x2 + …, and so on: by hand.
  assertEquals(await x.grad!.toArray(), [1, 8, 0, 0, 0]);
});

Deno.test("the gradient of logCumSumExp is finite past -Infinity and for steep rows", async () => {
  const x = tensor([-Infinity, -Infinity, 0, 800, -800], { dtype: "float64", requiresGrad: true });
  logCumSumExp(x, 0).sum().backward();
  assertEquals(await x.grad!.toArray(), [0, 0, 1, 2, 0]);
});
