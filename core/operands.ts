// Whether what a call was given is of the kind that it takes: programs also run without a type check. Not here:
// shapes, dtypes.
import { describe } from "./describe.ts";
import { ValueError } from "./errors.ts";
import { Tensor } from "./tensor.ts";

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

/** The same for operands that may be left out. */
export function expectOptional(call: string, ...xs: readonly unknown[]): void {
  expectTensors(call, ...xs.filter((x) => x !== undefined));
}

/** One tensor or several as a list; throws a ValueError for anything else. */
export function tensorsOf(call: string, xs: Tensor | readonly Tensor[]): readonly Tensor[] {
  const list = Array.isArray(xs) ? xs : [xs];
  expectTensors(call, ...list);
  return list;
}

/** Names that options have in PyTorch and NumPy, with the name here; none of them is an option of anything here. */
const FOREIGN = new Map([
  ["dim", "axis"],
  ["dims", "axis"],
  ["keepDim", "keepdim"],
  ["keepDims", "keepdim"],
  ["keepdims", "keepdim"],
  ["lr", "learningRate"],
  ["betas", "beta1 and beta2"],
  ["weight_decay", "weightDecay"],
  ["requires_grad", "requiresGrad"],
]);

/**
 * Throws a ValueError unless options are an object of names, none of them a foreign one: a number in their
 * place, or `lr`, would be left unread.
 */
export function expectOptions(call: string, options: unknown): void {
  if (typeof options === "object" && options !== null && !Array.isArray(options)) {
    if (!(options instanceof Tensor)) {
      for (const name of Object.keys(options)) {
        const here = FOREIGN.get(name);
        if (here === undefined) continue;
        throw new ValueError(`Cannot ${call}: there is no option "${name}"; its name is ${here}`);
      }
      return;
    }
  }
  throw new ValueError(
    `Cannot ${call}: options are an object of names and values: got ${describe(options)}; ` +
      "write {name: value}, or leave them out",
  );
}

/** A list, without holes; `what` names it in the ValueError for anything else. */
export function expectList<T>(call: string, what: string, x: readonly T[]): T[] {
  if (Array.isArray(x)) return Array.from(x);
  throw new ValueError(`Cannot ${call}: ${what} must be an array: got ${describe(x)}`);
}

/** One number or several as a list; `what` names them in the ValueError for anything else. */
export function expectNumbers(
  call: string,
  what: string,
  x: number | readonly number[],
): number[] {
  const list: readonly unknown[] = Array.isArray(x) ? Array.from(x) : [x];
  for (const n of list) {
    if (typeof n === "number") continue;
    throw new ValueError(
      `Cannot ${call}: ${what} must be a number or an array of numbers: got ${describe(n)}`,
    );
  }
  return list as number[];
}

/** Throws a ValueError unless it is a function. */
export function expectFunction(call: string, x: unknown): void {
  if (typeof x === "function") return;
  throw new ValueError(
    `Cannot ${call}: it takes a function: got ${describe(x)}; write ${call}(() => …)`,
  );
}
