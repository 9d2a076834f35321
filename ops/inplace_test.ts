// In-place changes: versions and gradients, operands that are the target itself, what is refused.
import { assertEquals, assertThrows } from "jsr:@std/assert@1";
import { DTypeError, GradError, noGrad, ShapeError, tensor, zeros } from "../mod.ts";

Deno.test("changes show in the tensor, in its base and in its views", async () => {
  const x = zeros([2, 2]);
  const row = x.at(0);
  assertEquals(row.add_(1) === row, true);
  x.mul_(3);
  row.sub_(tensor([1, 2])).div_(2);
  assertEquals(await x.toArray(), [[1, 0.5], [0, 0]]);
  x.T.copy_(tensor([1, 2])).clip_(undefined, 1.5);
  assertEquals(await x.toArray(), [[1, 1], [1.5, 1.5]]);
});

Deno.test("the target may be its own operand, through another view too", async () => {
  const x = tensor([1, 2, 3]);
  x.mul_(x);
  assertEquals(await x.toArray(), [1, 4, 9]);
  x.add_(x.flip(0));
  assertEquals(await x.toArray(), [10, 8, 10]);
});

Deno.test("gradient rules read what was there before the change", async () => {
  const x = tensor([1, 2, 3], { requiresGrad: true });
  const y = x.mul(1);
  y.mul_(y);
  y.mul_(y.flip(0));
  // (x0 x2)², x1⁴, (x0 x2)²
  y.sum().backward();
  assertEquals(await x.grad!.toArray(), [36, 32, 12]);
});

Deno.test("a saved tensor that has changed is an error, never a wrong gradient", () => {
  const x = tensor([1, 2], { requiresGrad: true });
  const y = x.mul(2);
  const z = y.mul(y);
  y.add_(1);
  assertThrows(() => z.sum().backward(), GradError, "changed in place afterwards");
});

Deno.test("copy_ cuts off the old history and converts", async () => {
  const x = tensor([1, 2], { requiresGrad: true });
  const source = tensor([3, 4], { dtype: "float64", requiresGrad: true });
  const y = x.mul(2);
  y.copy_(source);
  y.sum().backward();
  assertEquals([await x.grad!.toArray(), await source.grad!.toArray()], [[0, 0], [1, 1]]);
  assertEquals(await tensor([1, 2], { dtype: "int32" }).copy_(tensor([1.9, -1.9])).toArray(), [
    1,
    -1,
  ]);
});

Deno.test("what would change shape, dtype or a leaf is refused", () => {
  assertThrows(
    () => zeros([3]).add_(zeros([2, 3])),
    ShapeError,
    "Cannot add in place on [3]: the result has shape [2, 3]",
  );
  assertThrows(
    () => tensor([1], { dtype: "int32" }).div_(2),
    DTypeError,
    "Cannot div in place on int32: the result is float32",
  );
  const x = tensor([1], { requiresGrad: true });
  assertThrows(() => x.zero_(), GradError, "Cannot copy in place on a leaf of shape [1]");
  noGrad(() => x.zero_());
});
