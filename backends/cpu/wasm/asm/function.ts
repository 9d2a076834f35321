// Writes the body of one WebAssembly function, instruction by instruction in stack order, with typed
// locals and structured control flow. It does not check operand types: the engine does, on compiling.

import { ByteWriter } from "./bytes.ts";
import {
  LANE_OPS,
  type LaneOp,
  MEMORY_LANE_OPS,
  MEMORY_OPS,
  type MemoryLaneOp,
  type MemoryOp,
  PLAIN_OPS,
  type PlainOp,
} from "./opcodes.ts";
import { AssemblyError, type Local, type PtrType, type ValueType, valueTypeCode } from "./types.ts";

/** Offset in bytes and alignment (log2 of bytes; default the natural one) of a memory access. */
export interface MemoryArgument {
  offset?: number | bigint;
  align?: number;
}

/** An open block, loop or if: what a branch names. */
export interface Label {
  /** Depth counted from the function's body, which is 0. */
  readonly depth: number;
}

/** Operations that exist for both address widths. */
export type PtrOp =
  | "add"
  | "sub"
  | "mul"
  | "div_s"
  | "div_u"
  | "rem_s"
  | "rem_u"
  | "and"
  | "or"
  | "xor"
  | "shl"
  | "shr_s"
  | "shr_u"
  | "eqz"
  | "eq"
  | "ne"
  | "lt_s"
  | "lt_u"
  | "gt_s"
  | "gt_u"
  | "le_s"
  | "le_u"
  | "ge_s"
  | "ge_u";

/** A function under construction; made by `ModuleBuilder.func`. Methods return `this` to chain. */
export class FunctionBuilder {
  /** Index in the module's function space: what `call` names. */
  readonly index: number;
  /** The parameters, as locals. */
  readonly params: readonly Local[];
  /** Type of addresses. */
  readonly ptr: PtrType;
  readonly #locals: ValueType[] = [];
  readonly #code = new ByteWriter();
  #depth = 0;

  constructor(index: number, params: readonly ValueType[], ptr: PtrType) {
    this.index = index;
    this.params = params.map((type, at) => ({ index: at, type }));
    this.ptr = ptr;
  }

  /** A new local variable, zero at entry. */
  local<T extends ValueType>(type: T): Local<T> {
    this.#locals.push(type);
    return { index: this.params.length + this.#locals.length - 1, type };
  }

  #instruction(code: number): void {
    if (code <= 0xff) {
      this.#code.byte(code);
      return;
    }
    this.#code.byteAndUnsigned(code >>> 16, code & 0xffff);
  }

  /** An instruction without immediates, `"f32x4.add"` for one. */
  op(name: PlainOp): this {
    this.#instruction(PLAIN_OPS[name]);
    return this;
  }

  /** Several instructions without immediates. */
  ops(...names: PlainOp[]): this {
    for (const name of names) this.op(name);
    return this;
  }

  /** The pointer-width form of an operation: `i32.add` or `i64.add`. */
  ptrOp(name: PtrOp): this {
    return this.op(`${this.ptr}.${name}`);
  }

  #access(row: readonly [code: number, align: number], argument: MemoryArgument | undefined): void {
    this.#instruction(row[0]);
    this.#code.unsigned(argument?.align ?? row[1]);
    this.#code.unsigned(argument?.offset ?? 0);
  }

  /** A load, store or atomic access, `"v128.load"` for one. */
  mem(name: MemoryOp, argument?: MemoryArgument): this {
    this.#access(MEMORY_OPS[name], argument);
    return this;
  }

  /** Takes or replaces one lane. */
  lane(name: LaneOp, lane: number): this {
    this.#instruction(LANE_OPS[name]);
    this.#code.byte(lane);
    return this;
  }

  /** Loads or stores one lane. */
  memLane(name: MemoryLaneOp, lane: number, argument?: MemoryArgument): this {
    this.#access(MEMORY_LANE_OPS[name], argument);
    this.#code.byte(lane);
    return this;
  }

  /** `i8x16.shuffle` with its 16 byte indexes (0–31). */
  shuffle(indexes: ArrayLike<number>): this {
    if (indexes.length !== 16) {
      throw new AssemblyError(`Cannot shuffle by ${indexes.length} indexes: 16 are needed`);
    }
    this.#instruction(0xfd000d);
    this.#code.raw(indexes);
    return this;
  }

  /** A 32-bit integer constant; unsigned values are taken as their bit pattern. */
  i32(value: number): this {
    this.#code.byte(0x41);
    this.#code.signed32(value);
    return this;
  }

  /** A 64-bit integer constant. */
  i64(value: number | bigint): this {
    this.#code.byte(0x42);
    this.#code.signed64(BigInt(value));
    return this;
  }

  /** A constant of pointer width. */
  ptrConst(value: number | bigint): this {
    return this.ptr === "i64" ? this.i64(value) : this.i32(Number(value));
  }

  /** A float32 constant; for a particular NaN use `f32Bits`. */
  f32(value: number): this {
    this.#code.byte(0x43);
    this.#code.float32(value);
    return this;
  }

  /** A float32 constant by its bits. */
  f32Bits(bits: number): this {
    this.#code.byte(0x43);
    this.#code.fixed32(bits);
    return this;
  }

  /** A float64 constant; for a particular NaN use `f64Bits`. */
  f64(value: number): this {
    this.#code.byte(0x44);
    this.#code.float64(value);
    return this;
  }

  /** A float64 constant by its bits. */
  f64Bits(bits: bigint): this {
    this.#code.byte(0x44);
    this.#code.fixed64(bits);
    return this;
  }

  /** A vector constant by its 16 bytes. */
  v128(bytes: ArrayLike<number>): this {
    if (bytes.length !== 16) {
      throw new AssemblyError(`Cannot make a v128 of ${bytes.length} bytes: 16 are needed`);
    }
    this.#instruction(0xfd000c);
    this.#code.raw(bytes);
    return this;
  }

  /** Pushes a local. */
  get(local: Local): this {
    this.#code.byteAndUnsigned(0x20, local.index);
    return this;
  }

  /** Pops into a local. */
  set(local: Local): this {
    this.#code.byteAndUnsigned(0x21, local.index);
    return this;
  }

  /** Stores the top of the stack in a local and keeps it. */
  tee(local: Local): this {
    this.#code.byteAndUnsigned(0x22, local.index);
    return this;
  }

  /** Adds a constant to an i32 or i64 local. */
  increment(local: Local, by: number): this {
    if (local.type === "i64") return this.get(local).i64(by).op("i64.add").set(local);
    return this.get(local).i32(by).op("i32.add").set(local);
  }

  /** Widens an i32 on the stack to pointer width, as unsigned; nothing when they are the same. */
  toPtr(): this {
    return this.ptr === "i64" ? this.op("i64.extend_i32_u") : this;
  }

  /** Widens an i32 on the stack to pointer width, as signed; nothing when they are the same. */
  toPtrSigned(): this {
    return this.ptr === "i64" ? this.op("i64.extend_i32_s") : this;
  }

  /** Adds base and index · 2^shift, both of pointer width: pushes an address. */
  address(base: Local, index: Local, shift: number): this {
    this.get(base).get(index);
    if (shift > 0) this.ptrConst(shift).ptrOp("shl");
    return this.ptrOp("add");
  }

  #open(code: number, result: ValueType | undefined, body: (label: Label) => void): void {
    this.#code.byte(code);
    this.#code.byte(result === undefined ? 0x40 : valueTypeCode[result]);
    this.#depth++;
    body({ depth: this.#depth });
    this.#depth--;
    this.#code.byte(0x0b);
  }

  /** A block: branching to its label leaves it. */
  block(body: (label: Label) => void, result?: ValueType): this {
    this.#open(0x02, result, body);
    return this;
  }

  /** A loop: branching to its label starts the next round; reaching the end leaves it. */
  loop(body: (label: Label) => void, result?: ValueType): this {
    this.#open(0x03, result, body);
    return this;
  }

  /** Pops an i32 condition; runs one of the two. Branching to the label leaves. */
  if(
    then: (label: Label) => void,
    otherwise?: (label: Label) => void,
    result?: ValueType,
  ): this {
    this.#open(0x04, result, (label) => {
      then(label);
      if (otherwise === undefined) return;
      this.#code.byte(0x05);
      otherwise(label);
    });
    return this;
  }

  /**
   * Counts an integer local from its present value up while it is below `end` (signed), by a
   * constant step; the body may run zero times.
   */
  while(counter: Local, end: Local, step: number, body: () => void): this {
    const type = counter.type === "i64" ? "i64" : "i32";
    return this.block((leave) => {
      this.get(counter).get(end).op(`${type}.ge_s`).brIf(leave);
      this.loop((again) => {
        body();
        this.increment(counter, step);
        this.get(counter).get(end).op(`${type}.lt_s`).brIf(again);
      });
    });
  }

  #target(label: Label): number {
    if (label.depth > this.#depth) {
      throw new AssemblyError("Cannot branch to a block that is already closed");
    }
    return this.#depth - label.depth;
  }

  /** Branches. */
  br(label: Label): this {
    this.#code.byte(0x0c);
    this.#code.unsigned(this.#target(label));
    return this;
  }

  /** Pops an i32 and branches if it is not zero. */
  brIf(label: Label): this {
    this.#code.byte(0x0d);
    this.#code.unsigned(this.#target(label));
    return this;
  }

  /** Pops an i32 and branches to the label of that number, or to the default beyond the list. */
  brTable(labels: readonly Label[], otherwise: Label): this {
    this.#code.byte(0x0e);
    this.#code.unsigned(labels.length);
    for (const label of labels) this.#code.unsigned(this.#target(label));
    this.#code.unsigned(this.#target(otherwise));
    return this;
  }

  /** Calls a function of the module. */
  call(target: { readonly index: number }): this {
    this.#code.byte(0x10);
    this.#code.unsigned(target.index);
    return this;
  }

  /** Pops destination, source and byte count; copies, overlap allowed. */
  memoryCopy(): this {
    this.#code.raw([0xfc, 0x0a, 0x00, 0x00]);
    return this;
  }

  /** Pops destination, byte value (i32) and byte count; fills. */
  memoryFill(): this {
    this.#code.raw([0xfc, 0x0b, 0x00]);
    return this;
  }

  /** Pushes the memory's size in pages, of pointer width. */
  memorySize(): this {
    this.#code.raw([0x3f, 0x00]);
    return this;
  }

  /** Pops a page count and grows the memory; pushes the old size, or −1. */
  memoryGrow(): this {
    this.#code.raw([0x40, 0x00]);
    return this;
  }

  /** Orders atomic accesses. */
  atomicFence(): this {
    this.#code.raw([0xfe, 0x03, 0x00]);
    return this;
  }

  /** The encoded body: locals, code, end. Used by the module builder. */
  body(): ByteWriter {
    const out = new ByteWriter();
    const runs: { type: ValueType; count: number }[] = [];
    for (const type of this.#locals) {
      const last = runs.at(-1);
      if (last?.type === type) last.count++;
      else runs.push({ type, count: 1 });
    }
    out.unsigned(runs.length);
    for (const { type, count } of runs) {
      out.unsigned(count);
      out.byte(valueTypeCode[type]);
    }
    out.append(this.#code);
    out.byte(0x0b);
    return out;
  }
}
