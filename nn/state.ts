// Loading a state dictionary: everything is compared first, then copied. Not here: files (io/).
import { describe } from "../core/describe.ts";
import { noGrad } from "../core/autograd.ts";
import { DTYPES } from "../core/dtype.ts";
import { StateError, ValueError } from "../core/errors.ts";
import { expectOptions, expectTensors } from "../core/operands.ts";
import { sameShape, showShape } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";

/** Tensors by name: what `stateDict()` gives and files hold. */
export type StateDict = Readonly<Record<string, Tensor>>;

/** Options of `setStateDict`. */
export interface LoadOptions {
  /** Whether names must agree exactly; default true. */
  readonly strict?: boolean;
}

/** What `setStateDict` did not find a partner for. */
export interface LoadReport {
  /** Names of the layer that the dictionary lacks. */
  readonly missing: readonly string[];
  /** Names of the dictionary that the layer lacks. */
  readonly unexpected: readonly string[];
}

/** How many names an error lists. */
const SHOWN = 20;

function listed(what: string, names: readonly string[]): string {
  if (names.length === 0) return "";
  const rest = names.length > SHOWN ? `, … (${names.length} in all)` : "";
  return `; ${what}: ${names.slice(0, SHOWN).join(", ")}${rest}`;
}

/** Copies `dict` into `entries`, in which a tied tensor may have several names. */
export function loadState(
  owner: string,
  entries: readonly (readonly [string, Tensor])[],
  dict: StateDict,
  options: LoadOptions,
): LoadReport {
  expectOptions("setStateDict", options);
  if (typeof dict !== "object" || dict === null) {
    throw new ValueError(
      `Cannot setStateDict of ${owner}: it takes an object of tensors by name, as from stateDict(): got ` +
        describe(dict),
    );
  }
  const strict = options.strict ?? true;
  const known = new Set(entries.map(([name]) => name));
  const given = new Map<Tensor, Tensor>();
  const first = new Map<Tensor, string>();
  const unfit: string[] = [];
  for (const [name, target] of entries) {
    if (!first.has(target)) first.set(target, name);
    if (!Object.hasOwn(dict, name) || given.has(target)) continue;
    const value = dict[name];
    expectTensors(`load "${name}"`, value);
    if (!sameShape(value.shape, target.shape)) {
      unfit.push(`${name} is ${showShape(target.shape)}, given ${showShape(value.shape)}`);
    } else if (DTYPES[value.dtype].kind !== DTYPES[target.dtype].kind) {
      unfit.push(`${name} is ${target.dtype}, given ${value.dtype}`);
    }
    given.set(target, value);
  }
  const missing = [...first].filter(([target]) => !given.has(target)).map(([, name]) => name);
  const unexpected = Object.keys(dict).filter((name) => !known.has(name));
  if (unfit.length > 0 || (strict && missing.length + unexpected.length > 0)) {
    throw new StateError(
      `Cannot setStateDict of ${owner}: names, shapes and kinds of dtype must agree` +
        (strict ? listed("missing", missing) + listed("unexpected", unexpected) : "") +
        listed("different", unfit) +
        (unfit.length > 0 || !strict ? "" : "; {strict: false} loads what fits by name"),
    );
  }
  noGrad(() => {
    for (const [target, value] of given) target.copy_(value.to(target.place));
  });
  return { missing, unexpected };
}
