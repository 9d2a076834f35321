// Texts that are equal for calls that may share a plan. Not here: the caches.
import { DTYPES } from "../dtype.ts";
import type { Attrs, Operand } from "../op.ts";

/** Attributes as text: strict about -0, NaN and infinities, which JSON is not. */
export function attrsKey(attrs: Attrs): string {
  let key = "";
  for (const name of Object.keys(attrs)) {
    const v = attrs[name];
    if (v !== undefined) key += `${name}=${valueKey(v)};`;
  }
  return key;
}

function valueKey(v: unknown): string {
  switch (typeof v) {
    case "number":
      return Object.is(v, -0) ? "-0" : String(v);
    case "bigint":
      return `${v}n`;
    case "string":
      return JSON.stringify(v);
    case "object":
      if (v === null) return "null";
      if (Array.isArray(v)) return `[${v.map(valueKey).join(",")}]`;
      return `{${attrsKey(v as Attrs)}}`;
    default:
      return String(v);
  }
}

/**
 * A number's kind, all that a plan depends on: its value is an argument. Capitals are beyond int32, X beyond int64,
 * so that the rule of dtypes is asked about them.
 */
export function scalarKind(x: number | bigint | boolean): "i" | "I" | "f" | "b" | "n" | "N" | "X" {
  if (typeof x === "boolean") return "b";
  if (typeof x === "number" && !Number.isInteger(x)) return "f";
  const whole = typeof x === "number" ? "i" : "n";
  if (x >= -(2 ** 31) && x < 2 ** 31) return whole;
  if (x >= -(2 ** 63) && x < 2 ** 63) return whole === "i" ? "I" : "N";
  return "X";
}

/** Shapes, dtypes, strides where they are not dense, and kinds of numbers. */
export function operandsKey(operands: readonly Operand[], withGrad: boolean): string {
  let key = "";
  for (let i = 0; i < operands.length; i++) {
    const x = operands[i];
    if (typeof x !== "object") {
      key += `|${scalarKind(x)}`;
      continue;
    }
    key += `|${DTYPES[x.dtype].code}:${x.shape.join(",")}`;
    if (!x.isContiguous) key += `/${x.impl.strides.join(",")}`;
    if (withGrad && x.impl.requiresGrad) key += "g";
  }
  return key;
}
