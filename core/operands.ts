// Whether what a call was given is a tensor: programs also run without a type check. Not here: shapes, dtypes.
import { ValueError } from "./errors.ts";
import { Tensor } from "./tensor.ts";

/** What a value is, and what to do about it. */
function explain(x: unknown): string {
  if (x === null || x === undefined) return `${x}; check where it comes from`;
  if (typeof x === "string") return `the string ${JSON.stringify(x)}; write a number`;
  if (Array.isArray(x)) return "an array; make a tensor of it with tensor(…)";
  const name = typeof x === "object" ? x.constructor?.name ?? "object" : typeof x;
  const kind = `a value of kind ${name}`;
  if (ArrayBuffer.isView(x)) return `${kind}; make a tensor of it with tensor(…)`;
  if (x instanceof Promise) return `${kind}; await it first`;
  if (name === "Tensor" || name === "Parameter") {
    return `${kind} of another copy of Plesio; import one mod.ts by one address`;
  }
  return kind;
}

/** Throws a ValueError unless all are tensors. */
export function expectTensors(call: string, ...xs: readonly unknown[]): void {
  for (const x of xs) {
    if (x instanceof Tensor) continue;
    throw new ValueError(`Cannot ${call}: operands must be tensors: got ${explain(x)}`);
  }
}

/** Throws a ValueError unless it is a number, a bigint or a boolean. */
export function expectScalar(call: string, x: unknown): void {
  if (typeof x === "number" || typeof x === "boolean" || typeof x === "bigint") return;
  throw new ValueError(`Cannot ${call}: operands must be tensors or numbers: got ${explain(x)}`);
}
