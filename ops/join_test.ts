// Joining, repeating and padding: dtypes, sizes on both sides of a block copy, what is refused.
import { assertEquals, assertThrows } from "jsr:@std/assert@1";
import {
  concat,
  DTypeError,
  pad,
  repeatInterleave,
  roll,
  ShapeError,
  stack,
  tensor,
  tile,
  ValueError,
  zeros,
} from "../mod.ts";

Deno.test("concat copies short and long runs, dense and strided", async () => {
  for (const n of [1, 3, 23, 24, 100]) {
    const data = new Float32Array(2 * n).map((_, i) => i);
    const x = tensor(data).reshape([2, n]);
    const row = (i: number) => [...data.subarray(i * n, (i + 1) * n)];
    const joined = await concat([x, x.flip(1), x.T.reshape([2, n]).mul(0)], 1).toArray();
    const zero = new Array<number>(n).fill(0);
    assertEquals(joined, [0, 1].map((i) => [...row(i), ...row(i).reverse(), ...zero]));
  }
});

Deno.test("concat and stack promote dtypes and keep the bits of half floats", async () => {
  const mixed = concat([tensor([1], { dtype: "int32" }), tensor([2.5])]);
  assertEquals([mixed.dtype, await mixed.toArray()], ["float32", [1, 2.5]]);
  const half = stack([tensor([1.5], { dtype: "float16" }), tensor([-0], { dtype: "float16" })]);
  assertEquals([half.dtype, await half.toArray()], ["float16", [[1.5], [-0]]]);
  const big = concat([tensor([2n ** 60n]), tensor([1], { dtype: "int32" })]);
  assertEquals([...await big.data()], [2n ** 60n, 1n]);
});

Deno.test("joins say what does not fit", () => {
  assertThrows(
    () => concat([]),
    ValueError,
    "Cannot concat no tensors: the list must hold at least one",
  );
  assertThrows(
    () => concat([zeros([2, 3]), zeros([3, 2])]),
    ShapeError,
    "Cannot concat [2, 3], [3, 2] along axis 0: all sizes off that axis must be equal: got [2, 3] " +
      "and [3, 2]",
  );
  assertThrows(
    () => stack([zeros([2]), zeros([3])]),
    ShapeError,
    "Cannot stack [2], [3]: all shapes must be equal: got [2] and [3]; use concat for pieces of " +
      "different sizes",
  );
});

Deno.test("repeats", async () => {
  const x = tensor([[1, 2]]);
  assertEquals(await tile(x, 2).toArray(), [[1, 2, 1, 2]]);
  assertEquals(tile(x, [0, 1]).shape, [0, 2]);
  assertEquals(repeatInterleave(x, 0, 1).shape, [1, 0]);
  assertThrows(() => tile(x, -1), ValueError, "Cannot tile -1 times");
  assertThrows(() => repeatInterleave(x, 1.5), ValueError, "Cannot repeatInterleave 1.5 times");
  assertThrows(
    () => roll(x, [1], [0, 1]),
    ShapeError,
    "Cannot roll by [1] along axes [0, 1]: the lists must be equally long: got 1 and 2",
  );
  assertThrows(() => roll(x, 0.5), ValueError, "Cannot roll by 0.5");
});

Deno.test("padding takes what there is and refuses the rest", async () => {
  const x = tensor([1, 2, 3]);
  assertEquals(await pad(x, [[3, 0]], { mode: "circular" }).toArray(), [1, 2, 3, 1, 2, 3]);
  assertEquals(await pad(x, [[0, 2]], { mode: "reflect" }).toArray(), [1, 2, 3, 2, 1]);
  assertThrows(
    () => pad(x, [[3, 0]], { mode: "reflect" }),
    ShapeError,
    'Cannot pad axis 0 of [3] by 3 with mode "reflect": at most 2 elements are there to take; pad ' +
      "in steps, or with a constant",
  );
  assertThrows(() => pad(x, [[-1, 0]]), ValueError, "use slice to leave elements out");
  assertThrows(
    () => pad(x, [[1, 0], [0, 0]]),
    ShapeError,
    "Cannot pad [3]: there must be one [before, after] for each of the 1 axes: got [[1,0],[0,0]]",
  );
  assertThrows(
    () => pad(tensor([1], { dtype: "int32" }), [[1, 0]], { value: 0.5 }),
    DTypeError,
    "Cannot pad a int32 tensor with 0.5: it cannot hold that value; cast it first",
  );
});

Deno.test("the fill of a padding has a gradient when it is a tensor", async () => {
  const x = tensor([1, 2], { requiresGrad: true });
  const value = tensor(5, { requiresGrad: true });
  const y = pad(x, [[2, 1]], { value });
  assertEquals(await y.toArray(), [5, 5, 1, 2, 5]);
  y.mul(tensor([1, 10, 100, 1000, 10000])).sum().backward();
  assertEquals([await x.grad!.toArray(), await value.grad!.toArray()], [[100, 1000], 10011]);
});
