import { assert, assertEquals, assertRejects, assertThrows } from "jsr:@std/assert@1";
import { DTypeError, FormatError, memory, type Tensor, tensor, zeros } from "../mod.ts";
import { convert } from "../core/convert.ts";
import { type DType, DTYPE_NAMES, DTYPES } from "../core/dtype.ts";
import { engine } from "../core/op.ts";
import { full } from "../tools/testing.ts";
import { decodeSafetensors, encodeSafetensors } from "./safetensors.ts";

const GOLDENS = new URL("../tests/goldens/safetensors/", import.meta.url);
const golden = (name: string) => Deno.readFile(new URL(`${name}.safetensors`, GOLDENS));

interface Golden {
  readonly metadata: Record<string, string>;
  readonly tensors: Record<string, { dtype: string; shape: number[]; values: string[] }>;
}
const contents: Record<string, Golden> = JSON.parse(
  await Deno.readTextFile(new URL("safetensors.json", GOLDENS)),
);

/** What each dtype of the format is read as. */
const READ_AS: Record<string, DType> = {
  BOOL: "bool",
  U8: "uint8",
  I8: "int8",
  I16: "int16",
  I32: "int32",
  I64: "int64",
  U16: "int32",
  U32: "int64",
  U64: "int64",
  F16: "float16",
  BF16: "bfloat16",
  F32: "float32",
  F64: "float64",
  C64: "complex64",
  F8_E4M3: "float32",
  F8_E5M2: "float32",
};

const number = (text: string) =>
  text === "inf" ? Infinity : text === "-inf" ? -Infinity : Number(text);

for (const name of Object.keys(contents)) {
  Deno.test(`a file written by Python is read: ${name}`, async () => {
    const { tensors, metadata } = decodeSafetensors(await golden(name));
    const want = contents[name];
    assertEquals(metadata, want.metadata);
    assertEquals(Object.keys(tensors).sort(), Object.keys(want.tensors).sort());
    for (const [key, { dtype, shape, values }] of Object.entries(want.tensors)) {
      const x = tensors[key];
      assertEquals([x.dtype, x.shape], [READ_AS[dtype], shape], key);
      const parts = values.flatMap((v) => v.split(","));
      const got = Array.from(x.dataSync() as ArrayLike<number | bigint>);
      assertEquals(got.length, parts.length);
      got.forEach((v, i) => {
        const e = typeof v === "bigint" ? BigInt(parts[i]) : number(parts[i]);
        assert(Object.is(v, e), `${name} ${key} element ${i}: got ${v}, expected ${e}`);
      });
    }
  });
}

Deno.test("tensors of one dtype are written byte by byte as Python writes them", async () => {
  const tensors = Object.fromEntries(
    ["c", "b", "a"].map((name, i) => [name, tensor(new Array(i + 1).fill(i + 1))]),
  );
  const bytes = await encodeSafetensors(tensors, { metadata: { by: "safetensors" } });
  assertEquals(bytes, await golden("same"));
  assertEquals(await encodeSafetensors({}), await golden("none"));
});

/** Elements in storage form. */
function bits(x: Tensor): Uint8Array {
  const { backend, buffer } = x.storageOrThrow();
  const size = DTYPES[x.dtype].bytes;
  return backend.readSync!(buffer, x.impl.offset * size, x.numel * size);
}

Deno.test("every dtype of ours comes back bit for bit, in every shape", async () => {
  const values = Float64Array.of(0, 1, -0, 0.1, 1e-8, NaN, Infinity, -Infinity, 100, -100, 7, 3);
  for (const dtype of DTYPE_NAMES) {
    if (dtype === "complex128") continue;
    const data = convert(values, "float64", dtype);
    const tensors: Record<string, Tensor> = {};
    for (const shape of [[12], [3, 4], [1, 12, 1], [2, 2, 3]]) {
      tensors[`of [${shape}]`] = engine.fromData(data, shape, dtype, undefined);
    }
    tensors.scalar = engine.fromData(data.slice(0, DTYPES[dtype].lanes), [], dtype, undefined);
    tensors.empty = zeros([0, 3], { dtype });
    const { tensors: back } = decodeSafetensors(await encodeSafetensors(tensors));
    assertEquals(Object.keys(back).sort(), Object.keys(tensors).sort());
    for (const [name, x] of Object.entries(tensors)) {
      assertEquals([back[name].dtype, back[name].shape], [dtype, x.shape], name);
      assertEquals(bits(back[name]), bits(x), `${dtype} ${name}`);
    }
  }
  await assertRejects(
    () => encodeSafetensors({ z: zeros([1], { dtype: "complex128" }) }),
    DTypeError,
    'Cannot save tensor "z" of dtype complex128: safetensors has no such dtype',
  );
});

Deno.test("views are written as what they show, all names come back, mixed dtypes lie aligned", async () => {
  const x = tensor([[1, 2, 3], [4, 5, 6]]);
  const tensors: Record<string, Tensor> = Object.fromEntries([
    ["turned", x.T],
    ["part", x.at(":", "::-2")],
    ["stretched", tensor([7]).expand([2, 2])],
    ["__proto__", tensor([1], { dtype: "int8" })],
    ["constructor", tensor([2], { dtype: "float64" })],
    ["10", tensor([3], { dtype: "int16" })],
    ["", tensor(true)],
    ['Ω\n"\\', tensor([4n])],
  ]);
  const metadata = Object.fromEntries([["__proto__", "kept"], ["Ω", "✓\u0000"]]);
  const bytes = await encodeSafetensors(tensors, { metadata });
  const back = decodeSafetensors(bytes);
  assertEquals(Object.entries(back.metadata).sort(), Object.entries(metadata).sort());
  assertEquals(Object.keys(back.tensors).sort(), Object.keys(tensors).sort());
  for (const [name, y] of Object.entries(tensors)) {
    assertEquals(back.tensors[name].toArraySync(), y.toArraySync(), name);
  }
  const header = headerOf(bytes);
  assertEquals((bytes.length - sizeOfData(header)) % 8, 0);
  for (const [name, y] of Object.entries(tensors)) {
    assertEquals(header[name].data_offsets[0] % DTYPES[y.dtype].bytes, 0, `${name} is aligned`);
  }
  const shifted = new Uint8Array(bytes.length + 3).subarray(3);
  shifted.set(bytes);
  assertEquals(decodeSafetensors(shifted).tensors.turned.toArraySync(), [[1, 4], [2, 5], [3, 6]]);
});

interface HeaderEntry {
  dtype: string;
  shape: number[];
  data_offsets: number[];
}

function headerOf(bytes: Uint8Array): Record<string, HeaderEntry> {
  const length = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true));
  return JSON.parse(new TextDecoder().decode(bytes.slice(8, 8 + length)));
}

const sizeOfData = (header: Record<string, HeaderEntry>) =>
  Object.entries(header).reduce(
    (n, [k, e]) => (k === "__metadata__" ? n : Math.max(n, e.data_offsets[1])),
    0,
  );

Deno.test("what cannot be written is refused", async () => {
  await assertRejects(
    () => encodeSafetensors({ __metadata__: zeros([1]) }),
    FormatError,
    "the format keeps that name for itself",
  );
  const metadata = { epoch: 3 } as unknown as Record<string, string>;
  await assertRejects(() => encodeSafetensors({}, { metadata }), FormatError, 'metadata "epoch"');
});

/** A file of a header text and data. */
function file(header: string | Uint8Array, data = 0, length = -1n): Uint8Array {
  const text = typeof header === "string" ? new TextEncoder().encode(header) : header;
  const out = new Uint8Array(8 + text.length + data);
  new DataView(out.buffer).setBigUint64(0, length < 0n ? BigInt(text.length) : length, true);
  out.set(text, 8);
  return out;
}

const entry = (dtype: unknown, shape: unknown, offsets: unknown, more = {}) =>
  JSON.stringify({ a: { dtype, shape, data_offsets: offsets, ...more } });
const two = (first: readonly number[], second: readonly number[]) =>
  JSON.stringify({
    a: { dtype: "U8", shape: [first[1] - first[0]], data_offsets: first },
    b: { dtype: "U8", shape: [second[1] - second[0]], data_offsets: second },
  });
const GOOD = entry("F32", [2], [0, 8]);
const KEYS = '"dtype":"U8","shape":[1],"data_offsets":[0,1]';

const MALFORMED: readonly (readonly [string, Uint8Array, string])[] = [
  ["no bytes", new Uint8Array(0), "shorter than the 8 bytes of its header's length"],
  ["seven bytes", new Uint8Array(7), "shorter than the 8 bytes"],
  ["a length of 0", file(""), "does not begin with {"],
  ["a length beyond the file", file(GOOD, 8, 1000n), "more than the file has (truncated?)"],
  [
    "a length of 2^64 - 1",
    file(GOOD, 8, 2n ** 64n - 1n),
    "more than the 100000000 that are allowed",
  ],
  ["a length of 2^63", file(GOOD, 8, 2n ** 63n), "more than the 100000000"],
  ["a length just beyond what is allowed", file(GOOD, 8, 100_000_001n), "100000001 bytes"],
  ["a length that ends early", file(GOOD, 8, BigInt(GOOD.length - 1)), "not JSON in UTF-8"],
  ["a length that ends late", file(GOOD, 8, BigInt(GOOD.length + 1)), "not JSON in UTF-8"],
  ["text that is not JSON", file("{hello}"), "not JSON in UTF-8"],
  ["an array", file("[]"), "does not begin with {"],
  ["null", file("null"), "does not begin with {"],
  ["space before", file(` ${GOOD}`, 8), "does not begin with {"],
  [
    "a byte order mark",
    file(new Uint8Array([0xef, 0xbb, 0xbf, 0x7b, 0x7d])),
    "does not begin with {",
  ],
  [
    "bytes that are not UTF-8",
    file(new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])),
    "not JSON in UTF-8",
  ],
  [
    "half a surrogate in UTF-8",
    file(new Uint8Array([0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x7d])),
    "not JSON in UTF-8",
  ],
  ["two headers", file("{}{}"), "not JSON in UTF-8"],
  ["an entry twice", file(`{"a":{${KEYS}},"a":{${KEYS}}}`, 1), 'two entries "a"'],
  ["an entry twice, escaped", file(`{"a":{${KEYS}},"\\u0061" :{${KEYS}}}`, 1), 'two entries "a"'],
  ["a key of an entry twice", file(`{"a":{${KEYS},"shape":[1]}}`, 1), 'two entries "shape"'],
  ["a key of the metadata twice", file('{"__metadata__":{"k":"1","k":"2"}}'), 'two entries "k"'],
  ["metadata twice", file('{"__metadata__":{},"__metadata__":{}}'), 'two entries "__metadata__"'],
  ["metadata that are no object", file('{"__metadata__":[]}'), "its __metadata__ is not an object"],
  ["metadata that are no text", file('{"__metadata__":{"k":1}}'), 'its metadata "k" is not a text'],
  [
    "an entry that is no object",
    file('{"a":1}'),
    'tensor "a" of a safetensors file: its entry is not an object',
  ],
  ["an entry that is null", file('{"a":null}'), "its entry is not an object"],
  ["an entry that is an array", file('{"a":[]}'), "its entry is not an object"],
  ["an empty entry", file('{"a":{}}'), "dtype undefined is none of BOOL, U8"],
  ["an unknown key", file(entry("U8", [1], [0, 1], { x: 1 }), 1), 'unknown key "x"'],
  ["an unknown dtype", file(entry("F31", [1], [0, 4]), 4), 'dtype "F31" is none of'],
  ["a dtype of a prototype", file(entry("constructor", [1], [0, 4]), 4), "is none of"],
  ["a dtype that is a number", file(entry(5, [1], [0, 4]), 4), "dtype 5 is none of"],
  ["no shape", file(entry("U8", undefined, [0, 1]), 1), "its shape is not a list"],
  ["a shape that is a number", file(entry("U8", 1, [0, 1]), 1), "its shape is not a list"],
  ["a negative size", file(entry("U8", [-1], [0, 1]), 1), "whole numbers of at least 0"],
  ["two negative sizes", file(entry("U8", [-1, -1], [0, 1]), 1), "whole numbers of at least 0"],
  ["a fraction as size", file(entry("U8", [0.5, 2], [0, 1]), 1), "whole numbers of at least 0"],
  ["a text as size", file(entry("U8", ["1"], [0, 1]), 1), "whole numbers of at least 0"],
  ["a size beyond 2^53", file(entry("U8", [2 ** 60], [0, 1]), 1), "whole numbers of at least 0"],
  [
    "an infinite size",
    file('{"a":{"dtype":"U8","shape":[1e999],"data_offsets":[0,1]}}', 1),
    "whole numbers",
  ],
  [
    "sizes whose product overflows",
    file(entry("F32", [2 ** 40, 2 ** 40], [0, 8]), 8),
    "more elements than can be counted",
  ],
  [
    "a product that overflows to 0 in 64 bits",
    file(entry("U8", [2 ** 32, 2 ** 32], [0, 0])),
    "more elements than can be counted",
  ],
  [
    "huge sizes beside a 0",
    file(entry("F32", [2 ** 40, 2 ** 40, 0], [0, 0])),
    "more elements than can be counted",
  ],
  [
    "a tensor larger than its bytes",
    file(entry("F32", [3], [0, 8]), 8),
    "F32 [3] takes 12 bytes: its data_offsets give 8",
  ],
  ["a tensor smaller than its bytes", file(entry("F32", [1], [0, 8]), 8), "takes 4 bytes"],
  [
    "a huge tensor",
    file(entry("F32", [2 ** 50], [0, 2 ** 52]), 8),
    "only 8 bytes of data are there (truncated?)",
  ],
  ["no offsets", file(entry("U8", [1], undefined), 1), "not two rising whole numbers"],
  ["one offset", file(entry("U8", [0], [0]), 0), "not two rising whole numbers"],
  ["three offsets", file(entry("U8", [1], [0, 1, 2]), 1), "not two rising whole numbers"],
  ["falling offsets", file(entry("U8", [1], [1, 0]), 1), "not two rising whole numbers"],
  ["a negative offset", file(entry("U8", [1], [-1, 0]), 1), "not two rising whole numbers"],
  ["a fraction as offset", file(entry("U8", [1], [0.5, 1.5]), 2), "not two rising whole numbers"],
  ["texts as offsets", file(entry("U8", [1], ["0", "1"]), 1), "not two rising whole numbers"],
  ["data that are cut off", file(entry("U8", [4], [0, 4]), 3), "end at byte 4, but only 3 bytes"],
  [
    "two tensors in one place",
    file(two([0, 2], [0, 2]), 2),
    "begins at byte 0 of the data, but the one before it ends at 2",
  ],
  ["tensors that overlap", file(two([0, 2], [1, 3]), 3), "begins at byte 1"],
  ["a tensor within another", file(two([0, 4], [1, 2]), 4), "begins at byte 1"],
  [
    "a hole between",
    file(two([0, 1], [2, 3]), 3),
    'tensor "b" begins at byte 2 of the data, but the one before it ends at 1',
  ],
  ["a hole before", file(two([1, 2], [2, 3]), 3), "begins at byte 1"],
  ["bytes after the last tensor", file(GOOD, 9), "it has 1 bytes after the last tensor"],
  ["data without tensors", file("{}", 5), "it has 5 bytes after the last tensor"],
  [
    "a truth value of 2",
    (() => {
      const f = file(entry("BOOL", [1], [0, 1]), 1);
      f[f.length - 1] = 2;
      return f;
    })(),
    "a BOOL byte is neither 0 nor 1",
  ],
  [
    "a U64 beyond int64",
    (() => {
      const f = file(entry("U64", [1], [0, 8]), 8);
      f[f.length - 1] = 0x80;
      return f;
    })(),
    "values above 2^63 - 1",
  ],
];

Deno.test("malformed files are refused, saying why", async (t) => {
  for (const [what, bytes, why] of MALFORMED) {
    await t.step(what, () => {
      assertThrows(() => decodeSafetensors(bytes), FormatError, why);
    });
  }
});

Deno.test("what the format allows is taken: padding, any order, empty tensors anywhere", () => {
  assertEquals(decodeSafetensors(file(`${GOOD}    `, 8)).tensors.a.shape, [2]);
  assertEquals(Object.keys(decodeSafetensors(file(two([1, 3], [0, 1]), 3)).tensors), ["a", "b"]);
  assertEquals(decodeSafetensors(file(two([1, 1], [0, 1]), 1)).tensors.a.shape, [0]);
  assertEquals(decodeSafetensors(file(two([0, 0], [0, 0]))).tensors.b.shape, [0]);
  assertEquals(decodeSafetensors(file(entry("F64", [], [0, 8]), 8)).tensors.a.shape, []);
  assertEquals(decodeSafetensors(file('{"__metadata__":{"a":"1"}}')).metadata, { a: "1" });
});

Deno.test("a file cut off at any byte is refused", async () => {
  const whole = await golden("shapes");
  for (let n = 0; n < whole.length; n++) {
    assertThrows(() => decodeSafetensors(whole.slice(0, n)), FormatError, undefined, `${n} bytes`);
  }
});

/** A repeatable stream of whole numbers below `n`. */
function dice(seed: number): (n: number) => number {
  let s = seed >>> 0;
  return (n) => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    return Math.floor(s / 2 ** 32 * n);
  };
}

/** One to four random changes. */
function mutated(bytes: Uint8Array, roll: (n: number) => number): Uint8Array {
  let out = bytes.slice();
  const digits = [...'0123456789-.eE{}[]",: \\u'].map((c) => c.charCodeAt(0));
  for (let k = 0; k <= roll(4); k++) {
    const header = Math.min(out.length, 700);
    const at = roll(roll(3) === 0 ? out.length : header);
    switch (roll(7)) {
      case 0:
        out[at] ^= 1 << roll(8);
        break;
      case 1:
        out[at] = roll(256);
        break;
      case 2:
        out[at] = digits[roll(digits.length)];
        break;
      case 3:
        out = out.slice(0, at);
        break;
      case 4: {
        const n = roll(20);
        out = Uint8Array.from([...out.slice(0, at), ...out.slice(at + n)]);
        break;
      }
      case 5: {
        const from = roll(out.length);
        const piece = out.slice(from, from + roll(40));
        out = Uint8Array.from([...out.slice(0, at), ...piece, ...out.slice(at)]);
        break;
      }
      default:
        if (out.length >= 8) {
          new DataView(out.buffer).setBigUint64(0, BigInt(roll(2 * out.length)), true);
        }
    }
  }
  return out;
}

Deno.test("random changes give tensors or a FormatError, within bounds", async () => {
  const roll = dice(5);
  const seeds = [
    await golden("dtypes"),
    await golden("shapes"),
    await golden("same"),
    file(GOOD, 8),
  ];
  const outcomes = { read: 0, refused: 0 };
  for (let i = 0; i < (full ? 50_000 : 2_000); i++) {
    const bytes = mutated(seeds[roll(seeds.length)], roll);
    memory.resetPeak();
    const before = memory.stats().live;
    try {
      for (const x of Object.values(decodeSafetensors(bytes).tensors)) {
        x.dataSync();
        x.dispose();
      }
      outcomes.read++;
    } catch (e) {
      if (!(e instanceof FormatError)) {
        throw new Error(`after ${i} changes: ${[...bytes]}`, { cause: e });
      }
      outcomes.refused++;
    }
    // Float8 and U16 widen: four bytes for one, and reading copies.
    const taken = memory.stats().peak - before;
    assert(taken <= 8 * bytes.length + 64, `${taken} bytes of memory for ${bytes.length}`);
  }
  assert(outcomes.read > 30 && outcomes.refused > 1000, JSON.stringify(outcomes));
});
