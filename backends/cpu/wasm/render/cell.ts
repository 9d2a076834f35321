// A mutable value in local variables: a scalar, or lanes. Not here: what is kept in it.
import type { ComputeType } from "../../../../core/dtype.ts";
import type { Code, Variable } from "./code.ts";
import { SCALAR_TYPE } from "./scalar.ts";
import { isScalar, type Value } from "./storage.ts";
import { isWide, narrowMask } from "./vector.ts";

/** A mutable value; lives to the end of the block it is made in. */
export class Cell {
  readonly dtype: ComputeType;
  readonly #code: Code;
  readonly variables: readonly Variable[];

  constructor(code: Code, dtype: ComputeType, lanes: boolean) {
    this.dtype = dtype;
    this.#code = code;
    const type = lanes ? "v128" : SCALAR_TYPE[dtype];
    const count = lanes && isWide(dtype) ? 2 : 1;
    this.variables = Array.from({ length: count }, () => code.variable(type));
  }

  /** The value now: to be used before it is set again in the same block. */
  read(): Value {
    return this.variables.map((v) => this.#code.read(v));
  }
}

/** Sets cells, all values computed before. */
export function setCells(code: Code, cells: readonly Cell[], values: readonly Value[]): void {
  const nodes = cells.flatMap((cell, i) => {
    const value = values[i];
    if (cell.dtype === "bool" && !isScalar(value)) return [narrowMask(code, value)];
    return value;
  });
  if (cells.length > 0) code.set(cells.flatMap((c) => c.variables), nodes);
}
