/**
 * Shapes without elements, with more axes than anyone needs, and longer than 32 bits count: right, or refused
 * before anything is allocated. Deliberately not here: the same shapes with every dtype (`every_dtype_test.ts`).
 *
 * @module
 */

import { assertEquals, assertThrows } from "jsr:@std/assert@1";
import * as plesio from "../mod.ts";
import {
  DisposedError,
  MemoryError,
  ones,
  type PlesioError,
  ShapeError,
  tensor,
  ValueError,
  zeros,
} from "../mod.ts";

type ErrorClass = new (message: string) => PlesioError;

/** One byte that looks like so many. */
const long = (...shape: number[]) => ones([1], { dtype: "int8" }).expand(shape);

Deno.test("positions that int32 cannot count are refused, not wrapped", () => {
  const x = long(2 ** 31 + 1);
  const index = tensor([2n ** 31n], { dtype: "int64" });
  const calls: readonly (() => unknown)[] = [
    () => plesio.argmax(x),
    () => plesio.argmin(long(2 ** 16, 2 ** 16)),
    () => plesio.maxWithIndex(x, 0),
    () => plesio.sort(x),
    () => plesio.topk(x, 1),
    () => plesio.searchSorted(x, tensor([1])),
    () => plesio.gather(x, index),
    () => plesio.takeAlongAxis(x, index, 0),
    () => x.at(index),
  ];
  for (const call of calls) assertThrows(call, ShapeError, "positions are int32");
});

Deno.test("what needs no positions takes billions of elements", () => {
  const x = long(2 ** 16, 2 ** 16 + 1);
  assertEquals(x.at(-1, -1).itemSync(), 1);
  assertEquals(x.permute([1, 0]).at(":3", ":2").sum().itemSync(), 6);
  assertEquals(plesio.argmax(x.at(":5"), 1).toArraySync(), [0, 0, 0, 0, 0]);
  assertEquals(x.at("::30000", "::30000").sum(1).toArraySync(), [3, 3, 3]);
});

Deno.test("what cannot be held is refused at once, by shape or by bytes", () => {
  const calls: readonly (readonly [() => unknown, ErrorClass, string])[] = [
    [() => zeros([2 ** 30, 2 ** 30]), ShapeError, "more than 2^53 elements"],
    [() => zeros([0, 2 ** 30, 2 ** 30]), ShapeError, "more than 2^53 elements"],
    [() => zeros([0]).reshape([2 ** 40, 0, 2 ** 40]), ShapeError, "more than 2^53 elements"],
    [() => ones([1, 1]).expand([2 ** 30, 2 ** 30]), ShapeError, "more than 2^53 elements"],
    [() => zeros([-1]), ShapeError, "whole numbers of at least 0"],
    [() => zeros([1.5]), ShapeError, "whole numbers of at least 0"],
    [() => zeros([2500, 1000, 1000]), MemoryError, "Cannot allocate 9536.7 MiB"],
    [() => plesio.empty([2500, 1000, 1000]), MemoryError, "Cannot allocate 9536.7 MiB"],
    [() => plesio.arange(1e10), ShapeError, "positions are int32"],
    [() => plesio.eye(1e6), MemoryError, "Cannot allocate"],
    [() => ones([1]).expand([2 ** 31]).clone(), MemoryError, "Cannot allocate 8192.0 MiB"],
    [() => ones([1000]).tile(1e9), MemoryError, "Cannot allocate"],
    [() => plesio.outer(ones([1e5]), ones([1e5])), MemoryError, "Cannot allocate"],
  ];
  const before = plesio.memory.stats();
  for (const [call, error, text] of calls) assertThrows(call, error, text);
  assertEquals(plesio.memory.stats().live - before.live < 1e6, true);
});

Deno.test("forty axes, and twenty that are permuted", () => {
  let x = ones([1]);
  for (let i = 0; i < 40; i++) x = x.unsqueeze(i % 2);
  assertEquals([x.add(1).sum().itemSync(), x.rank], [2, 41]);

  const shape = new Array<number>(14).fill(2);
  const turned = shape.map((_, i) => (i * 5 + 3) % 14);
  const y = plesio.arange(2 ** 14, undefined, { dtype: "float64" }).reshape(shape);
  const odd = shape.map((_, i) => i).filter((i) => i % 2 === 1);
  const z = y.permute(turned).add(y).sum(odd);
  assertEquals([z.rank, z.sum().itemSync()], [7, 2 ** 14 * (2 ** 14 - 1)]);
});

Deno.test("sums over very long axes and over very many", () => {
  const n = 2 ** 22;
  const x = plesio.full([n], 0.1);
  const exact = n * Math.fround(0.1);
  assertEquals(Math.abs(Number(x.sum().itemSync()) - exact) < 2e-6 * exact, true);
  const rows = x.reshape([n / 2, 2]).sum(1);
  assertEquals([rows.at(0).itemSync(), rows.at(-1).itemSync()], [
    Math.fround(2 * Math.fround(0.1)),
    Math.fround(2 * Math.fround(0.1)),
  ]);
});

Deno.test("a shape cannot be turned over from outside, nor by the array it was made from", () => {
  const shape = [2, 3];
  const x = zeros(shape);
  shape.reverse();
  const y = x.add(1);
  for (const t of [x, y, x.permute([1, 0]), y.sum(0), x.reshape([6])]) {
    assertThrows(() => (t.shape as number[]).push(1), TypeError);
    assertThrows(() => (t.shape as number[])[0] = 99, TypeError);
  }
  assertEquals([x.shape, y.sum(0).toArraySync()], [[2, 3], [2, 2, 2]]);
});

Deno.test("a tensor is not written as JSON by accident", () => {
  assertThrows(
    () => JSON.stringify({ loss: tensor([1]) }),
    ValueError,
    "Cannot write float32 [1] as JSON: read it first, with await x.toArray() or await x.item()",
  );
});

Deno.test("views of nothing are read as nothing, wherever they begin", async () => {
  for (const place of ["cpu", "ref"]) {
    const x = zeros([0, 3], { place });
    for (const y of [plesio.flip(x, 1), x.at(":", 2), plesio.flip(x.permute([1, 0]), 0)]) {
      assertEquals([y.numel, y.dataSync().length, (await y.data()).length], [0, 0, 0]);
      assertEquals(y.add(1).shape, y.shape);
    }
    x.requiresGrad = true;
    plesio.cumsum(x, 1).mul(2).sum().backward();
    assertEquals([x.grad!.shape, x.grad!.toArraySync()], [[0, 3], []]);
    x.dispose();
    assertThrows(() => x.dataSync(), DisposedError);
  }
});
