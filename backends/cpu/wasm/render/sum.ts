// Sums of floats that lose nothing on the way, for reductions and scans. Not here: loops.
import type { ComputeType } from "../../../../core/dtype.ts";
import { walk } from "../../../../core/ir/expr.ts";
import { simpleCombine, type Stage } from "../../../../core/ir/kernel.ts";
import type { PlainOp } from "../asm/mod.ts";
import type { Code, Node } from "./code.ts";
import { Cell, setCells } from "./cell.ts";
import { castScalar, constantNode } from "./scalar.ts";
import { isScalar, type Value } from "./storage.ts";
import { blendValue, castVector, extract, splatValue } from "./vector.ts";

/** A stage that carries a state. */
export type FoldStage = Extract<Stage, { kind: "reduce" | "scan" }>;

/** Whether state `i` is a sum of floats that the other states do not look at. */
export function isSum(stage: FoldStage, i: number): boolean {
  const { dtype } = stage.combine[i];
  if (dtype !== "float32" && dtype !== "float64") return false;
  if (simpleCombine(stage, i) !== "add") return false;
  let alone = true;
  walk(stage.combine.filter((_, k) => k !== i), (e) => {
    if (e.op === "left" && e.index === i) alone = false;
  });
  return alone;
}

/** An instruction on float values, scalars or lanes. */
function floats(
  code: Code,
  dtype: "float32" | "float64",
  name: "add" | "sub" | "abs" | "gt",
  ...args: Value[]
): Value {
  const wide = !isScalar(args[0]);
  const type = dtype === "float32" ? (wide ? "f32x4" : "f32") : wide ? "f64x2" : "f64";
  const op = `${type}.${name}` as PlainOp;
  return args[0].map((_, half) => code.op(op, ...args.map((a) => a[half])));
}

function convert(code: Code, from: ComputeType, to: ComputeType, x: Value): Value {
  return isScalar(x) ? [castScalar(code, from, to, x[0])] : castVector(code, from, to, x)!;
}

/** -0 leaves every float as it is when it is added; 0 does not (-0 + 0 is 0). */
function nothing(code: Code, dtype: ComputeType, lanes: boolean): Value {
  const zero = constantNode(code, dtype, -0);
  return lanes ? splatValue(code, dtype, zero) : [zero];
}

/**
 * A sum of floats. Short partial sums are taken in the dtype itself and added to a total that holds
 * more: float64 for float32; for float64 a pair of float64 of which the second holds what the first
 * lost (Knuth's two-sum, The Art of Computer Programming 2, 4.2.2).
 */
export class Sum {
  readonly #code: Code;
  readonly #dtype: "float32" | "float64";
  readonly #lanes: boolean;
  readonly #parts: readonly Cell[];
  readonly #total: Cell;
  readonly #lost: Cell | null;

  constructor(
    code: Code,
    dtype: "float32" | "float64",
    options: { lanes: boolean; parts: number },
  ) {
    this.#code = code;
    this.#dtype = dtype;
    this.#lanes = options.lanes;
    this.#parts = Array.from({ length: options.parts }, () => new Cell(code, dtype, options.lanes));
    this.#total = new Cell(code, "float64", options.lanes);
    this.#lost = dtype === "float64" ? new Cell(code, "float64", options.lanes) : null;
  }

  /** Starts from a value, or from nothing. */
  start(value: Value = nothing(this.#code, this.#dtype, this.#lanes)): void {
    const code = this.#code;
    setCells(code, [this.#total], [convert(code, this.#dtype, "float64", value)]);
    if (this.#lost) setCells(code, [this.#lost], [nothing(code, "float64", this.#lanes)]);
  }

  /** Begins new partial sums. */
  open(): void {
    for (const part of this.#parts) {
      setCells(this.#code, [part], [nothing(this.#code, this.#dtype, this.#lanes)]);
    }
  }

  /** Adds to one of the partial sums. */
  add(value: Value, part: number): void {
    const cell = this.#parts[part];
    setCells(this.#code, [cell], [floats(this.#code, this.#dtype, "add", cell.read(), value)]);
  }

  /** Adds the partial sums to the total, as a tree. */
  close(): void {
    let values = this.#parts.map((p) => p.read());
    while (values.length > 1) {
      values = values.flatMap((v, i) =>
        i % 2 === 1 ? [] : i + 1 === values.length ? [v] : [
          floats(this.#code, this.#dtype, "add", v, values[i + 1]),
        ]
      );
    }
    this.addToTotal(convert(this.#code, this.#dtype, "float64", values[0]));
  }

  /** Adds a value of the sum's own dtype to the total. */
  addDirectly(value: Value): void {
    this.addToTotal(convert(this.#code, this.#dtype, "float64", value));
  }

  /** Adds a float64 to the total. */
  addToTotal(x: Value): void {
    const code = this.#code;
    const f = (name: "add" | "sub", a: Value, b: Value): Value =>
      floats(code, "float64", name, a, b);
    const old = this.#total.read();
    const sum = f("add", old, x);
    if (this.#lost === null) {
      setCells(code, [this.#total], [sum]);
      return;
    }
    const taken = f("sub", sum, old);
    const error = f("add", f("sub", old, f("sub", sum, taken)), f("sub", x, taken));
    setCells(code, [this.#total, this.#lost], [sum, f("add", this.#lost.read(), error)]);
  }

  /** Adds the lanes of a vector sum to this scalar one. */
  addLanes(other: Sum): void {
    const code = this.#code;
    const lane = (v: Value, i: number): Node => extract(code, "float64", v, i);
    if (this.#lost === null) {
      const [low, high] = other.#total.read();
      const pair = [code.op("f64x2.add", low, high)];
      this.addToTotal([code.op("f64.add", lane(pair, 0), lane(pair, 1))]);
      return;
    }
    for (let i = 0; i < 4; i++) this.addToTotal([lane(other.#total.read(), i)]);
    const [low, high] = other.#lost!.read();
    const pair = [code.op("f64x2.add", low, high)];
    const lost = code.op("f64.add", lane(pair, 0), lane(pair, 1));
    setCells(code, [this.#lost], [floats(code, "float64", "add", this.#lost.read(), [lost])]);
  }

  /** The sum, rounded to its dtype. */
  value(): Value {
    const code = this.#code;
    const total = this.#total.read();
    if (this.#lost === null) return convert(code, "float64", this.#dtype, total);
    // Past infinity what was lost is NaN; where nothing was lost, -0 stays -0.
    const lost = this.#lost.read();
    const whole = floats(code, "float64", "add", total, lost);
    const zero = nothing(code, "float64", this.#lanes);
    const some = floats(code, "float64", "gt", floats(code, "float64", "abs", lost), zero);
    if (this.#lanes) return blendValue(code, some, whole, total);
    return [code.op("select", whole[0], total[0], some[0])];
  }
}
