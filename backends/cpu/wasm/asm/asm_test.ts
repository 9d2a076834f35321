// Assembles small functions of each instruction class, runs them and compares with JavaScript.

import { assertEquals, assertStrictEquals, assertThrows } from "jsr:@std/assert@1";
import {
  AssemblyError,
  type FunctionBuilder,
  ModuleBuilder,
  type PlainOp,
  type ValueType,
  wasmFeatures,
} from "./mod.ts";
import { ByteWriter } from "./bytes.ts";

// deno-lint-ignore no-explicit-any -- exports of generated modules have no static type
type Fn = (...args: any[]) => any;

function build(
  params: ValueType[],
  results: ValueType[],
  body: (f: FunctionBuilder) => void,
  memory?: WebAssembly.Memory,
): Fn {
  const module = new ModuleBuilder();
  if (memory !== undefined) {
    const shared = !(memory.buffer instanceof ArrayBuffer);
    module.importMemory("env", "memory", { max: shared ? 4 : undefined, shared });
  }
  body(module.func({ params, results, export: "f" }));
  return new WebAssembly.Instance(module.compile(), {
    env: memory === undefined ? {} : { memory },
  }).exports.f as Fn;
}

/** Applies a scalar operation to its arguments. */
function scalar(name: PlainOp, params: ValueType[], result: ValueType): Fn {
  return build(params, [result], (f) => {
    for (const p of f.params) f.get(p);
    f.op(name);
  });
}

/** Applies a vector operation to the vectors at 0, 16, 32 and stores the result at 64. */
function vector(bytes: ArrayBufferView[], body: (f: FunctionBuilder) => void): DataView {
  const memory = new WebAssembly.Memory({ initial: 1 });
  const all = new Uint8Array(memory.buffer);
  bytes.forEach((part, at) =>
    all.set(new Uint8Array(part.buffer as ArrayBuffer, part.byteOffset, 16), 16 * at)
  );
  build([], [], (f) => {
    f.i32(64);
    bytes.forEach((_, at) => f.i32(16 * at).mem("v128.load"));
    body(f);
    f.mem("v128.store");
  }, memory)();
  return new DataView(memory.buffer, 64, 16);
}

const f32s = (...values: number[]) => new Float32Array(values);
const f64s = (...values: number[]) => new Float64Array(values);
const i32s = (...values: number[]) => new Int32Array(values);
const bytes16 = (make: (at: number) => number) =>
  Uint8Array.from({ length: 16 }, (_, i) => make(i));

const asF32 = (v: DataView) => Array.from({ length: 4 }, (_, i) => v.getFloat32(4 * i, true));
const asF64 = (v: DataView) => Array.from({ length: 2 }, (_, i) => v.getFloat64(8 * i, true));
const asI32 = (v: DataView) => Array.from({ length: 4 }, (_, i) => v.getInt32(4 * i, true));
const asI64 = (v: DataView) => Array.from({ length: 2 }, (_, i) => v.getBigInt64(8 * i, true));
const asI16 = (v: DataView) => Array.from({ length: 8 }, (_, i) => v.getInt16(2 * i, true));
const asU8 = (v: DataView) => Array.from({ length: 16 }, (_, i) => v.getUint8(i));

Deno.test("LEB128: known encodings", () => {
  const encode = (write: (w: ByteWriter) => void) => {
    const writer = new ByteWriter();
    write(writer);
    return [...writer.finish()];
  };
  assertEquals(encode((w) => w.unsigned(0)), [0]);
  assertEquals(encode((w) => w.unsigned(127)), [0x7f]);
  assertEquals(encode((w) => w.unsigned(128)), [0x80, 1]);
  assertEquals(encode((w) => w.unsigned(624485)), [0xe5, 0x8e, 0x26]);
  assertEquals(encode((w) => w.unsigned(0xffffffff)), [0xff, 0xff, 0xff, 0xff, 0x0f]);
  assertEquals(encode((w) => w.unsigned((1n << 64n) - 1n)), [
    ...Array(9).fill(0xff),
    0x01,
  ]);
  assertEquals(encode((w) => w.signed32(63)), [0x3f]);
  assertEquals(encode((w) => w.signed32(64)), [0xc0, 0]);
  assertEquals(encode((w) => w.signed32(-1)), [0x7f]);
  assertEquals(encode((w) => w.signed32(-64)), [0x40]);
  assertEquals(encode((w) => w.signed32(-65)), [0xbf, 0x7f]);
  assertEquals(encode((w) => w.signed32(-123456)), [0xc0, 0xbb, 0x78]);
  assertEquals(encode((w) => w.signed64(-(2n ** 63n))), [...Array(9).fill(0x80), 0x7f]);
});

Deno.test("integer constants: every boundary comes back", () => {
  const i32 = [0, 1, -1, 63, 64, -64, -65, 8191, 8192, 2 ** 31 - 1, -(2 ** 31)];
  for (const value of i32) assertStrictEquals(build([], ["i32"], (f) => f.i32(value))(), value);
  assertStrictEquals(build([], ["i32"], (f) => f.i32(0xffffffff))(), -1);
  for (let bit = 0n; bit < 64n; bit++) {
    for (const value of [2n ** bit, 2n ** bit - 1n, -(2n ** bit), -(2n ** bit) - 1n]) {
      const wrapped = BigInt.asIntN(64, value);
      assertStrictEquals(build([], ["i64"], (f) => f.i64(value))(), wrapped);
    }
  }
});

Deno.test("float constants are bit exact, NaN payloads and -0 included", () => {
  for (const bits of [0x7fc00001, 0x7fa00001, 0xffc12345, 0x80000000, 0x00000001, 0x7f800000]) {
    const f = build([], ["i32"], (f) => f.f32Bits(bits).op("i32.reinterpret_f32"));
    assertStrictEquals(f() >>> 0, bits);
  }
  for (const bits of [0x7ff8000000000001n, 0xfff4123456789abcn, 0x8000000000000000n, 1n]) {
    const f = build([], ["i64"], (f) => f.f64Bits(bits).op("i64.reinterpret_f64"));
    assertStrictEquals(BigInt.asUintN(64, f()), bits);
  }
  assertStrictEquals(build([], ["f32"], (f) => f.f32(0.1))(), Math.fround(0.1));
  assertStrictEquals(build([], ["f64"], (f) => f.f64(-0))(), -0);
});

Deno.test("i32 and i64 arithmetic and comparisons", () => {
  const cases: [string, (a: bigint, b: bigint, bits: number) => bigint][] = [
    ["add", (a, b) => a + b],
    ["sub", (a, b) => a - b],
    ["mul", (a, b) => a * b],
    ["div_s", (a, b) => a / b],
    ["div_u", (a, b, n) => BigInt.asUintN(n, a) / BigInt.asUintN(n, b)],
    ["rem_s", (a, b) => a % b],
    ["rem_u", (a, b, n) => BigInt.asUintN(n, a) % BigInt.asUintN(n, b)],
    ["and", (a, b) => a & b],
    ["or", (a, b) => a | b],
    ["xor", (a, b) => a ^ b],
    ["shl", (a, b, n) => a << BigInt.asUintN(n === 32 ? 5 : 6, b)],
    ["shr_s", (a, b, n) => a >> BigInt.asUintN(n === 32 ? 5 : 6, b)],
    ["shr_u", (a, b, n) => BigInt.asUintN(n, a) >> BigInt.asUintN(n === 32 ? 5 : 6, b)],
    ["eq", (a, b) => a === b ? 1n : 0n],
    ["ne", (a, b) => a !== b ? 1n : 0n],
    ["lt_s", (a, b) => a < b ? 1n : 0n],
    ["lt_u", (a, b, n) => BigInt.asUintN(n, a) < BigInt.asUintN(n, b) ? 1n : 0n],
    ["gt_s", (a, b) => a > b ? 1n : 0n],
    ["gt_u", (a, b, n) => BigInt.asUintN(n, a) > BigInt.asUintN(n, b) ? 1n : 0n],
    ["le_s", (a, b) => a <= b ? 1n : 0n],
    ["le_u", (a, b, n) => BigInt.asUintN(n, a) <= BigInt.asUintN(n, b) ? 1n : 0n],
    ["ge_s", (a, b) => a >= b ? 1n : 0n],
    ["ge_u", (a, b, n) => BigInt.asUintN(n, a) >= BigInt.asUintN(n, b) ? 1n : 0n],
  ];
  const values = [7n, -3n, 1n, -1n, 123456789n, -987654321n, 33n];
  for (const [name, want] of cases) {
    const compares = /^(eq|ne|[lg][te])/.test(name);
    for (const bits of [32, 64]) {
      const type: ValueType = bits === 32 ? "i32" : "i64";
      const f = scalar(`${type}.${name}` as PlainOp, [type, type], compares ? "i32" : type);
      for (const a of values) {
        for (const b of values) {
          const expected = BigInt.asIntN(bits, want(a, b, bits));
          const got = bits === 32 ? f(Number(a), Number(b)) : f(a, b);
          assertStrictEquals(BigInt(got), expected, `${type}.${name} ${a} ${b}`);
        }
      }
    }
  }
  assertStrictEquals(scalar("i32.clz", ["i32"], "i32")(1), 31);
  assertStrictEquals(scalar("i32.ctz", ["i32"], "i32")(8), 3);
  assertStrictEquals(scalar("i32.popcnt", ["i32"], "i32")(255), 8);
  assertStrictEquals(scalar("i64.clz", ["i64"], "i64")(1n), 63n);
  assertStrictEquals(scalar("i64.popcnt", ["i64"], "i64")(-1n), 64n);
  assertStrictEquals(scalar("i32.rotl", ["i32", "i32"], "i32")(1, 33), 2);
  assertStrictEquals(scalar("i64.rotr", ["i64", "i64"], "i64")(2n, 1n), 1n);
  assertStrictEquals(scalar("i32.eqz", ["i32"], "i32")(0), 1);
  assertStrictEquals(scalar("i64.eqz", ["i64"], "i32")(2n), 0);
  assertStrictEquals(scalar("i32.extend8_s", ["i32"], "i32")(0x80), -128);
  assertStrictEquals(scalar("i32.extend16_s", ["i32"], "i32")(0x8000), -32768);
  assertStrictEquals(scalar("i64.extend8_s", ["i64"], "i64")(0xffn), -1n);
  assertStrictEquals(scalar("i64.extend16_s", ["i64"], "i64")(0x8000n), -32768n);
  assertStrictEquals(scalar("i64.extend32_s", ["i64"], "i64")(0x80000000n), -(2n ** 31n));
});

Deno.test("f32 and f64 arithmetic and comparisons", () => {
  const round = (x: number) => {
    const floor = Math.floor(x);
    if (x - floor !== 0.5) return Math.round(x);
    return floor % 2 === 0 ? floor : floor + 1;
  };
  const unary: [string, (a: number) => number][] = [
    ["abs", Math.abs],
    ["neg", (a) => -a],
    ["ceil", Math.ceil],
    ["floor", Math.floor],
    ["trunc", Math.trunc],
    ["nearest", round],
    ["sqrt", Math.sqrt],
  ];
  const binary: [string, (a: number, b: number) => number][] = [
    ["add", (a, b) => a + b],
    ["sub", (a, b) => a - b],
    ["mul", (a, b) => a * b],
    ["div", (a, b) => a / b],
    ["min", Math.min],
    ["max", Math.max],
    ["copysign", (a, b) => (b < 0 || Object.is(b, -0)) ? -Math.abs(a) : Math.abs(a)],
  ];
  const compare: [string, (a: number, b: number) => boolean][] = [
    ["eq", (a, b) => a === b],
    ["ne", (a, b) => a !== b],
    ["lt", (a, b) => a < b],
    ["gt", (a, b) => a > b],
    ["le", (a, b) => a <= b],
    ["ge", (a, b) => a >= b],
  ];
  const values = [0, -0, 1.5, 2.5, -2.5, 3.75, Infinity, -Infinity];
  for (const type of ["f32", "f64"] as const) {
    const fit = type === "f32" ? Math.fround : (x: number) => x;
    for (const [name, want] of unary) {
      const f = scalar(`${type}.${name}` as PlainOp, [type], type);
      for (const a of values) assertEquals(f(a), fit(want(a)), `${type}.${name} ${a}`);
    }
    for (const a of values) {
      for (const b of values) {
        for (const [name, want] of binary) {
          const got = scalar(`${type}.${name}` as PlainOp, [type, type], type)(a, b);
          assertEquals(got, fit(want(a, b)), `${type}.${name} ${a} ${b}`);
        }
        for (const [name, want] of compare) {
          const got = scalar(`${type}.${name}` as PlainOp, [type, type], "i32")(a, b);
          assertEquals(got, Number(want(a, b)), `${type}.${name} ${a} ${b}`);
        }
      }
    }
  }
});

Deno.test("conversions, saturating ones included", () => {
  const cases: [PlainOp, ValueType, ValueType, number | bigint, number | bigint][] = [
    ["i32.wrap_i64", "i64", "i32", 0x1_0000_0005n, 5],
    ["i64.extend_i32_s", "i32", "i64", -1, -1n],
    ["i64.extend_i32_u", "i32", "i64", -1, 0xffffffffn],
    ["i32.trunc_f32_s", "f32", "i32", -3.9, -3],
    ["i32.trunc_f32_u", "f32", "i32", 3.9, 3],
    ["i32.trunc_f64_s", "f64", "i32", -3.9, -3],
    ["i32.trunc_f64_u", "f64", "i32", 4294967295, -1],
    ["i64.trunc_f32_s", "f32", "i64", -3.9, -3n],
    ["i64.trunc_f32_u", "f32", "i64", 3.9, 3n],
    ["i64.trunc_f64_s", "f64", "i64", -(2 ** 53), -(2n ** 53n)],
    ["i64.trunc_f64_u", "f64", "i64", 2 ** 53, 2n ** 53n],
    ["f32.convert_i32_s", "i32", "f32", -1, -1],
    ["f32.convert_i32_u", "i32", "f32", -1, 4294967296],
    ["f32.convert_i64_s", "i64", "f32", -1n, -1],
    ["f32.convert_i64_u", "i64", "f32", -1n, 2 ** 64],
    ["f64.convert_i32_s", "i32", "f64", -1, -1],
    ["f64.convert_i32_u", "i32", "f64", -1, 4294967295],
    ["f64.convert_i64_s", "i64", "f64", -1n, -1],
    ["f64.convert_i64_u", "i64", "f64", -1n, 2 ** 64],
    ["f32.demote_f64", "f64", "f32", 0.1, Math.fround(0.1)],
    ["f64.promote_f32", "f32", "f64", 0.5, 0.5],
    ["f32.reinterpret_i32", "i32", "f32", 0x3f800000, 1],
    ["f64.reinterpret_i64", "i64", "f64", 0x3ff0000000000000n, 1],
    ["i32.trunc_sat_f32_s", "f32", "i32", Infinity, 2147483647],
    ["i32.trunc_sat_f32_u", "f32", "i32", -5, 0],
    ["i32.trunc_sat_f64_s", "f64", "i32", NaN, 0],
    ["i32.trunc_sat_f64_u", "f64", "i32", 1e20, -1],
    ["i64.trunc_sat_f32_s", "f32", "i64", -Infinity, -(2n ** 63n)],
    ["i64.trunc_sat_f32_u", "f32", "i64", -1, 0n],
    ["i64.trunc_sat_f64_s", "f64", "i64", Infinity, 2n ** 63n - 1n],
    ["i64.trunc_sat_f64_u", "f64", "i64", Infinity, -1n],
  ];
  for (const [name, from, to, input, want] of cases) {
    assertStrictEquals(scalar(name, [from], to)(input), want, name);
  }
});

Deno.test("control flow: loops, branches, tables, results, calls, recursion", () => {
  const sum = build(["i32"], ["i32"], (f) => {
    const i = f.local("i32");
    const total = f.local("i32");
    f.while(i, f.params[0], 1, () => f.get(total).get(i).op("i32.add").set(total)).get(total);
  });
  assertStrictEquals(sum(10), 45);
  assertStrictEquals(sum(0), 0);
  assertStrictEquals(sum(-4), 0);

  const table = build(["i32"], ["i32"], (f) => {
    f.block((other) => {
      f.block((one) => {
        f.block((zero) => f.get(f.params[0]).brTable([zero, one], other));
        f.i32(100).op("return");
      });
      f.i32(200).op("return");
    });
    f.i32(-1);
  });
  assertEquals([table(0), table(1), table(2), table(-1)], [100, 200, -1, -1]);

  const pick = build(["i32"], ["f64"], (f) => {
    f.get(f.params[0]).if(() => f.f64(1.5), () => f.f64(2.5), "f64");
  });
  assertEquals([pick(1), pick(0)], [1.5, 2.5]);

  const module = new ModuleBuilder();
  const seen: number[] = [];
  const log = module.importFunction("env", "log", { params: ["i32"] });
  const factorial = module.func({ params: ["i32"], results: ["i32"], export: "factorial" });
  const helper = module.func({ params: ["i32"], results: ["i32"] });
  const n = factorial.params[0];
  factorial.get(n).call(log).get(n).op("i32.eqz").if(
    () => factorial.i32(1),
    () => factorial.get(n).call(helper).get(n).op("i32.mul"),
    "i32",
  );
  helper.get(helper.params[0]).i32(1).op("i32.sub").call(factorial);
  const { exports } = new WebAssembly.Instance(module.compile(), {
    env: { log: (x: number) => seen.push(x) },
  });
  assertStrictEquals((exports.factorial as Fn)(5), 120);
  assertEquals(seen, [5, 4, 3, 2, 1, 0]);
});

Deno.test("misuse is refused with the reason", () => {
  const module = new ModuleBuilder();
  const f = module.func();
  let closed = { depth: 0 };
  f.block((label) => closed = label);
  assertThrows(() => f.br(closed), AssemblyError, "already closed");
  assertThrows(() => f.shuffle([1, 2]), AssemblyError, "16 are needed");
  assertThrows(() => module.importFunction("env", "g"), AssemblyError, "before the first");
  const shared = new ModuleBuilder();
  shared.importMemory("env", "memory", { shared: true });
  assertThrows(() => shared.bytes(), AssemblyError, "without max");
});

Deno.test("scalar memory: widths, signs, offsets, alignment, size, grow, copy, fill, data", () => {
  const memory = new WebAssembly.Memory({ initial: 1 });
  const view = new DataView(memory.buffer);
  view.setInt32(1000, -2, true);
  const load = (op: Parameters<FunctionBuilder["mem"]>[0], type: ValueType) =>
    build(["i32"], [type], (f) => f.get(f.params[0]).mem(op, { offset: 300, align: 0 }), memory);
  assertStrictEquals(load("i32.load8_s", "i32")(700), -2);
  assertStrictEquals(load("i32.load8_u", "i32")(700), 254);
  assertStrictEquals(load("i32.load16_s", "i32")(700), -2);
  assertStrictEquals(load("i32.load16_u", "i32")(700), 65534);
  assertStrictEquals(load("i64.load32_s", "i64")(700), -2n);
  assertStrictEquals(load("i64.load32_u", "i64")(700), 0xfffffffen);
  assertStrictEquals(load("i64.load8_u", "i64")(700), 254n);
  assertStrictEquals(load("i64.load16_s", "i64")(700), -2n);
  view.setFloat64(1000, 2.25, true);
  assertStrictEquals(load("f64.load", "f64")(700), 2.25);
  build(["i32", "i64"], [], (f) => {
    f.get(f.params[0]).get(f.params[1]).mem("i64.store32");
    f.get(f.params[0]).f32(1.5).mem("f32.store", { offset: 8 });
    f.get(f.params[0]).i32(-1).mem("i32.store16", { offset: 16 });
    f.i32(48).i32(7).i32(5).memoryFill();
    f.i32(50).i32(48).i32(5).memoryCopy();
  }, memory)(16, 0x1_0000_0009n);
  assertStrictEquals(view.getInt32(16, true), 9);
  assertStrictEquals(view.getFloat32(24, true), 1.5);
  assertStrictEquals(view.getUint32(32, true), 0xffff);
  assertEquals([...new Uint8Array(memory.buffer, 47, 9)], [0, 7, 7, 7, 7, 7, 7, 7, 0]);
  assertStrictEquals(build([], ["i32"], (f) => f.memorySize(), memory)(), 1);
  assertStrictEquals(build([], ["i32"], (f) => f.i32(1).memoryGrow(), memory)(), 1);
  assertStrictEquals(memory.buffer.byteLength, 2 * 65536);

  const module = new ModuleBuilder();
  module.importMemory("env", "memory");
  module.data(77, new Uint8Array([1, 2, 3]));
  new WebAssembly.Instance(module.compile(), { env: { memory } });
  assertEquals([...new Uint8Array(memory.buffer, 76, 5)], [0, 1, 2, 3, 0]);
});

Deno.test("vector float arithmetic, comparisons and rounding", () => {
  const a = f32s(1.5, -2.5, 3, 0.25);
  const b = f32s(2, 4, -1, 0.5);
  const apply = (op: PlainOp) => asF32(vector([a, b], (f) => f.op(op)));
  assertEquals(apply("f32x4.add"), [3.5, 1.5, 2, 0.75]);
  assertEquals(apply("f32x4.sub"), [-0.5, -6.5, 4, -0.25]);
  assertEquals(apply("f32x4.mul"), [3, -10, -3, 0.125]);
  assertEquals(apply("f32x4.div"), [0.75, -0.625, -3, 0.5]);
  assertEquals(apply("f32x4.min"), [1.5, -2.5, -1, 0.25]);
  assertEquals(apply("f32x4.pmax"), [2, 4, 3, 0.5]);
  assertEquals(asI32(vector([a, b], (f) => f.op("f32x4.lt"))), [-1, -1, 0, -1]);
  assertEquals(asI32(vector([a, b], (f) => f.op("f32x4.ge"))), [0, 0, -1, 0]);
  const unary = (op: PlainOp) => asF32(vector([a], (f) => f.op(op)));
  assertEquals(unary("f32x4.abs"), [1.5, 2.5, 3, 0.25]);
  assertEquals(unary("f32x4.neg"), [-1.5, 2.5, -3, -0.25]);
  assertEquals(unary("f32x4.ceil"), [2, -2, 3, 1]);
  assertEquals(unary("f32x4.floor"), [1, -3, 3, 0]);
  assertEquals(unary("f32x4.trunc"), [1, -2, 3, 0]);
  assertEquals(unary("f32x4.nearest"), [2, -2, 3, 0]);
  assertEquals(asF32(vector([f32s(4, 9, 16, 25)], (f) => f.op("f32x4.sqrt"))), [2, 3, 4, 5]);
  const c = f64s(1.5, -2.5);
  const d = f64s(2, 4);
  const wide = (op: PlainOp) => asF64(vector([c, d], (f) => f.op(op)));
  assertEquals(wide("f64x2.add"), [3.5, 1.5]);
  assertEquals(wide("f64x2.sub"), [-0.5, -6.5]);
  assertEquals(wide("f64x2.mul"), [3, -10]);
  assertEquals(wide("f64x2.div"), [0.75, -0.625]);
  assertEquals(wide("f64x2.max"), [2, 4]);
  assertEquals(wide("f64x2.pmin"), [1.5, -2.5]);
  assertEquals(asI64(vector([c, d], (f) => f.op("f64x2.lt"))), [-1n, -1n]);
  for (
    const [op, want] of [
      ["ceil", [2, -2]],
      ["floor", [1, -3]],
      ["trunc", [1, -2]],
      ["nearest", [2, -2]],
      ["abs", [1.5, 2.5]],
      ["neg", [-1.5, 2.5]],
    ] as const
  ) assertEquals(asF64(vector([c], (f) => f.op(`f64x2.${op}`))), [...want]);
});

Deno.test("vector integers: each width, shifts, narrowing, extending, products", () => {
  const bytes = bytes16((i) => 250 + i);
  const ones = bytes16(() => 10);
  const apply = (op: PlainOp) => asU8(vector([bytes, ones], (f) => f.op(op)));
  const wrap = (make: (a: number) => number) => Array.from(bytes, (a) => make(a) & 255);
  const signed = (a: number) => a << 24 >> 24;
  assertEquals(apply("i8x16.add"), wrap((a) => a + 10));
  assertEquals(apply("i8x16.sub"), wrap((a) => a - 10));
  assertEquals(apply("i8x16.add_sat_u"), wrap((a) => Math.min(255, a + 10)));
  assertEquals(apply("i8x16.sub_sat_u"), wrap((a) => Math.max(0, a - 10)));
  assertEquals(apply("i8x16.min_s"), wrap((a) => Math.min(signed(a), 10)));
  assertEquals(apply("i8x16.max_u"), wrap((a) => Math.max(a, 10)));
  assertEquals(apply("i8x16.avgr_u"), wrap((a) => (a + 11) >> 1));
  assertEquals(apply("i8x16.gt_u"), wrap((a) => a > 10 ? 255 : 0));
  assertEquals(apply("i8x16.lt_s"), wrap((a) => signed(a) < 10 ? 255 : 0));
  assertEquals(asU8(vector([bytes], (f) => f.op("i8x16.popcnt")))[0], 6);
  assertEquals(asU8(vector([bytes], (f) => f.i32(1).op("i8x16.shr_u"))), wrap((a) => a >> 1));
  const picks = bytes16((i) => 15 - i);
  assertEquals(asU8(vector([bytes, picks], (f) => f.op("i8x16.swizzle"))), [...bytes].reverse());
  const shuffled = vector([bytes, ones], (f) => f.shuffle(bytes16((i) => i < 8 ? i : 16 + i)));
  assertEquals(asU8(shuffled), [...bytes.slice(0, 8), ...ones.slice(8)]);

  const shorts = new Int16Array([1, -2, 300, 400, -500, 6, 7, 8]);
  const twos = new Int16Array(8).fill(2);
  assertEquals(
    asI16(vector([shorts, twos], (f) => f.op("i16x8.mul"))),
    [...shorts].map((x) => x * 2),
  );
  assertEquals(asI32(vector([shorts, twos], (f) => f.op("i32x4.dot_i16x8_s"))), [
    -2,
    1400,
    -988,
    30,
  ]);
  assertEquals(asI32(vector([shorts], (f) => f.op("i32x4.extend_low_i16x8_s"))), [1, -2, 300, 400]);
  assertEquals(asI32(vector([shorts], (f) => f.op("i32x4.extend_high_i16x8_u")))[0], 65036);
  assertEquals(
    asI32(vector([shorts], (f) => f.op("i32x4.extadd_pairwise_i16x8_s"))),
    [-1, 700, -494, 15],
  );
  assertEquals(
    asI32(vector([shorts, twos], (f) => f.op("i32x4.extmul_high_i16x8_s"))),
    [-1000, 12, 14, 16],
  );
  const narrowed = asU8(vector([shorts, twos], (f) => f.op("i8x16.narrow_i16x8_u")));
  assertEquals(narrowed.slice(0, 5), [1, 0, 255, 255, 0]);

  const a = i32s(5, -6, 2 ** 30, -1);
  const b = i32s(3, 3, 4, 1);
  const quad = (op: PlainOp) => asI32(vector([a, b], (f) => f.op(op)));
  assertEquals(quad("i32x4.add"), [8, -3, 2 ** 30 + 4, 0]);
  assertEquals(quad("i32x4.sub"), [2, -9, 2 ** 30 - 4, -2]);
  assertEquals(quad("i32x4.mul"), [15, -18, 0, -1]);
  assertEquals(quad("i32x4.max_u"), [5, -6, 2 ** 30, -1]);
  assertEquals(quad("i32x4.gt_s"), [-1, 0, -1, 0]);
  assertEquals(asI32(vector([a], (f) => f.i32(33).op("i32x4.shl"))), [10, -12, -(2 ** 31), -2]);
  assertEquals(asI64(vector([a, b], (f) => f.op("i64x2.extmul_low_i32x4_s"))), [15n, -18n]);
  const c = new BigInt64Array([5n, -6n]);
  const d = new BigInt64Array([7n, 8n]);
  assertEquals(asI64(vector([c, d], (f) => f.op("i64x2.mul"))), [35n, -48n]);
  assertEquals(asI64(vector([c, d], (f) => f.op("i64x2.lt_s"))), [-1n, -1n]);
  assertEquals(asI64(vector([c], (f) => f.op("i64x2.abs"))), [5n, 6n]);
  const reduce = (op: PlainOp) =>
    build([], ["i32"], (f) => f.v128(new Uint8Array(a.buffer)).op(op))();
  assertEquals(reduce("v128.any_true"), 1);
  assertEquals(reduce("i32x4.all_true"), 1);
  assertEquals(reduce("i32x4.bitmask"), 0b1010);
});

Deno.test("vector bits, splats, lanes, conversions, lane loads", () => {
  const a = i32s(0b1100, -1, 0, 7);
  const b = i32s(0b1010, 1, 5, 7);
  const bits = (op: PlainOp) => asI32(vector([a, b], (f) => f.op(op)));
  assertEquals(bits("v128.and"), [0b1000, 1, 0, 7]);
  assertEquals(bits("v128.andnot"), [0b0100, -2, 0, 0]);
  assertEquals(bits("v128.xor"), [0b0110, -2, 5, 0]);
  assertEquals(
    asI32(vector([a, b, i32s(-1, 0, -1, 1)], (f) => f.op("v128.bitselect"))),
    [0b1100, 1, 0, 7],
  );
  assertEquals(asF32(vector([], (f) => f.f32(2.5).op("f32x4.splat"))), [2.5, 2.5, 2.5, 2.5]);
  assertEquals(asI64(vector([], (f) => f.i64(-3n).op("i64x2.splat"))), [-3n, -3n]);
  assertEquals(
    asI32(vector([a], (f) => f.i32(9).lane("i32x4.replace_lane", 2))),
    [0b1100, -1, 9, 7],
  );
  const extract = build([], ["i32"], (f) => {
    f.v128(bytes16((i) => 240 + i)).lane("i8x16.extract_lane_s", 3);
  });
  assertStrictEquals(extract(), 243 - 256);
  assertEquals(asI32(vector([f32s(-1.9, 3e9, NaN, 7)], (f) => f.op("i32x4.trunc_sat_f32x4_s"))), [
    -1,
    2147483647,
    0,
    7,
  ]);
  assertEquals(asF32(vector([a], (f) => f.op("f32x4.convert_i32x4_s"))), [12, -1, 0, 7]);
  assertEquals(asF64(vector([f32s(1.5, 2, 3, 4)], (f) => f.op("f64x2.promote_low_f32x4"))), [
    1.5,
    2,
  ]);
  assertEquals(asF32(vector([f64s(0.5, 3)], (f) => f.op("f32x4.demote_f64x2_zero"))), [
    0.5,
    3,
    0,
    0,
  ]);
  assertEquals(asF64(vector([a], (f) => f.op("f64x2.convert_low_i32x4_u"))), [12, 4294967295]);

  const memory = new WebAssembly.Memory({ initial: 1 });
  const all = new Int32Array(memory.buffer);
  all.set([10, 20, 30, 40, 1, 2, 3, 4]);
  build([], [], (f) => {
    f.i32(64).i32(4).mem("v128.load32_splat").mem("v128.store");
    f.i32(80).i32(4).i32(16).mem("v128.load").memLane("v128.load32_lane", 3).mem("v128.store");
    f.i32(96).i32(16).mem("v128.load").memLane("v128.store32_lane", 1, { offset: 8 });
    f.i32(112).i32(0).mem("v128.load64_zero").mem("v128.store");
    f.i32(128).i32(0).mem("v128.load8x8_u").mem("v128.store");
  }, memory)();
  assertEquals([...all.subarray(16, 20)], [20, 20, 20, 20]);
  assertEquals([...all.subarray(20, 24)], [1, 2, 3, 20]);
  assertEquals([...all.subarray(24, 28)], [0, 0, 2, 0]);
  assertEquals([...all.subarray(28, 32)], [10, 20, 0, 0]);
  assertEquals([...all.subarray(32, 36)], [10, 0, 20, 0]);
});

Deno.test({
  name: "relaxed vector operations",
  ignore: !wasmFeatures().relaxedSimd,
  fn() {
    const a = f32s(1, 2, 3, 4);
    const b = f32s(5, 6, 7, 8);
    const c = f32s(1, 1, 1, 1);
    assertEquals(asF32(vector([a, b, c], (f) => f.op("f32x4.relaxed_madd"))), [6, 13, 22, 33]);
    assertEquals(asF32(vector([a, b, c], (f) => f.op("f32x4.relaxed_nmadd"))), [-4, -11, -20, -31]);
    const d = [f64s(1, 2), f64s(3, 4), f64s(5, 6)];
    assertEquals(asF64(vector(d, (f) => f.op("f64x2.relaxed_madd"))), [8, 14]);
    assertEquals(asF64(vector(d, (f) => f.op("f64x2.relaxed_nmadd"))), [2, -2]);
    assertEquals(asF32(vector([a, b], (f) => f.op("f32x4.relaxed_max"))), [5, 6, 7, 8]);
    assertEquals(asF64(vector(d.slice(1), (f) => f.op("f64x2.relaxed_min"))), [3, 4]);
    const mask = i32s(-1, 0, -1, 0);
    assertEquals(asF32(vector([a, b, mask], (f) => f.op("i32x4.relaxed_laneselect"))), [
      1,
      6,
      3,
      8,
    ]);
    assertEquals(asI32(vector([b], (f) => f.op("i32x4.relaxed_trunc_f32x4_s"))), [5, 6, 7, 8]);
    const x = bytes16((i) => i);
    const y = bytes16(() => 2);
    assertEquals(
      asI16(vector([x, y], (f) => f.op("i16x8.relaxed_dot_i8x16_i7x16_s"))),
      [2, 10, 18, 26, 34, 42, 50, 58],
    );
    assertEquals(
      asI32(vector([x, y, i32s(1, 1, 1, 1)], (f) => f.op("i32x4.relaxed_dot_i8x16_i7x16_add_s"))),
      [13, 45, 77, 109],
    );
    assertEquals(asU8(vector([y, x], (f) => f.op("i8x16.relaxed_swizzle"))), [...y]);
  },
});

Deno.test({
  name: "atomics on shared memory",
  ignore: !wasmFeatures().threads,
  fn() {
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 4, shared: true });
    const run = (result: ValueType, body: (f: FunctionBuilder) => void) =>
      build([], [result], body, memory)();
    const all = new Int32Array(memory.buffer);
    all[2] = 5;
    assertStrictEquals(run("i32", (f) => f.i32(8).mem("i32.atomic.load")), 5);
    assertStrictEquals(run("i32", (f) => f.i32(8).i32(3).mem("i32.atomic.rmw.add")), 5);
    assertStrictEquals(run("i32", (f) => f.i32(8).i32(1).mem("i32.atomic.rmw.sub")), 8);
    assertStrictEquals(run("i32", (f) => f.i32(8).i32(9).mem("i32.atomic.rmw.xchg")), 7);
    assertStrictEquals(
      run("i32", (f) => f.i32(8).i32(9).i32(77).mem("i32.atomic.rmw.cmpxchg")),
      9,
    );
    assertStrictEquals(run("i32", (f) => f.i32(8).i32(1).mem("i32.atomic.rmw8.or_u")), 77);
    assertStrictEquals(run("i64", (f) => f.i32(16).i64(6).mem("i64.atomic.rmw.xor")), 0n);
    assertStrictEquals(run("i64", (f) => f.i32(16).mem("i64.atomic.load")), 6n);
    assertStrictEquals(run("i32", (f) => f.i32(8).i32(1).mem("memory.atomic.notify")), 0);
    const wait = run("i32", (f) => {
      f.atomicFence().i32(8).i32(12345).i64(0).mem("memory.atomic.wait32");
    });
    assertStrictEquals(wait, 1);
    assertStrictEquals(all[2], 77);
  },
});

Deno.test({
  name: "64-bit addresses: the pointer helpers follow the module's width",
  ignore: !wasmFeatures().memory64,
  fn() {
    for (const ptr of ["i32", "i64"] as const) {
      const wide = ptr === "i64";
      // deno-lint-ignore no-explicit-any -- the 64-bit descriptor is not in the type library yet
      const descriptor: any = wide ? { initial: 1n, address: "i64" } : { initial: 1 };
      const memory = new WebAssembly.Memory(descriptor);
      new Int32Array(memory.buffer)[5] = 99;
      const module = new ModuleBuilder({ ptr });
      module.importMemory("env", "memory");
      const f = module.func({ params: [ptr, "i32"], results: ["i32"], export: "f" });
      const index = f.local(ptr);
      f.get(f.params[1]).toPtr().set(index);
      f.address(f.params[0], index, 2).ptrConst(4).ptrOp("sub").mem("i32.load", { offset: 8 });
      const { exports } = new WebAssembly.Instance(module.compile(), { env: { memory } });
      assertStrictEquals((exports.f as Fn)(wide ? 8n : 8, 2), 99);
    }
  },
});
