// Views: that they share memory, and what they refuse.
import { assertEquals, assertThrows } from "jsr:@std/assert@1";
import {
  chunk,
  diagonal,
  expand,
  flatten,
  flip,
  moveaxis,
  permute,
  reshape,
  ShapeError,
  slice,
  split,
  type Tensor,
  tensor,
  unbind,
  unfold,
  ValueError,
  zeros,
} from "../mod.ts";

const matrix = (): Tensor => tensor([[1, 2, 3], [4, 5, 6]]);

Deno.test("views share the memory of what they view", async () => {
  const views: Record<string, (x: Tensor) => Tensor> = {
    reshape: (x) => reshape(x, [3, 2]),
    permute: (x) => permute(x, [1, 0]),
    slice: (x) => slice(x, { axes: [1], starts: [2], ends: [-4], steps: [-2] }),
    flip: (x) => flip(x, [0, 1]),
    expand: (x) => expand(x.unsqueeze(0), [4, -1, -1]),
    unfold: (x) => unfold(x, 1, { size: 2, step: 1 }),
    diagonal: (x) => diagonal(x, { offset: 1 }),
    split: (x) => split(x, [1, 2], 1)[1],
    unbind: (x) => unbind(x)[1],
  };
  for (const [name, view] of Object.entries(views)) {
    const x = matrix();
    const y = view(x);
    const before = await y.toArray();
    x.fill_(7);
    const after = (await y.data()).every((v) => v === 7);
    assertEquals([before === undefined, after], [false, true], name);
  }
});

Deno.test("a reshape that the strides cannot express is a copy", async () => {
  const x = matrix();
  const y = reshape(x.T, [6]);
  x.fill_(0);
  assertEquals(await y.toArray(), [1, 4, 2, 5, 3, 6]);
});

Deno.test("bounds of slices are cut off as Python does", async () => {
  const x = tensor([0, 1, 2, 3, 4]);
  const cut = async (start: number, end: number, step: number) =>
    await slice(x, { axes: [0], starts: [start], ends: [end], steps: [step] }).toArray();
  assertEquals(await cut(-100, 100, 1), [0, 1, 2, 3, 4]);
  assertEquals(await cut(100, -100, -2), [4, 2, 0]);
  assertEquals(await cut(3, 1, 1), []);
  assertEquals(await cut(-2, 100, 1), [3, 4]);
});

Deno.test("views say what does not fit", () => {
  const x = matrix();
  const refused: [() => unknown, new (m: string) => Error, string][] = [
    [
      () => reshape(x, [4, -1]),
      ShapeError,
      "Cannot reshape [2, 3] to [4, -1]: 6 elements do not divide by 4",
    ],
    [
      () => reshape(x, [5]),
      ShapeError,
      "Cannot reshape [2, 3] to [5]: element counts must match: got 6 and 5",
    ],
    [
      () => permute(x, [0]),
      ShapeError,
      "Cannot permute [2, 3] to axes [0]: every one of the 2 axes must be named once",
    ],
    [
      () => expand(x, [4, 3]),
      ShapeError,
      "Cannot expand [2, 3] to [4, 3]: only axes of size 1 stretch, counted from the last axis, and " +
      "none may vanish; unsqueeze or reshape first",
    ],
    [
      () => flatten(x, 1, 0),
      ShapeError,
      "Cannot flatten [2, 3] from axis 1 to axis 0: the first axis must not lie behind the last; " +
      "swap them",
    ],
    [
      () => moveaxis(x, [0, 1], 1),
      ShapeError,
      "Cannot moveaxis [0, 1] to [1]: the lists must be equally long: got 2 and 1",
    ],
    [
      () => slice(x, { axes: [0], starts: [0], ends: [2], steps: [0] }),
      ValueError,
      "Cannot slice with step 0: a step must go somewhere",
    ],
    [
      () => slice(x, { axes: [0, 1], starts: [0], ends: [2] }),
      ShapeError,
      "Cannot slice [2, 3]: axes, starts, ends and steps must be equally long: got 2, 1, 1 and 2",
    ],
    [
      () => unfold(x, 1, { size: 4, step: 1 }),
      ValueError,
      "Cannot unfold axis 1 of [2, 3] with size 4 and step 1: both must be whole numbers of at " +
      "least 1, and the size at most 3",
    ],
    [
      () => split(x, [1, 1], 1),
      ShapeError,
      "Cannot split axis 1 of [2, 3] into [1, 1]: the sizes must be whole numbers that add up to 3: " +
      "got 2",
    ],
    [
      () => chunk(x, 0),
      ShapeError,
      "Cannot chunk [2, 3] into 0 pieces: the number must be a whole number of at least 1",
    ],
    [
      () => zeros([3]).mT,
      ShapeError,
      "Cannot take mT of [3]: it must have at least 2 axes: got 1; unsqueeze it first",
    ],
  ];
  for (const [call, type, message] of refused) assertThrows(call, type, message);
});
