// Philox against the authors' known answers, and against a second writing of it in BigInt.

import { assertEquals, assertThrows } from "jsr:@std/assert@1";
import fc from "npm:fast-check@4";
import { IndexError } from "../errors.ts";
import { mulHigh, philox4x32, philoxWords } from "./philox.ts";

const u32 = fc.integer({ min: 0, max: 0xffffffff });

/** Philox 4x32-10, written from the paper with exact integers. */
function reference(counter: number[], key: number[]): number[] {
  let [r0, l0, r1, l1] = counter.map(BigInt);
  let [k0, k1] = key.map(BigInt);
  for (let round = 0; round < 10; round++) {
    const p0 = r0 * 0xd2511f53n;
    const p1 = r1 * 0xcd9e8d57n;
    [r0, l0, r1, l1] = [
      (p1 >> 32n) ^ l0 ^ k0,
      p1 & 0xffffffffn,
      (p0 >> 32n) ^ l1 ^ k1,
      p0 & 0xffffffffn,
    ];
    k0 = (k0 + 0x9e3779b9n) & 0xffffffffn;
    k1 = (k1 + 0xbb67ae85n) & 0xffffffffn;
  }
  return [r0, l0, r1, l1].map(Number);
}

Deno.test("philox4x32: known answers of Random123", () => {
  const out = new Uint32Array(4);
  philox4x32(0, 0, 0, 0, 0, 0, out);
  assertEquals([...out], [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
  const ones = 0xffffffff;
  philox4x32(ones, ones, ones, ones, ones, ones, out);
  assertEquals([...out], [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]);
  philox4x32(0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, out);
  assertEquals([...out], [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1]);
});

Deno.test("philox4x32: agrees with exact integers for any counter and key", () => {
  const out = new Uint32Array(4);
  fc.assert(
    fc.property(fc.tuple(u32, u32, u32, u32), fc.tuple(u32, u32), (c, k) => {
      philox4x32(...c, ...k, out);
      assertEquals([...out], reference(c, k));
    }),
    { numRuns: 2000, seed: 1 },
  );
});

Deno.test("mulHigh: agrees with exact integers", () => {
  const edges = [0, 1, 0xffff, 0x10000, 0x10001, 0x7fffffff, 0x80000000, 0xffff0000, 0xffffffff];
  const check = (a: number, b: number) =>
    assertEquals(mulHigh(a, b) >>> 0, Number((BigInt(a) * BigInt(b)) >> 32n));
  for (const a of edges) for (const b of edges) check(a, b);
  fc.assert(fc.property(u32, u32, check), { numRuns: 5000, seed: 1 });
});

Deno.test("philoxWords: any piece of a range, carries of the 64-bit counter included", () => {
  const nearCarry = fc.constantFrom(0xffffffff, 0xfffffffe, 0xfffffff0, 0, 5);
  fc.assert(
    fc.property(
      fc.tuple(u32, u32, nearCarry, nearCarry),
      fc.oneof(fc.nat(40), fc.integer({ min: 2 ** 40, max: 2 ** 53 - 64 })),
      fc.nat(23),
      fc.nat(3),
      ([key0, key1, offsetLo, offsetHi], start, length, attempt) => {
        const out = philoxWords(
          { key0, key1, offsetLo, offsetHi },
          start,
          new Uint32Array(length),
          {
            attempt,
          },
        );
        const offset = (BigInt(offsetHi) << 32n) | BigInt(offsetLo);
        const want = Array.from({ length }, (_, i) => {
          const block = offset + BigInt(start + i) / 4n;
          const counter = [block & 0xffffffffn, (block >> 32n) & 0xffffffffn].map(Number);
          return reference([...counter, attempt, 0], [key0, key1])[(start + i) % 4];
        });
        assertEquals([...out], want);
      },
    ),
    { numRuns: 300, seed: 1 },
  );
});

Deno.test("philoxWords: refuses a start that is no index", () => {
  const range = { key0: 0, key1: 0, offsetLo: 0, offsetHi: 0 };
  for (const start of [-1, 0.5, NaN, 2 ** 53]) {
    assertThrows(
      () => philoxWords(range, start, new Uint32Array(1)),
      IndexError,
      `Cannot philoxWords from word ${start}: the start must be a non-negative integer`,
    );
  }
});
