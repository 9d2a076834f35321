// The code of one function as a DAG of pure nodes hung on a tree of blocks (loops and conditions):
// equal nodes are one node, a node lives in the outermost block where its arguments are known
// (so invariants leave loops by themselves), locals are reused. Not here: what expressions or
// kernels mean.
import { InternalError } from "../../../../core/errors.ts";
import type {
  FunctionBuilder,
  LaneOp,
  Local,
  MemoryLaneOp,
  MemoryOp,
  PlainOp,
  ValueType,
} from "../asm/mod.ts";

/** A pure value. */
export interface Node {
  readonly id: number;
  readonly type: ValueType;
  readonly args: readonly Node[];
  /** The block whose every round computes it anew. */
  readonly home: Block;
  readonly write: (f: FunctionBuilder) => void;
  /** Cheaper to repeat than to keep in a local. */
  readonly inline: boolean;
  /** Of a plain load: how it was made, so that a splat can take its place. */
  readonly load?: { readonly op: MemoryOp; readonly offset: number };
  /** Of a scalar constant. */
  readonly value?: number | bigint;
  /** How often the code pushes it, counted before emission. */
  uses: number;
  local?: Local;
}

/** A mutable local, for counters, pointers and accumulators. */
export interface Variable {
  readonly type: ValueType;
  readonly owner: Block;
  local?: Local;
}

/** A store: of a whole value, or of one lane of a vector. */
export interface StoreItem {
  readonly op: MemoryOp | { readonly lane: number; readonly op: MemoryLaneOp };
  readonly address: Node;
  readonly value: Node;
  readonly offset: number;
}

type Statement =
  | { readonly kind: "set"; readonly variables: readonly Variable[]; readonly values: Node[] }
  | { readonly kind: "store"; readonly items: readonly StoreItem[] }
  | {
    readonly kind: "loop";
    readonly counter: Variable;
    readonly limit: Node;
    readonly body: Block;
  }
  | { readonly kind: "when"; readonly condition: Node; readonly body: Block };

/** A sequence of statements that is entered as a whole. */
export class Block {
  readonly parent: Block | null;
  readonly depth: number;
  /** Whether it may be skipped: then only what nothing else needs lives in it. */
  readonly guarded: boolean;
  readonly statements: Statement[] = [];
  /** The nodes that live here, by what they are. */
  readonly table: Map<number, Node> = new Map();
  readonly variables: Variable[] = [];
  /** Nodes used inside that belong to blocks around; known once uses are counted. */
  readonly externals: Set<Node> = new Set();

  constructor(parent: Block | null, guarded = false) {
    this.parent = parent;
    this.guarded = guarded;
    this.depth = parent === null ? 0 : parent.depth + 1;
  }
}

/** More than the nodes of a function; its square times the instructions there are is below 2^53. */
const WIDE = 2 ** 20;

/** The number of a key in the order of their coming. */
function numberOf<K>(numbers: Map<K, number>, key: K): number {
  const known = numbers.get(key);
  if (known !== undefined) return known;
  numbers.set(key, numbers.size);
  return numbers.size - 1;
}

const VECTOR = /^(i8x16|i16x8|i32x4|i64x2|f32x4|f64x2|v128)\./;
const TO_I32 = /\.(any_true|all_true|bitmask|extract_lane.*)$/;
const COMPARISON = /^[if](32|64)\.(eqz|(eq|ne|lt|gt|le|ge)(_[su])?)$/;

const types = new Map<string, ValueType>();

function typeOf(op: PlainOp): ValueType {
  let type = types.get(op);
  if (type === undefined) {
    if (VECTOR.test(op)) type = TO_I32.test(op) ? "i32" : "v128";
    else type = COMPARISON.test(op) ? "i32" : op.slice(0, 3) as ValueType;
    types.set(op, type);
  }
  return type;
}

const LANE_TYPE: Record<LaneOp, ValueType> = {
  "i8x16.extract_lane_s": "i32",
  "i8x16.extract_lane_u": "i32",
  "i8x16.replace_lane": "v128",
  "i16x8.extract_lane_s": "i32",
  "i16x8.extract_lane_u": "i32",
  "i16x8.replace_lane": "v128",
  "i32x4.extract_lane": "i32",
  "i32x4.replace_lane": "v128",
  "i64x2.extract_lane": "i64",
  "i64x2.replace_lane": "v128",
  "f32x4.extract_lane": "f32",
  "f32x4.replace_lane": "v128",
  "f64x2.extract_lane": "f64",
  "f64x2.replace_lane": "v128",
};

const LOAD_SPLAT: Partial<Record<MemoryOp, MemoryOp>> = {
  "i32.load": "v128.load32_splat",
  "f32.load": "v128.load32_splat",
  "i64.load": "v128.load64_splat",
  "f64.load": "v128.load64_splat",
};

/** Collects nodes and statements, then writes them with `emit`. */
export class Code {
  /** Whether relaxed vector instructions may be used. */
  readonly relaxed: boolean;
  readonly #f: FunctionBuilder;
  readonly #root: Block = new Block(null);
  readonly #free = new Map<ValueType, Local[]>();
  readonly #leaves = new Map<string, number>();
  readonly #instructions = new Map<string, number>();
  readonly #pairs = new Map<number, number>();
  #block: Block;
  #count = 0;

  constructor(f: FunctionBuilder, relaxed: boolean) {
    this.#f = f;
    this.relaxed = relaxed;
    this.#block = this.#root;
  }

  /** Type of addresses. */
  get ptr(): "i32" | "i64" {
    return this.#f.ptr;
  }

  #node(
    key: string,
    type: ValueType,
    args: readonly Node[],
    write: (f: FunctionBuilder) => void,
    extra: Partial<Pick<Node, "inline" | "load" | "value" | "home">> = {},
  ): Node {
    let home = extra.home ?? this.#root;
    for (const a of args) if (a.home.depth > home.depth) home = a.home;
    const identity = this.#identity(key, args);
    const known = home.table.get(identity);
    if (known !== undefined) return known;
    for (const guard of this.#guards(home)) {
      const inside = guard.table.get(identity);
      if (inside !== undefined) return inside;
      home = guard;
    }
    if (this.#count >= WIDE) throw new InternalError("Cannot render a kernel of so many nodes");
    const node: Node = {
      id: this.#count++,
      type,
      args,
      write,
      inline: false,
      uses: 0,
      ...extra,
      home,
    };
    home.table.set(identity, node);
    return node;
  }

  /**
   * A number for an instruction, which always has the same count of arguments, and its arguments;
   * numbers are found much faster than texts.
   */
  #identity(key: string, args: readonly Node[]): number {
    if (args.length === 0) return -1 - numberOf(this.#leaves, key);
    const [a, b, c] = args;
    const rest = b === undefined
      ? 0
      : c === undefined
      ? b.id
      : numberOf(this.#pairs, b.id * WIDE + c.id);
    return (numberOf(this.#instructions, key) * WIDE + a.id) * WIDE + rest;
  }

  /** The guarded blocks between a block and this one, if there are no others; outermost first. */
  #guards(home: Block): Block[] {
    const guards: Block[] = [];
    let block: Block | null = this.#block;
    for (; block !== null && block !== home; block = block.parent) {
      if (!block.guarded) return [];
      guards.unshift(block);
    }
    return guards;
  }

  /** Whether a node cannot leave the innermost loop. */
  isInnermost(n: Node): boolean {
    let block = this.#block;
    while (block.guarded && block.parent !== null) block = block.parent;
    return n.home.depth >= block.depth;
  }

  /** A parameter of the function. */
  param(index: number): Node {
    const local = this.#f.params[index];
    return this.#node(`p${index}`, local.type, [], (f) => f.get(local), { inline: true });
  }

  i32(value: number): Node {
    const v = value | 0;
    return this.#node(`i${v}`, "i32", [], (f) => f.i32(v), { inline: true, value: v });
  }

  i64(value: number | bigint): Node {
    const v = BigInt.asIntN(64, BigInt(value));
    return this.#node(`l${v}`, "i64", [], (f) => f.i64(v), { inline: true, value: v });
  }

  f32(value: number): Node {
    const key = Object.is(value, -0) ? "-0" : value;
    return this.#node(`f${key}`, "f32", [], (f) => f.f32(value), { inline: true, value });
  }

  f64(value: number): Node {
    const key = Object.is(value, -0) ? "-0" : value;
    return this.#node(`d${key}`, "f64", [], (f) => f.f64(value), { inline: true, value });
  }

  /** A number of pointer width. */
  ptrConst(value: number): Node {
    return this.ptr === "i64" ? this.i64(value) : this.i32(value);
  }

  /** An instruction without immediates. */
  op(name: PlainOp, ...args: Node[]): Node {
    const type = name === "select" ? args[0].type : typeOf(name);
    return this.#node(name, type, args, (f) => f.op(name));
  }

  /** The pointer-width form of an arithmetic instruction; adding 0 and multiplying by 1 vanish. */
  ptrOp(name: "add" | "sub" | "mul" | "and" | "lt_s" | "ge_s" | "eqz", ...args: Node[]): Node {
    const b = args[1]?.value;
    if (b !== undefined) {
      const v = Number(b);
      if (v === 0 && (name === "add" || name === "sub")) return args[0];
      if (name === "mul" && v === 1) return args[0];
      if (name === "mul" && v === 0) return args[1];
      const a = args[0].value;
      if (a !== undefined && name === "mul") return this.ptrConst(Number(a) * v);
    }
    return this.op(`${this.ptr}.${name}`, ...args);
  }

  /** An i32 as a pointer-width number, signed. */
  toPtr(x: Node): Node {
    return this.ptr === "i64" ? this.op("i64.extend_i32_s", x) : x;
  }

  /** The low 32 bits of a pointer-width number. */
  toI32(x: Node): Node {
    return this.ptr === "i64" ? this.op("i32.wrap_i64", x) : x;
  }

  /** A load. It may leave loops in which its address does not change, unless it is pinned. */
  load(op: MemoryOp, address: Node, offset = 0, pinned = false): Node {
    const type = op.startsWith("v128") ? "v128" : op.slice(0, 3) as ValueType;
    return this.#node(
      `${op}+${offset}`,
      type,
      [address],
      (f) => f.mem(op, { offset, align: 0 }),
      { load: { op, offset }, ...(pinned ? { home: this.#block } : {}) },
    );
  }

  /** Loads one lane of a vector. */
  loadLane(op: MemoryLaneOp, lane: number, address: Node, vector: Node): Node {
    return this.#node(
      `${op}:${lane}`,
      "v128",
      [address, vector],
      (f) => f.memLane(op, lane, { align: 0 }),
    );
  }

  /** Takes or replaces a lane. */
  lane(op: LaneOp, lane: number, ...args: Node[]): Node {
    return this.#node(`${op}:${lane}`, LANE_TYPE[op], args, (f) => f.lane(op, lane));
  }

  /** Picks 16 bytes out of two vectors. */
  shuffle(a: Node, b: Node, indexes: readonly number[]): Node {
    return this.#node(`sh${indexes.join(".")}`, "v128", [a, b], (f) => f.shuffle(indexes));
  }

  /** A vector constant, of which `fill` writes the bytes and the key says which it is. */
  vector(key: string, fill: (view: DataView) => void): Node {
    return this.#node(`v${key}`, "v128", [], (f) => {
      const bytes = new Uint8Array(16);
      fill(new DataView(bytes.buffer));
      f.v128(bytes);
    });
  }

  /** A scalar in all lanes. */
  splat(x: Node): Node {
    if (x.type === "v128") return x;
    const { type, value } = x;
    if (value !== undefined) {
      return this.vector(`${type}${Object.is(value, -0) ? "-0" : value}`, (view) => {
        for (let at = 0; at < 16; at += type.endsWith("32") ? 4 : 8) {
          if (type === "f32") view.setFloat32(at, Number(value), true);
          else if (type === "i32") view.setInt32(at, Number(value), true);
          else if (type === "f64") view.setFloat64(at, Number(value), true);
          else view.setBigInt64(at, BigInt(value), true);
        }
      });
    }
    const splat = x.load === undefined ? undefined : LOAD_SPLAT[x.load.op];
    if (splat !== undefined) {
      const offset = x.load!.offset;
      return this.#node(
        `${splat}+${offset}`,
        "v128",
        x.args,
        (f) => f.mem(splat, { offset, align: 0 }),
        { home: x.home },
      );
    }
    const op = `${x.type}x${x.type.endsWith("32") ? 4 : 2}.splat` as PlainOp;
    return this.op(op, x);
  }

  /** A new variable, living to the end of the block it is made in. */
  variable(type: ValueType): Variable {
    const v: Variable = { type, owner: this.#block };
    this.#block.variables.push(v);
    return v;
  }

  /** The value of a variable in this block: to be used before the block sets it again. */
  read(v: Variable): Node {
    return {
      id: this.#count++,
      type: v.type,
      args: [],
      home: this.#block,
      write: (f) => f.get(v.local!),
      inline: true,
      uses: 0,
    };
  }

  /** Sets variables, all values computed before. */
  set(variables: readonly Variable[], values: readonly Node[]): void {
    this.#block.statements.push({ kind: "set", variables, values: [...values] });
  }

  /** Stores, all values computed before. */
  store(items: readonly StoreItem[]): void {
    if (items.length > 0) this.#block.statements.push({ kind: "store", items });
  }

  /** Runs the body while the counter, which the body must raise, is below the limit (signed). */
  loop(counter: Variable, limit: Node, body: () => void): void {
    this.#inside((block) => ({ kind: "loop", counter, limit, body: block }), body);
  }

  /** Runs the body if the i32 is not 0. */
  when(condition: Node, body: () => void): void {
    this.#inside((block) => ({ kind: "when", condition, body: block }), body);
  }

  /** Like `when`; what only the body needs is computed in it, even if it could be outside. */
  guard(condition: Node, body: () => void): void {
    this.#inside((block) => ({ kind: "when", condition, body: block }), body, true);
  }

  /** Lanes of `yes` where the mask is all ones, of `no` where it is all zeros. */
  blend(mask: Node, yes: Node, no: Node): Node {
    return this.op(this.relaxed ? "i32x4.relaxed_laneselect" : "v128.bitselect", yes, no, mask);
  }

  #inside(make: (block: Block) => Statement, body: () => void, guarded = false): void {
    const outside = this.#block;
    const block = new Block(outside, guarded);
    outside.statements.push(make(block));
    this.#block = block;
    body();
    this.#block = outside;
  }

  /** Writes everything to the function. */
  emit(): void {
    countUses(this.#root);
    this.#emitBlock(this.#root);
  }

  #take(type: ValueType): Local {
    return this.#free.get(type)?.pop() ?? this.#f.local(type);
  }

  #give(local: Local): void {
    const list = this.#free.get(local.type);
    if (list === undefined) this.#free.set(local.type, [local]);
    else list.push(local);
  }

  #push(n: Node, block: Block): void {
    if (n.inline) {
      n.write(this.#f);
      return;
    }
    n.uses--;
    if (n.local !== undefined) {
      this.#f.get(n.local);
      if (n.uses === 0 && n.home === block) this.#give(n.local);
      return;
    }
    if (n.home !== block) throw new InternalError("Cannot push a node of a block around");
    for (const a of n.args) this.#push(a, block);
    n.write(this.#f);
    if (n.uses > 0) {
      n.local = this.#take(n.type);
      this.#f.tee(n.local);
    }
  }

  #prepare(externals: ReadonlySet<Node>, block: Block): void {
    for (const n of externals) {
      if (n.home !== block || n.inline || n.local !== undefined) continue;
      for (const a of n.args) this.#push(a, block);
      n.write(this.#f);
      n.local = this.#take(n.type);
      this.#f.set(n.local);
    }
  }

  #release(externals: ReadonlySet<Node>, block: Block): void {
    for (const n of externals) {
      if (n.home === block && n.uses === 0 && n.local !== undefined) this.#give(n.local);
    }
  }

  #emitBlock(block: Block): void {
    const f = this.#f;
    for (const v of block.variables) v.local = this.#take(v.type);
    for (const s of block.statements) {
      switch (s.kind) {
        case "set":
          for (const value of s.values) this.#push(value, block);
          for (const v of s.variables.toReversed()) f.set(v.local!);
          break;
        case "store":
          for (const item of s.items) {
            this.#push(item.address, block);
            this.#push(item.value, block);
          }
          for (const { op, offset } of s.items.toReversed()) {
            if (typeof op === "string") f.mem(op, { offset, align: 0 });
            else f.memLane(op.op, op.lane, { offset, align: 0 });
          }
          break;
        case "loop":
          this.#prepare(s.body.externals, block);
          f.block((leave) => {
            f.get(s.counter.local!);
            this.#push(s.limit, block);
            f.ptrOp("ge_s").brIf(leave);
            f.loop((again) => {
              this.#emitBlock(s.body);
              f.get(s.counter.local!);
              this.#push(s.limit, s.body);
              f.ptrOp("lt_s").brIf(again);
            });
          });
          this.#release(s.body.externals, block);
          break;
        case "when":
          this.#prepare(s.body.externals, block);
          this.#push(s.condition, block);
          f.if(() => this.#emitBlock(s.body));
          this.#release(s.body.externals, block);
          break;
      }
    }
    for (const v of block.variables) this.#give(v.local!);
  }
}

/** Counts pushes and finds, for every block, what it takes from the blocks around it. */
function countUses(block: Block): void {
  const seen = new Set<Node>();
  const use = (n: Node): void => {
    if (n.home !== block) {
      n.uses++;
      if (!n.inline) block.externals.add(n);
      return;
    }
    n.uses++;
    visit(n);
  };
  const visit = (n: Node): void => {
    if (seen.has(n)) return;
    seen.add(n);
    for (const a of n.args) use(a);
  };
  const outer = (n: Node): void => {
    if (n.home === block) visit(n);
    else block.externals.add(n);
  };
  for (const s of block.statements) {
    switch (s.kind) {
      case "set":
        s.values.forEach(use);
        break;
      case "store":
        for (const item of s.items) {
          use(item.address);
          use(item.value);
        }
        break;
      case "loop":
        countUses(s.body);
        s.body.externals.add(s.limit);
        s.limit.uses += 2;
        s.body.externals.forEach(outer);
        break;
      case "when":
        countUses(s.body);
        use(s.condition);
        s.body.externals.forEach(outer);
        break;
    }
  }
}
