// Generators hand out ranges that never overlap, restart exactly, and survive JSON.

import { assert, assertEquals, assertNotEquals, assertThrows } from "jsr:@std/assert@1";
import fc from "npm:fast-check@4";
import { StateError, ValueError } from "../errors.ts";
import {
  defaultGenerator,
  Generator,
  type GeneratorState,
  getRngState,
  seed,
  setRngState,
} from "./generator.ts";
import { philoxWords } from "./philox.ts";

Deno.test("Generator: the key is the seed modulo 2^64, numbers and bigints alike", () => {
  assertEquals(new Generator().key, [0, 0]);
  assertEquals(new Generator(1).key, [1, 0]);
  assertEquals(new Generator(2 ** 32 + 5).key, [5, 1]);
  assertEquals(new Generator(Number.MAX_SAFE_INTEGER).key, [0xffffffff, 0x1fffff]);
  assertEquals(new Generator(-1).key, [0xffffffff, 0xffffffff]);
  assertEquals(new Generator(-1n).key, [0xffffffff, 0xffffffff]);
  assertEquals(new Generator((1n << 64n) + 7n).key, [7, 0]);
  assertEquals(new Generator(0x0123_4567_89ab_cdefn).key, [0x89abcdef, 0x01234567]);
});

Deno.test("Generator: seeds and counts that are none", () => {
  for (const bad of [0.5, NaN, Infinity, 2 ** 53]) {
    assertThrows(
      () => new Generator(bad),
      ValueError,
      `Cannot seed with ${bad}: a seed must be a safe integer or a bigint`,
    );
  }
  for (const bad of [-1, 0.5, NaN, 2 ** 52 + 1]) {
    assertThrows(
      () => new Generator().reserve(bad),
      ValueError,
      `Cannot reserve ${bad} random words: the count must be an integer from 0 to 2^52`,
    );
  }
});

Deno.test("Generator: ranges follow each other in whole blocks, modulo 2^64", () => {
  const blocks = fc.array(
    fc.oneof(fc.nat(20), fc.integer({ min: 0, max: 2 ** 52 })),
    { maxLength: 20 },
  );
  const start = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n });
  const nearEnd = fc.bigInt({ min: (1n << 64n) - 100n, max: (1n << 64n) - 1n });
  fc.assert(
    fc.property(blocks, fc.oneof(start, nearEnd), (counts, first) => {
      const generator = new Generator(9);
      const offset = [first & 0xffffffffn, first >> 32n].map(Number) as [number, number];
      generator.setState({ algorithm: "philox4x32-10", key: [1, 2], offset });
      let expected = first;
      for (const count of counts) {
        assertEquals(generator.offset, expected);
        assertEquals(generator.reserve(count), {
          key0: 1,
          key1: 2,
          offsetLo: Number(expected & 0xffffffffn),
          offsetHi: Number(expected >> 32n),
        });
        expected = BigInt.asUintN(64, expected + (BigInt(count) + 3n) / 4n);
      }
      assertEquals(generator.offset, expected);
    }),
  );
});

Deno.test("Generator: a stream of whole blocks is the same however it is cut", () => {
  const whole = philoxWords(new Generator(5).reserve(64), 0, new Uint32Array(64));
  const generator = new Generator(5);
  const parts = [4, 16, 8, 36].flatMap((n) => [
    ...philoxWords(generator.reserve(n), 0, new Uint32Array(n)),
  ]);
  assertEquals(parts, [...whole]);
  assertEquals(new Set(parts).size, 64);
});

Deno.test("Generator: state goes through JSON; seed restarts", () => {
  const generator = new Generator(123n << 40n);
  generator.reserve(1000);
  const text = JSON.stringify(generator.getState());
  assertEquals(text, '{"algorithm":"philox4x32-10","key":[0,31488],"offset":[250,0]}');
  const next = generator.reserve(3);
  const other = new Generator();
  other.setState(JSON.parse(text));
  assertEquals(other.reserve(3), next);
  assertEquals(generator.seed(123n << 40n).offset, 0n);
});

Deno.test("Generator: a state that is none is refused and changes nothing", () => {
  const generator = new Generator(1);
  const good = { algorithm: "philox4x32-10", key: [1, 0], offset: [0, 0] };
  const bad: unknown[] = [
    null,
    undefined,
    {},
    { ...good, algorithm: "mt19937" },
    { ...good, key: [1] },
    { ...good, key: [1, -1] },
    { ...good, key: [1n, 0n] },
    { ...good, offset: [0.5, 0] },
    { ...good, offset: [2 ** 32, 0] },
    { ...good, offset: "00" },
  ];
  for (const state of bad) {
    const error = assertThrows(() => generator.setState(state as GeneratorState), StateError);
    assert(error.message.startsWith("Cannot setState: a state must be { algorithm: "));
  }
  assertEquals<unknown>(generator.getState(), good);
});

Deno.test("default generator: entropy at first, then what seed and setRngState say", () => {
  const saved = getRngState();
  try {
    const unseeded = defaultGenerator().key;
    assertNotEquals(unseeded, new Generator().key);
    assert(seed(17) === defaultGenerator());
    assertEquals(getRngState(), new Generator(17).getState());
    defaultGenerator().reserve(9);
    const state = getRngState();
    seed(18);
    setRngState(state);
    assertEquals(getRngState(), { algorithm: "philox4x32-10", key: [17, 0], offset: [3, 0] });
  } finally {
    setRngState(saved);
  }
});
