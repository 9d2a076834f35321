// Both 16-bit formats against independent definitions: the IEEE formula for decoding, nearest
// neighbour in the table of all values for encoding, and the engine's own float16.

import { assert, assertEquals, assertThrows } from "jsr:@std/assert@1";
import fc from "npm:fast-check@4";
import { ShapeError } from "./errors.ts";
import {
  bfloat16BitsToFloat32,
  decodeBfloat16,
  decodeFloat16,
  encodeBfloat16,
  encodeFloat16,
  float16BitsToFloat32,
  float32ToBfloat16Bits,
  float32ToFloat16Bits,
} from "./half.ts";

interface Format {
  readonly name: string;
  readonly encode: (x: number) => number;
  readonly decode: (bits: number) => number;
  readonly encodeAll: (source: Float32Array | Float64Array) => Uint16Array;
  readonly decodeAll: (source: Uint16Array) => Float32Array;
  readonly fractionBits: number;
  readonly bias: number;
  /** Bits of +Infinity. */
  readonly infinity: number;
}

const formats: Format[] = [
  {
    name: "float16",
    encode: float32ToFloat16Bits,
    decode: float16BitsToFloat32,
    encodeAll: encodeFloat16,
    decodeAll: decodeFloat16,
    fractionBits: 10,
    bias: 15,
    infinity: 0x7c00,
  },
  {
    name: "bfloat16",
    encode: float32ToBfloat16Bits,
    decode: bfloat16BitsToFloat32,
    encodeAll: encodeBfloat16,
    decodeAll: decodeBfloat16,
    fractionBits: 7,
    bias: 127,
    infinity: 0x7f80,
  },
];

const word64 = new BigUint64Array(1);
const value64 = new Float64Array(word64.buffer);

/** The next float64 above a positive finite x. */
function up(x: number): number {
  value64[0] = x;
  word64[0]++;
  return value64[0];
}

/** The next float64 below a positive x. */
function down(x: number): number {
  value64[0] = x;
  word64[0]--;
  return value64[0];
}

/** The value of non-negative bits by the formula of IEEE 754-2019, 3.4; 2^(emax+1) for infinity. */
function formula(format: Format, bits: number): number {
  const scale = 2 ** format.fractionBits;
  const exponent = Math.floor(bits / scale);
  const fraction = bits % scale;
  return exponent === 0
    ? fraction / scale * 2 ** (1 - format.bias)
    : (1 + fraction / scale) * 2 ** (exponent - format.bias);
}

/** Nearest bits by bisection over all values; midpoints of neighbours are exact in float64. */
function nearest(format: Format, x: number): number {
  const sign = x < 0 || Object.is(x, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(x);
  if (magnitude >= formula(format, format.infinity)) return sign | format.infinity;
  let low = 0;
  let high = format.infinity;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (formula(format, middle) <= magnitude) low = middle;
    else high = middle;
  }
  const tie = (formula(format, low) + formula(format, high)) / 2;
  if (magnitude < tie) return sign | low;
  if (magnitude > tie) return sign | high;
  return sign | (low % 2 === 0 ? low : high);
}

for (const format of formats) {
  const { name, encode, decode, infinity } = format;

  Deno.test(`${name}: every pattern decodes to its formula and encodes back`, () => {
    for (let bits = 0; bits <= 0xffff; bits++) {
      const positive = bits & 0x7fff;
      const x = decode(bits);
      if (positive > infinity) {
        assert(Number.isNaN(x), `0x${bits.toString(16)}`);
        continue;
      }
      const magnitude = positive === infinity ? Infinity : formula(format, positive);
      assert(Object.is(x, bits === positive ? magnitude : -magnitude), `0x${bits.toString(16)}`);
      if (encode(x) !== bits) assertEquals(encode(x), bits);
    }
  });

  Deno.test(`${name}: every halfway point goes to even, its float64 neighbours to their side`, () => {
    for (let low = 0; low < infinity; low++) {
      const tie = (formula(format, low) + formula(format, low + 1)) / 2;
      const even = low % 2 === 0 ? low : low + 1;
      const got = [down(tie), tie, up(tie)].flatMap((x) => [encode(x), encode(-x) - 0x8000]);
      const want = [low, low, even, even, low + 1, low + 1];
      if (got.join() !== want.join()) assertEquals(got, want, `between ${low} and ${low + 1}`);
    }
  });

  Deno.test(`${name}: special values`, () => {
    assertEquals(encode(0), 0);
    assertEquals(encode(-0), 0x8000);
    assertEquals(encode(Infinity), infinity);
    assertEquals(encode(-Infinity), infinity | 0x8000);
    assertEquals(encode(Number.MAX_VALUE), infinity);
    assertEquals(encode(-Number.MAX_VALUE), infinity | 0x8000);
    assertEquals(encode(Number.MIN_VALUE), 0);
    assertEquals(encode(-Number.MIN_VALUE), 0x8000);
    const quiet = infinity | (1 << (format.fractionBits - 1));
    assertEquals(encode(NaN) & quiet, quiet);
    // A NaN whose payload lies only in the low word is no infinity.
    word64[0] = 0xfff0_0000_0000_0001n;
    assertEquals(encode(value64[0]) & quiet, quiet);
  });

  Deno.test(`${name}: any float64 rounds once to its nearest`, () => {
    const near = fc.tuple(fc.integer({ min: 0, max: infinity - 1 }), fc.double()).map(([bits, t]) =>
      formula(format, bits) + (t % 1) * (formula(format, bits + 1) - formula(format, bits))
    );
    fc.assert(
      fc.property(fc.oneof(near, fc.double({ noNaN: true })), (x) => {
        if (Number.isNaN(x)) return;
        assertEquals(encode(x), nearest(format, x));
      }),
      { numRuns: 20_000, seed: 1 },
    );
  });

  Deno.test(`${name}: arrays agree with scalars`, () => {
    const floats = new Float32Array(200_000);
    const words = new Uint32Array(floats.buffer);
    let state = 1;
    for (let i = 0; i < words.length; i++) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      // Half of them close to the format's own values: few fraction bits beyond its last.
      words[i] = i % 2 === 0 ? state : state & 0xfffff000;
    }
    const bulk = format.encodeAll(floats);
    const wide = format.encodeAll(Float64Array.from(floats));
    for (let i = 0; i < floats.length; i++) {
      if (Number.isNaN(floats[i])) {
        assert((bulk[i] & 0x7fff) > infinity && (wide[i] & 0x7fff) > infinity);
        continue;
      }
      const want = encode(floats[i]);
      if (bulk[i] !== want || wide[i] !== want) assertEquals([bulk[i], wide[i]], [want, want]);
    }
    const all = Uint16Array.from({ length: 65536 }, (_, i) => i);
    const decoded = format.decodeAll(all);
    for (let i = 0; i < 65536; i++) assert(Object.is(decoded[i], decode(i)));
  });

  Deno.test(`${name}: arrays keep the sign of NaN, make it quiet, and round trip`, () => {
    const all = Uint16Array.from({ length: 65536 }, (_, i) => i);
    const decoded = format.decodeAll(all);
    const words = new Uint32Array(decoded.buffer);
    const quiet = 1 << (format.fractionBits - 1);
    const isNaNBits = (bits: number) => (bits & 0x7fff) > infinity;
    assert(words.every((word, i) => !isNaNBits(i) || (word & 0x7fc00000) === 0x7fc00000));
    assertEquals(
      format.encodeAll(decoded),
      all.map((bits) => isNaNBits(bits) ? bits | quiet : bits),
    );
    words.set([0x7f800001, 0xff800001, 0xffffffff, 0x7fbfffff]);
    const signs = [...format.encodeAll(decoded.subarray(0, 4))];
    assert(signs.every(isNaNBits));
    assertEquals(signs.map((bits) => bits >>> 15), [0, 1, 1, 0]);
  });

  Deno.test(`${name}: arrays may be views into shared memory, and lengths must agree`, () => {
    const memory = new SharedArrayBuffer(64);
    const floats = new Float32Array(memory, 4, 3);
    floats.set([1, -0.5, 3]);
    const bits = format.encodeAll(floats);
    assertEquals([...format.decodeAll(bits)], [1, -0.5, 3]);
    const call = name === "float16" ? encodeFloat16 : encodeBfloat16;
    assertThrows(
      () => call(floats, new Uint16Array(2)),
      ShapeError,
      `Cannot ${call.name} [3] into [2]: the lengths must be equal: got 3 and 2`,
    );
  });
}

Deno.test("float16: double rounding through float32 is avoided", () => {
  // Rounds down to the tie in float32 and from there to even; once, it rounds up.
  const x = 1 + 2 ** -11 + 2 ** -30;
  assertEquals(float32ToFloat16Bits(Math.fround(x)), 0x3c00);
  assertEquals(float32ToFloat16Bits(x), 0x3c01);
  assertEquals(float32ToBfloat16Bits(Math.fround(1 + 2 ** -8 + 2 ** -40)), 0x3f80);
  assertEquals(float32ToBfloat16Bits(1 + 2 ** -8 + 2 ** -40), 0x3f81);
});

Deno.test({
  name: "float16: agrees with the engine's Float16Array and DataView",
  ignore: !("Float16Array" in globalThis),
  fn: () => {
    const bits = Uint16Array.from({ length: 65536 }, (_, i) => i);
    const halves = new Float16Array(bits.buffer);
    const view = new DataView(bits.buffer);
    for (let i = 0; i < 65536; i++) {
      const x = float16BitsToFloat32(i);
      assert(Object.is(halves[i], x) && Object.is(view.getFloat16(2 * i, true), x));
    }
    const one = new Float16Array(1);
    const oneBits = new Uint16Array(one.buffer);
    let state = 7;
    for (let i = 0; i < 200_000; i++) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      // Exponents from below the subnormals to above the largest half.
      const x = (state / 2 ** 31 - 1) * 2 ** ((i % 50) - 30);
      one[0] = x;
      if (float32ToFloat16Bits(x) !== oneBits[0]) {
        assertEquals(float32ToFloat16Bits(x), oneBits[0], `${x}`);
      }
    }
  },
});
