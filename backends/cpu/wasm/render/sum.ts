// Sums of floats that lose nothing on the way, for reductions and scans. Not here: loops.
import type { ComputeType } from "../../../../core/dtype.ts";
import { type Carrier, floats, type FloatType } from "./carrier.ts";
import { Cell, setCells } from "./cell.ts";
import type { Code, Node } from "./code.ts";
import { castScalar, constantNode } from "./scalar.ts";
import { isScalar, type Value } from "./storage.ts";
import { blendValue, castVector, extract, splatValue } from "./vector.ts";

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
export class Sum implements Carrier {
  readonly hasBlocks = true;
  readonly #code: Code;
  readonly #dtype: FloatType;
  readonly #lanes: boolean;
  readonly #parts: readonly Cell[];
  readonly #total: Cell;
  readonly #lost: Cell | null;

  constructor(
    code: Code,
    dtype: FloatType,
    options: { lanes: boolean; parts: number },
  ) {
    this.#code = code;
    this.#dtype = dtype;
    this.#lanes = options.lanes;
    this.#parts = Array.from({ length: options.parts }, () => new Cell(code, dtype, options.lanes));
    this.#total = new Cell(code, "float64", options.lanes);
    this.#lost = dtype === "float64" ? new Cell(code, "float64", options.lanes) : null;
  }

  start(init: Value, first: boolean): void {
    const code = this.#code;
    const value = first ? init : nothing(code, this.#dtype, this.#lanes);
    setCells(code, [this.#total], [convert(code, this.#dtype, "float64", value)]);
    if (this.#lost) setCells(code, [this.#lost], [nothing(code, "float64", this.#lanes)]);
  }

  open(): void {
    for (const part of this.#parts) {
      setCells(this.#code, [part], [nothing(this.#code, this.#dtype, this.#lanes)]);
    }
  }

  add(value: Value, part: number): void {
    const cell = this.#parts[part];
    setCells(this.#code, [cell], [floats(this.#code, this.#dtype, "add", cell.read(), value)]);
  }

  /** As a tree. */
  close(): void {
    let values = this.#parts.map((p) => p.read());
    while (values.length > 1) {
      values = values.flatMap((v, i) =>
        i % 2 === 1 ? [] : i + 1 === values.length ? [v] : [
          floats(this.#code, this.#dtype, "add", v, values[i + 1]),
        ]
      );
    }
    this.#addToTotal(convert(this.#code, this.#dtype, "float64", values[0]));
  }

  addDirectly(value: Value): void {
    this.#addToTotal(convert(this.#code, this.#dtype, "float64", value));
  }

  /** Adds a float64. */
  #addToTotal(x: Value): void {
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

  addLanes(other: Sum): void {
    const code = this.#code;
    const lane = (v: Value, i: number): Node => extract(code, "float64", v, i);
    if (this.#lost === null) {
      const [low, high] = other.#total.read();
      const pair = [code.op("f64x2.add", low, high)];
      this.#addToTotal([code.op("f64.add", lane(pair, 0), lane(pair, 1))]);
      return;
    }
    for (let i = 0; i < 4; i++) this.#addToTotal([lane(other.#total.read(), i)]);
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
