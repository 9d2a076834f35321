// States of reductions that have a way of their own, better than their combine applied as it
// stands. Not here: the ways (sum.ts, extreme.ts).
import { type Expr, walk } from "../../../../core/ir/expr.ts";
import { simpleCombine, type Stage } from "../../../../core/ir/kernel.ts";
import type { PlainOp } from "../asm/mod.ts";
import type { Code } from "./code.ts";
import { isFloatType } from "./scalar.ts";
import { isScalar, type Value } from "./storage.ts";

/** A stage that carries a state. */
export type FoldStage = Extract<Stage, { kind: "reduce" | "scan" }>;

/** The types that carriers exist for. */
export type FloatType = "float32" | "float64";

/** One state, carried through a reduction as scalars or as lanes, in parts that are independent. */
export interface Carrier {
  /** Whether points must be taken in blocks, with `open` before and `close` after each. */
  readonly hasBlocks: boolean;
  /** Starts from the start of the reduction; of several carriers of one state one is the first. */
  start(init: Value, first: boolean): void;
  open(): void;
  /** Takes a value into a part. */
  add(value: Value, part: number): void;
  /** Takes a value outside of blocks. */
  addDirectly(value: Value): void;
  close(): void;
  /** Takes in a carrier of the same state that has lanes; this one has scalars. */
  addLanes(other: this): void;
  value(): Value;
}

/** What carrier state `i` of a stage can have: one that the other states do not look at. */
export function carrierOf(stage: FoldStage, i: number): "sum" | "min" | "max" | null {
  if (!isFloatType(stage.combine[i].dtype)) return null;
  const op = simpleCombine(stage, i);
  if (op !== "add" && op !== "min" && op !== "max") return null;
  let alone = true;
  walk(stage.combine.filter((_, k) => k !== i), (e: Expr) => {
    if (e.op === "left" && e.index === i) alone = false;
  });
  if (!alone) return null;
  return op === "add" ? "sum" : op;
}

/** An instruction on float values, all scalars or all lanes. */
export function floats(
  code: Code,
  dtype: FloatType,
  name: "add" | "sub" | "abs" | "gt" | "ne" | "min" | "max" | "pmin" | "pmax",
  ...args: Value[]
): Value {
  const wide = !isScalar(args[0]);
  const type = dtype === "float32" ? (wide ? "f32x4" : "f32") : wide ? "f64x2" : "f64";
  const op = `${type}.${name}` as PlainOp;
  return args[0].map((_, half) => code.op(op, ...args.map((a) => a[half])));
}
