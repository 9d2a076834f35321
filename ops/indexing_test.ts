// Indexing by items: text, places of axes, what is refused, and writing through views. Random indexes are
// tried in tests/views_property_test.ts.
import { assertEquals, assertInstanceOf, assertThrows } from "jsr:@std/assert@1";
import {
  DTypeError,
  gather,
  GradError,
  indexAdd,
  IndexError,
  type IndexItem,
  maskedFill,
  noGrad,
  oneHot,
  putAlongAxis,
  scatter,
  ShapeError,
  takeAlongAxis,
  type Tensor,
  tensor,
  ValueError,
  zeros,
} from "../mod.ts";

const ints = (
  values: number[] | number[][],
  dtype: "int32" | "int64" | "uint8" = "int32",
): Tensor => tensor(values, { dtype });
const cube = (): Tensor => tensor(new Float32Array(24).map((_, i) => i)).reshape([2, 3, 4]);

Deno.test("text items, with blanks and several to a text", async () => {
  const x = cube();
  const cases: [IndexItem[], unknown][] = [
    [["1, 2, 3"], 23],
    [[" -1 ", "::2", "1:3"], [[13, 14], [21, 22]]],
    [["..., 0"], [[0, 4, 8], [12, 16, 20]]],
    [["0, null, 1"], [[4, 5, 6, 7]]],
    [[":, 1", "::-3"], [[7, 4], [19, 16]]],
  ];
  for (const [items, expected] of cases) {
    assertEquals(await (await x.at(...items)).toArray(), expected as never, JSON.stringify(items));
  }
});

Deno.test("axes of indexes stand in their place, or in front when something is between them", () => {
  const x = zeros([2, 3, 4, 5]);
  const shape = (...items: IndexItem[]): readonly number[] => (x.at(...items) as Tensor).shape;
  assertEquals(shape(":", [0, 1, 1], [0, 1, 2]), [2, 3, 5]);
  assertEquals(shape([0, 1, 1], ":", [0, 1, 2]), [3, 3, 5]);
  assertEquals(shape(":", 0, [[0, 1, 2]]), [2, 1, 3, 5]);
  assertEquals(shape(0, ":", [0, 1, 2]), [3, 3, 5]);
  assertEquals(shape(":", [0], "...", [1]), [1, 2, 4]);
  assertEquals(shape([0, 1], null, [0, 1]), [2, 1, 4, 5]);
  assertEquals(shape([0, 1], [0, 1], null), [2, 1, 4, 5]);
  assertEquals(shape(ints([0, 1], "uint8"), "...", 0), [2, 3, 4]);
});

Deno.test("booleans in an array name positions", async () => {
  assertEquals(await tensor([1, 2, 3]).at([true, false, true]).toArray(), [1, 3]);
  assertThrows(
    () => tensor([1, 2, 3]).at([true, false]),
    ShapeError,
    "Cannot index axis 0 of [3] with 2 booleans: there must be 3 of them in one list",
  );
});

Deno.test("a mask gives a promise, alone and among other items", async () => {
  const x = cube();
  const mask = tensor([[true, false, false], [false, true, true]]);
  const rows = x.at(mask);
  assertInstanceOf(rows, Promise);
  assertEquals((await rows).shape, [3, 4]);
  assertEquals(await (await x.at(mask, 0)).toArray(), [0, 16, 20]);
  assertEquals((await x.at(":", tensor([true, false, true]), [0, 1])).shape, [2, 2]);
  assertThrows(
    () => x.at(tensor([true, false, true])),
    ShapeError,
    "Cannot index [2, 3, 4] with a mask of shape [3] at axis 0",
  );
});

Deno.test("indexes that do not fit are refused at the call", () => {
  const x = cube();
  const refused: [() => unknown, new (m: string) => Error, string][] = [
    [
      () => x.at(2),
      IndexError,
      "Cannot index axis 0 of [2, 3, 4] at 2: indexes must lie in -2 to 1",
    ],
    [
      () => x.at("...", -5),
      IndexError,
      "Cannot index axis 2 of [2, 3, 4] at -5: indexes must lie in -4 to 3",
    ],
    [
      () => x.at(0, [0, 3]),
      IndexError,
      "Cannot index axis 1 of [2, 3, 4] at index 3: indexes must lie in -3 to 2 for size 3",
    ],
    [() => x.at(0, 0, 0, 0), IndexError, "Cannot index [2, 3, 4] with items for 4 axes: it has 3"],
    [() => x.at("...", "..."), IndexError, 'Cannot index with "..." twice'],
    [() => x.at("1:2:3:4"), IndexError, 'Cannot index with "1:2:3:4": write integers'],
    [() => x.at("a"), IndexError, 'Cannot index with "a": write integers'],
    [() => x.at(0.5), IndexError, "Cannot index with 0.5: an index must be a whole number"],
    [() => x.at("::0"), ValueError, "Cannot slice with step 0"],
    [
      () => x.at([0, 1], [0, 1, 2]),
      ShapeError,
      "Cannot index [2] with [3]: sizes must be equal or 1",
    ],
    [
      () => x.at(tensor([0.5])),
      DTypeError,
      "with a float32 index: an index must be an integer tensor",
    ],
    [
      () => gather(x, ints([0, 2])),
      IndexError,
      "Cannot gather at index 2: indexes must lie in -2 to 1 for size 2",
    ],
    [
      () => gather(zeros([0, 2]), ints([0])),
      IndexError,
      "Cannot gather at index 0: the indexed axis has size 0, so there is nothing to index",
    ],
    [
      () => oneHot(ints([3]), 3),
      IndexError,
      "Cannot oneHot at index 3: indexes must lie in 0 to 2 for size 3",
    ],
    [() => oneHot(ints([-1]), 3), IndexError, "Cannot oneHot at index -1"],
    [() => oneHot(ints([0]), 0), ValueError, "Cannot oneHot with 0 classes"],
    [
      () => takeAlongAxis(zeros([2, 3]), ints([0]), 1),
      ShapeError,
      "Cannot takeAlongAxis [2, 3] with an index of shape [1] along axis 1: ranks must be equal",
    ],
    [
      () => putAlongAxis(zeros([2, 3]), ints([[3]]), 1, 1),
      IndexError,
      "Cannot putAlongAxis at index 3: indexes must lie in -3 to 2 for size 3",
    ],
    [
      () => indexAdd(zeros([3]), ints([0, 1]), 0, tensor([1, 2, 3])),
      ShapeError,
      "Cannot indexAdd values of shape [3] at [2]: the values must broadcast to that shape",
    ],
    [
      () => scatter(zeros([3]), ints([[0]]), 1),
      ShapeError,
      "Cannot scatter [3] with an index of shape [1, 1]: the index must have rank 1: got rank 2",
    ],
    [
      () => maskedFill(zeros([3]), ints([0, 1, 0]), 1),
      DTypeError,
      "Cannot maskedFill with a int32 mask: the mask must be bool; compare with notEqual(0), or cast it",
    ],
  ];
  for (const [call, type, message] of refused) assertThrows(call, type, message);
});

Deno.test("negative positions count from the end everywhere", async () => {
  const x = tensor([1, 2, 3]);
  const last = ints([-1], "int64");
  assertEquals(await gather(x, last).toArray(), [3]);
  assertEquals(await takeAlongAxis(x, last, 0).toArray(), [3]);
  assertEquals(await putAlongAxis(x, last, 9, 0).toArray(), [1, 2, 9]);
  assertEquals(await indexAdd(x, last, 0, 1).toArray(), [1, 2, 4]);
  assertEquals(await scatter(x, last, 7).toArray(), [1, 2, 7]);
});

Deno.test("an index of any rank gathers, and its gradient adds up in one order", async () => {
  const weight = tensor([[1, 2], [3, 4]], { requiresGrad: true });
  const ids = ints([[0, 1, 0], [1, 1, 1]]);
  const rows = gather(weight, ids);
  assertEquals(rows.shape, [2, 3, 2]);
  rows.sum().backward();
  assertEquals(await weight.grad!.toArray(), [[2, 2], [4, 4]]);
});

Deno.test("setAt writes through to the base of a view, and to other views", async () => {
  const x = zeros([2, 3]);
  const column = x.at(":", 1);
  column.setAt(0, 5);
  x.setAt([1, "::2"], tensor([7, 8]));
  assertEquals(await x.toArray(), [[0, 5, 0], [7, 0, 8]]);
  x.T.setAt([[0, 2], 0], -1);
  assertEquals(await x.toArray(), [[-1, 5, -1], [7, 0, 8]]);
  assertEquals(await column.toArray(), [5, 0]);
});

Deno.test("setAt with masks: one value, a row, or one value for each place", async () => {
  const mask = tensor([true, false, true]);
  const x = zeros([3, 2]);
  x.setAt(mask, 1);
  x.setAt(mask, tensor([2, 3]));
  assertEquals(await x.toArray(), [[2, 3], [0, 0], [2, 3]]);
  x.setAt(mask, tensor([[4, 5], [6, 7]]));
  assertEquals(await x.toArray(), [[4, 5], [0, 0], [6, 7]]);
  x.setAt([mask, 0], tensor([8, 9]));
  assertEquals(await x.toArray(), [[8, 5], [0, 0], [9, 7]]);
});

Deno.test("setAt refuses what the tensor cannot hold", () => {
  const x = ints([1, 2, 3]);
  assertThrows(
    () => x.setAt(0, 0.5),
    DTypeError,
    "Cannot setAt the number 0.5 in a int32 tensor: it is not a int32; round it, or cast the tensor " +
      "first",
  );
  assertThrows(
    () => x.setAt(0, tensor(0.5)),
    DTypeError,
    "Cannot setAt float32 values in a int32 tensor: they would lose what int32 cannot hold; cast one " +
      "of them first",
  );
  assertThrows(
    () => x.setAt("1:", ints([1, 2, 3])),
    ShapeError,
    "Cannot setAt values of shape [3] at [2]: the values must broadcast to that shape; reshape or " +
      "expand them",
  );
  assertThrows(() => x.setAt(3, 1), IndexError, "Cannot index axis 0 of [3] at 3");
});

Deno.test("setAt on a leaf that requires grad needs noGrad", async () => {
  const x = tensor([1, 2], { requiresGrad: true });
  assertThrows(() => x.setAt(0, 5), GradError, "Cannot setAt in place on a leaf of shape [2]");
  noGrad(() => x.setAt(0, 5));
  assertEquals(await x.toArray(), [5, 2]);
});

Deno.test("gradients pass a chain of writes", async () => {
  const a = tensor([1, 2, 3], { requiresGrad: true });
  const b = tensor([10, 20], { requiresGrad: true });
  const x = a.mul(2);
  x.setAt("1:", b.mul(b));
  x.setAt([[0]], x.at("2:"));
  x.sum().backward();
  assertEquals(await x.toArray(), [400, 100, 400]);
  assertEquals([await a.grad!.toArray(), await b.grad!.toArray()], [[0, 0, 0], [20, 80]]);
});

Deno.test("half floats scatter in float32 and are rounded once", async () => {
  const x = zeros([2], { dtype: "float16" });
  const many = ints(new Array<number>(3000).fill(1));
  const y = indexAdd(x, many, 0, tensor(new Float32Array(3000).fill(1)).cast("float16"));
  assertEquals(await y.toArray(), [0, 3000]);
});
