// The same for vector instructions, shared memory and 64-bit addresses.

import { assertEquals, assertStrictEquals } from "jsr:@std/assert@1";
import {
  type FunctionBuilder,
  ModuleBuilder,
  type PlainOp,
  type ValueType,
  wasmFeatures,
} from "./mod.ts";
import {
  asF32,
  asF64,
  asI16,
  asI32,
  asI64,
  asU8,
  build,
  bytes16,
  f32s,
  f64s,
  type Fn,
  i32s,
  vector,
} from "./asm_support.ts";

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
