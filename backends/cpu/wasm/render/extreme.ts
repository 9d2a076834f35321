// The smallest or largest of floats. The vector instruction that keeps NaN and the sign of zero takes
// many steps; here NaN is remembered on the side, and lanes cost a few short steps each. Not here:
// loops.
import { type Carrier, floats, type FloatType } from "./carrier.ts";
import { Cell, setCells } from "./cell.ts";
import type { Code } from "./code.ts";
import { constantNode } from "./scalar.ts";
import type { Value } from "./storage.ts";
import { blendValue, extract, splatValue } from "./vector.ts";

/** A running minimum or maximum. */
export class Extreme implements Carrier {
  readonly hasBlocks = false;
  readonly #code: Code;
  readonly #dtype: FloatType;
  readonly #name: "min" | "max";
  readonly #parts: readonly Cell[];
  /** Lanes that have met a NaN, as a mask; its cells have the width of the values. */
  readonly #spoiled: Cell | null;

  constructor(
    code: Code,
    dtype: FloatType,
    options: { name: "min" | "max"; lanes: boolean; parts: number },
  ) {
    this.#code = code;
    this.#dtype = dtype;
    this.#name = options.name;
    const { lanes, parts } = options;
    this.#parts = Array.from({ length: parts }, () => new Cell(code, dtype, lanes));
    this.#spoiled = lanes ? new Cell(code, dtype, lanes) : null;
  }

  start(init: Value): void {
    for (const part of this.#parts) setCells(this.#code, [part], [init]);
    if (this.#spoiled) setCells(this.#code, [this.#spoiled], [this.#isNan(init)]);
  }

  #isNan(x: Value): Value {
    return floats(this.#code, this.#dtype, "ne", x, x);
  }

  open(): void {}

  close(): void {}

  add(value: Value, part: number): void {
    const code = this.#code;
    const cell = this.#parts[part];
    const old = cell.read();
    if (this.#spoiled === null) {
      setCells(code, [cell], [floats(code, this.#dtype, this.#name, old, value)]);
      return;
    }
    // The two orders differ for zeros of both signs, of which the bits tell, and for NaN.
    const name = this.#name === "min" ? "pmin" : "pmax";
    const a = floats(code, this.#dtype, name, old, value);
    const b = floats(code, this.#dtype, name, value, old);
    const join = this.#name === "min" ? "v128.or" : "v128.and";
    const spoiled = this.#spoiled.read();
    const nan = this.#isNan(value);
    setCells(code, [cell, this.#spoiled], [
      a.map((x, half) => code.op(join, x, b[half])),
      spoiled.map((x, half) => code.op("v128.or", x, nan[half])),
    ]);
  }

  addDirectly(value: Value): void {
    this.add(value, 0);
  }

  addLanes(other: Extreme): void {
    const lanes = other.value();
    const [cell] = this.#parts;
    for (let k = 0; k < 4; k++) {
      const lane = [extract(this.#code, this.#dtype, lanes, k)];
      setCells(this.#code, [cell], [
        floats(this.#code, this.#dtype, this.#name, cell.read(), lane),
      ]);
    }
  }

  value(): Value {
    const code = this.#code;
    const all = this.#parts.map((p) => p.read())
      .reduce((a, b) => floats(code, this.#dtype, this.#name, a, b));
    if (this.#spoiled === null) return all;
    const nan = splatValue(code, this.#dtype, constantNode(code, this.#dtype, NaN));
    return blendValue(code, this.#spoiled.read(), nan, all);
  }
}
