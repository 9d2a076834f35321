// Whether what a call was given is of the kind that it takes: programs also run without a type check. Not here:
// shapes, dtypes.
import { ValueError } from "./errors.ts";
import { Tensor } from "./tensor.ts";

/** What a value is, in words; never an error, whatever it is. */
export function describe(x: unknown): string {
  if (x === null || x === undefined) return `${x}`;
  if (typeof x === "string") return `the string ${JSON.stringify(x)}`;
  if (typeof x === "number" || typeof x === "boolean") return `${x}`;
  if (typeof x === "bigint") return `${x}n`;
  if (Array.isArray(x)) return "an array";
  return `a value of kind ${typeof x === "object" ? x.constructor?.name ?? "object" : typeof x}`;
}

/** What a value is, and what to do about it where a tensor is needed. */
function explain(x: unknown): string {
  const what = describe(x);
  if (x === null || x === undefined) return `${what}; check where it comes from`;
  if (typeof x === "string") return `${what}; write a number`;
  if (Array.isArray(x) || ArrayBuffer.isView(x)) {
    return `${what}; make a tensor of it with tensor(…)`;
  }
  if (x instanceof Promise) return `${what}; await it first`;
  if (what.endsWith(" Tensor") || what.endsWith(" Parameter")) {
    return `${what} of another copy of Plesio; import one mod.ts by one address`;
  }
  return what;
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

/** One tensor or several as a list; throws a ValueError for anything else. */
export function tensorsOf(call: string, xs: Tensor | readonly Tensor[]): readonly Tensor[] {
  const list = Array.isArray(xs) ? xs : [xs];
  expectTensors(call, ...list);
  return list;
}

/** Throws a ValueError unless options are an object of names: a number in their place would be left unread. */
export function expectOptions(call: string, options: unknown): void {
  if (typeof options === "object" && options !== null && !Array.isArray(options)) {
    if (!(options instanceof Tensor)) return;
  }
  throw new ValueError(
    `Cannot ${call}: options are an object of names and values: got ${describe(options)}; ` +
      "write {name: value}, or leave them out",
  );
}

/** Throws a ValueError unless it is a function. */
export function expectFunction(call: string, x: unknown): void {
  if (typeof x === "function") return;
  throw new ValueError(
    `Cannot ${call}: it takes a function: got ${describe(x)}; write ${call}(() => …)`,
  );
}
