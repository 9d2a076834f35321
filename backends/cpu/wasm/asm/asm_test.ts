// Assembles small functions of each scalar instruction class, runs them and compares with JavaScript.

import { assertEquals, assertStrictEquals, assertThrows } from "jsr:@std/assert@1";
import {
  AssemblyError,
  type FunctionBuilder,
  ModuleBuilder,
  type PlainOp,
  type ValueType,
} from "./mod.ts";
import { ByteWriter } from "./bytes.ts";
import { build, type Fn, scalar } from "./asm_support.ts";

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
