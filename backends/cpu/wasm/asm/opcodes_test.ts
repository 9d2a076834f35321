// Every row of the instruction tables against the engine's validator: type, alignment, lane count.

import { assertEquals } from "jsr:@std/assert@1";
import {
  type FunctionBuilder,
  ModuleBuilder,
  type PlainOp,
  type ValueType,
  wasmFeatures,
} from "./mod.ts";
import { LANE_OPS, MEMORY_LANE_OPS, MEMORY_OPS, PLAIN_OPS } from "./opcodes.ts";

/** Operand and result types by an instruction's name; enough to let the engine check the tables. */
function signature(name: string): { params: ValueType[]; result?: ValueType } {
  const [type, op] = name.split(/\.(.*)/s);
  const operands: Record<string, ValueType> = { i32: "i32", i64: "i64", f32: "f32", f64: "f64" };
  const t = operands[type] ?? "v128";
  if (t !== "v128") {
    const from = /_(i32|i64|f32|f64)(_[su])?$/.exec(op);
    if (from !== null) return { params: [from[1] as ValueType], result: t };
    const unary = /^(abs|neg|ceil|floor|trunc|nearest|sqrt|clz|ctz|popcnt|eqz|extend)/.test(op);
    const compares = /^(eqz?|ne|lt|gt|le|ge)(_[su])?$/.test(op);
    return { params: unary ? [t] : [t, t], result: compares ? "i32" : t };
  }
  if (op === "splat") {
    const lane = /^i(8|16|32)/.test(type) ? "i32" : type.split("x")[0] as ValueType;
    return { params: [lane], result: "v128" };
  }
  if (/^(any_true|all_true|bitmask)$/.test(op)) return { params: ["v128"], result: "i32" };
  if (/^sh[lr]/.test(op)) return { params: ["v128", "i32"], result: "v128" };
  if (/(bitselect|relaxed_n?madd|laneselect|dot_i8x16_i7x16_add_s)$/.test(op)) {
    return { params: ["v128", "v128", "v128"], result: "v128" };
  }
  const unary =
    /^(not|abs|neg|popcnt|ceil|floor|trunc|nearest|sqrt|extadd|extend|demote|promote|convert|relaxed_trunc)/;
  return { params: unary.test(op) ? ["v128"] : ["v128", "v128"], result: "v128" };
}

Deno.test("every row of the tables is an instruction of the type its name says", () => {
  const valid = (
    params: ValueType[],
    result: ValueType | undefined,
    ptr: boolean,
    body: (f: FunctionBuilder) => void,
  ) => {
    const module = new ModuleBuilder();
    module.importMemory("env", "memory", { max: 1, shared: true });
    const f = module.func({ params, results: result === undefined ? [] : [result] });
    if (ptr) f.i32(0);
    for (const p of f.params) f.get(p);
    body(f);
    return WebAssembly.validate(module.bytes());
  };
  const codes = new Set<number>();
  for (const [name, code] of Object.entries(PLAIN_OPS)) {
    codes.add(code);
    if (["unreachable", "nop", "return", "drop", "select"].includes(name)) continue;
    if (name.includes("relaxed") && !wasmFeatures().relaxedSimd) continue;
    const { params, result } = signature(name);
    assertEquals(valid(params, result, false, (f) => f.op(name as PlainOp)), true, name);
  }
  for (const [name, [code]] of Object.entries(MEMORY_OPS)) {
    codes.add(code);
    const type = (name.startsWith("v128") ? "v128" : name.slice(0, 3)) as ValueType;
    let params: ValueType[] = [];
    let result: ValueType | undefined = type;
    if (name.includes(".store")) [params, result] = [[type], undefined];
    else if (name.includes("cmpxchg")) params = [type, type];
    else if (name.includes("rmw")) params = [type];
    else if (name === "memory.atomic.notify") [params, result] = [["i32"], "i32"];
    else if (name.includes("wait")) {
      [params, result] = [[name.endsWith("64") ? "i64" : "i32", "i64"], "i32"];
    }
    const op = name as Parameters<FunctionBuilder["mem"]>[0];
    assertEquals(valid(params, result, true, (f) => f.mem(op)), true, name);
    if (name.includes("atomic")) continue;
    // One step above the natural alignment is refused, so the table's alignment is the natural one.
    const over = MEMORY_OPS[op][1] + 1;
    assertEquals(valid(params, result, true, (f) => f.mem(op, { align: over })), false, name);
  }
  for (const [name, code] of Object.entries(LANE_OPS)) {
    codes.add(code);
    const type = name.split(".")[0];
    const lane = /^i(8|16|32)/.test(type) ? "i32" : type.split("x")[0] as ValueType;
    const op = name as Parameters<FunctionBuilder["lane"]>[0];
    const count = Number(type.split("x")[1]);
    const params: ValueType[] = name.includes("replace") ? ["v128", lane] : ["v128"];
    const result = name.includes("replace") ? "v128" : lane;
    assertEquals(valid(params, result, false, (f) => f.lane(op, count - 1)), true, name);
    assertEquals(valid(params, result, false, (f) => f.lane(op, count)), false, name);
  }
  for (const [name, [code, align]] of Object.entries(MEMORY_LANE_OPS)) {
    codes.add(code);
    const result = name.includes("store") ? undefined : "v128";
    const op = name as Parameters<FunctionBuilder["memLane"]>[0];
    assertEquals(valid(["v128"], result, true, (f) => f.memLane(op, 0)), true, name);
    assertEquals(valid(["v128"], result, true, (f) => f.memLane(op, 16 >> align)), false, name);
    assertEquals(
      valid(["v128"], result, true, (f) => f.memLane(op, 0, { align: align + 1 })),
      false,
      name,
    );
  }
  const rows = [PLAIN_OPS, MEMORY_OPS, LANE_OPS, MEMORY_LANE_OPS];
  assertEquals(codes.size, rows.reduce((sum, table) => sum + Object.keys(table).length, 0));
});
