/**
 * Runs golden cases on a library: resolves names, builds inputs, calls, and compares values and
 * gradients. It knows the library only by name, so a function that is missing is a failure that says
 * so. Deliberately not here: the files, which `goldens_test.ts` reads, and their format.
 *
 * @module
 */

import {
  type Comparison,
  differenceOf,
  type GoldenCase,
  type GoldenInput,
  type GoldenTensor,
  parseInput,
  parseTensor,
  resolveArgument,
  type Tolerance,
  toNested,
} from "./golden_format.ts";

/** What a tensor of the library must offer. */
export interface LibraryTensor {
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly requiresGrad: boolean;
  data(): Promise<ArrayLike<number | bigint>>;
}

/** The names of the library. */
export type Library = Readonly<Record<string, unknown>>;

// deno-lint-ignore ban-types -- anything that can be called or constructed, found by its name
type Callable = Function;

/** A case with what only layers have. */
export interface LayerCase extends GoldenCase {
  readonly call: readonly unknown[];
  readonly params?: Readonly<Record<string, { t: number }>>;
  readonly buffers?: Readonly<Record<string, { t: number }>>;
  readonly mode?: "train" | "eval";
}

/** A case with what only optimizers have; numbers are input indexes. */
export interface OptimizerCase extends GoldenCase {
  readonly seen: readonly number[];
  readonly params: readonly number[];
  readonly curve: readonly number[];
  readonly slope: readonly number[];
  readonly sway: number;
  readonly groups?: readonly { readonly params: readonly number[] }[];
  readonly clip?: unknown;
  readonly schedule?: unknown;
}

/** A golden that the library does not meet. */
export class GoldenMismatch extends Error {
  override readonly name = "GoldenMismatch";
}

/** Families whose values do not add up: their absolute tolerance does not grow with the values. */
const ELEMENTWISE = new Set([
  "unary",
  "binary",
  "creation",
  "movement",
  "indexing",
  "inplace",
  "activation",
]);

const TOLERANCES: Readonly<Record<string, Tolerance>> = {
  float32: { rtol: 1e-5, atol: 1e-6 },
  float64: { rtol: 1e-12, atol: 1e-13 },
};
const EXACT: Tolerance = { rtol: 0, atol: 0 };

/** A gradient of a gradient goes through twice as many operations, some of them ill-conditioned. */
const SECOND = 10;

/** Root functions that are no methods: no tensor comes first, or their name says `Like`. */
const NOT_METHODS = new Set(["where", "meshgrid", "concat", "stack", "einsum"]);

/** What `{fn: …}` stands for in the arguments of LambdaDecay. */
const LAMBDAS: Readonly<Record<string, (t: number) => number>> = {
  "0.95 ** t": (t) => 0.95 ** t,
  "1 / sqrt(t + 1)": (t) => 1 / Math.sqrt(t + 1),
};

/** Whether a function of the goldens must also be a method of tensors. */
export function isMethod(fn: string): boolean {
  return !fn.includes(".") && !fn.endsWith("Like") && !NOT_METHODS.has(fn);
}

/** Checks the cases of one family. */
export class GoldenRunner {
  readonly #library: Library;
  readonly #elementwise: boolean;

  /** For a library's namespace and the family that the cases are of. */
  constructor(library: Library, family: string) {
    this.#library = library;
    this.#elementwise = ELEMENTWISE.has(family);
  }

  /** The function, method or class that a golden name stands for. Throws where there is none. */
  find(fn: string): Callable {
    if (fn === "cast.roundTrip") return this.#roundTrip();
    if (fn.startsWith("Tensor.")) return this.#method(fn.slice("Tensor.".length));
    const path = fn.startsWith("F.") ? `nn.functional.${fn.slice(2)}` : fn;
    let found: unknown = this.#library;
    for (const part of path.split(".")) {
      found = (found as Library | undefined)?.[part];
    }
    if (typeof found !== "function") {
      throw new GoldenMismatch(`Cannot find ${path}: the library does not export it`);
    }
    return found;
  }

  /** Checks the values of a case, then its gradients. */
  async check(golden: GoldenCase): Promise<void> {
    if (golden.fn.startsWith("nn.")) return await this.#layer(golden as LayerCase);
    if (golden.fn.startsWith("optim.lr.")) return this.#schedule(golden);
    if (golden.fn.startsWith("optim.")) return await this.#optimizer(golden as OptimizerCase);
    const fn = this.find(golden.fn);
    await this.#values(golden, (args) => fn(...args));
    if (golden.grad !== undefined) await this.#gradients(golden, (args) => fn(...args));
  }

  /** Checks the values of a case again, calling the method of its first argument. */
  async checkMethod(golden: GoldenCase): Promise<void> {
    const method = this.#method(golden.fn);
    await this.#values(golden, (args) => method(...args));
  }

  async #values(golden: GoldenCase, call: (args: unknown[]) => unknown): Promise<void> {
    const tensors = inputsOf(golden).map((input) => this.#view(this.#contiguous(input), input));
    const args = resolveArgument(golden.args, tensors) as unknown[];
    await this.#outputs(golden, listOf(await call(args)));
    for (const [index, text] of Object.entries(golden.after ?? {})) {
      await this.#same(golden, `input ${index} afterwards`, tensors[Number(index)], text);
    }
  }

  async #outputs(golden: GoldenCase, outs: readonly LibraryTensor[]): Promise<void> {
    if (outs.length !== golden.out.length) {
      throw new GoldenMismatch(`got ${outs.length} outputs, expected ${golden.out.length}`);
    }
    for (const [i, text] of golden.out.entries()) {
      await this.#same(golden, `output ${i}`, outs[i], text);
    }
  }

  async #gradients(golden: GoldenCase, call: (args: unknown[]) => unknown): Promise<void> {
    const { wrt } = golden.grad!;
    const leaves: LibraryTensor[] = [];
    const tensors = inputsOf(golden).map((input, k) => {
      const leaf = wrt.includes(k) ? this.#leaf(input.base) : this.#contiguous(input);
      leaves.push(leaf);
      return this.#view(leaf, input);
    });
    const outs = listOf(await call(resolveArgument(golden.args, tensors) as unknown[]));
    await this.#compareGradients(golden, outs, wrt.map((k) => leaves[k]));
  }

  /** Gradients of `outs` by `leaves`; one that is not connected counts as zeros, as PyTorch gives. */
  async #compareGradients(
    golden: GoldenCase,
    outs: readonly LibraryTensor[],
    leaves: readonly LibraryTensor[],
  ): Promise<void> {
    const { g, d, h, dd } = golden.grad!;
    const live = outs.filter((_, i) => g[i] !== null);
    const seeds = g.filter((text) => text !== null).map((text) => this.#tensor(parseTensor(text)));
    const firsts = this.#grad(live, leaves, seeds, h !== undefined);
    for (const [i, text] of d.entries()) {
      await this.#same(golden, `gradient ${i}`, firsts[i], text);
    }
    if (h === undefined || dd === undefined) return;
    const curved = firsts.flatMap((first, i) => first?.requiresGrad ? [{ first, h: h[i] }] : []);
    const seconds = this.#grad(
      curved.map((c) => c.first),
      leaves,
      curved.map((c) => this.#tensor(parseTensor(c.h))),
      false,
    );
    for (const [i, text] of dd.entries()) {
      await this.#same(golden, `second gradient ${i}`, seconds[i], text, SECOND);
    }
  }

  #grad(
    outs: readonly LibraryTensor[],
    ins: readonly LibraryTensor[],
    gradOutputs: readonly LibraryTensor[],
    createGraph: boolean,
  ): (LibraryTensor | null)[] {
    const options = { gradOutputs, createGraph, allowUnused: true };
    return this.find("grad")(outs, ins, options) as (LibraryTensor | null)[];
  }

  async #layer(golden: LayerCase): Promise<void> {
    const wrt = golden.grad?.wrt ?? [];
    const inputs = inputsOf(golden);
    const tensors = inputs.map((input, k) =>
      wrt.includes(k) ? this.#leaf(input.base) : this.#contiguous(input)
    );
    const layerClass = this.find(golden.fn) as new (...args: unknown[]) => Record<string, unknown>;
    const layer = new layerClass(...this.#made(golden.args));
    const given = { ...golden.params, ...golden.buffers };
    const noGrad = this.find("noGrad");
    const named = new Map((layer.namedParameters as Callable | undefined)?.call(layer));
    for (const [field, { t }] of Object.entries(given)) {
      const own = named.get(field) ?? layer[field];
      if (typeof own !== "object" || own === null) {
        throw new GoldenMismatch(`Cannot find the field ${field} of ${golden.fn}`);
      }
      const value = this.#contiguous(inputs[t]);
      noGrad(() => this.#method("copy_", false)(own, value));
      tensors[t] = own as LibraryTensor;
    }
    if (golden.mode !== undefined) (layer[golden.mode] as Callable).call(layer);
    const args = resolveArgument(golden.call, tensors) as unknown[];
    const outs = listOf(await (layer.call as Callable).call(layer, ...args));
    await this.#outputs(golden, outs);
    for (const [index, text] of Object.entries(golden.after ?? {})) {
      await this.#same(golden, `buffer ${index} afterwards`, tensors[Number(index)], text);
    }
    if (golden.grad === undefined) return;
    await this.#compareGradients(golden, outs, wrt.map((k) => tensors[k]));
  }

  #schedule(golden: GoldenCase): void {
    const { data, shape } = parseTensor(golden.out[0]);
    const scheduler = this.#construct({ new: golden.fn, args: golden.args });
    const rates: number[] = [];
    while (rates.length < data.length) {
      rates.push(scheduler.lastLr as number);
      (scheduler.step as Callable).call(scheduler);
    }
    this.#compare(
      golden,
      "learning rates",
      { dtype: "float64", shape, data: rates },
      golden.out[0],
    );
  }

  async #optimizer(golden: OptimizerCase): Promise<void> {
    const inputs = inputsOf(golden).map((input) => input.base);
    const params = golden.params.map((k) => this.#leaf(inputs[k]));
    const curve = golden.curve.map((k) => this.#tensor(inputs[k]));
    const slope = golden.slope.map((k) => this.#tensor(inputs[k]));
    const sway = Array.from(inputs[golden.sway].data, Number);
    const scheduler = golden.schedule ? this.#construct(golden.schedule) : null;
    const optimizerClass = this.find(golden.fn) as new (o: unknown) => Record<string, unknown>;
    const optimizer = new optimizerClass({
      ...(golden.args[0] as Record<string, unknown>),
      ...(scheduler !== null ? { learningRate: scheduler } : {}),
      ...(golden.clip ? { gradClip: this.#construct(golden.clip) } : {}),
      parameters: golden.groups?.map((group) => ({
        ...group,
        params: group.params.map((k) => params[k]),
      })) ?? params,
    });
    const [add, mul, sum] = ["add", "mul", "sum"].map((name) => this.find(name));
    let out = 0;
    for (const [step, s] of sway.entries()) {
      const terms = params.map((p, k) =>
        add(sum(mul(mul(mul(p, p), curve[k]), 0.5)), mul(sum(mul(p, slope[k])), s))
      );
      (terms.reduce((a, b) => add(a, b)) as { backward(): void }).backward();
      await (optimizer.step as Callable).call(optimizer);
      (optimizer.clearGrad as Callable).call(optimizer);
      if (scheduler !== null) (scheduler.step as Callable).call(scheduler);
      if (!golden.seen.includes(step + 1)) continue;
      for (const [k, p] of params.entries()) {
        await this.#same(golden, `parameter ${k} after step ${step + 1}`, p, golden.out[out++]);
      }
    }
  }

  /** Makes `{new: name, args}`, inner ones too. */
  #construct(value: unknown): Record<string, unknown> {
    const { new: name, args } = value as { new: string; args: readonly unknown[] };
    const made = this.find(name) as new (...args: unknown[]) => Record<string, unknown>;
    return new made(...this.#made(args));
  }

  /** Arguments of a constructor, with objects and functions in the place of what stands for them. */
  #made(args: readonly unknown[]): unknown[] {
    return args.map((arg) => {
      if (typeof arg !== "object" || arg === null) return arg;
      if ("new" in arg) return this.#construct(arg);
      return "fn" in arg ? LAMBDAS[String(arg.fn)] : arg;
    });
  }

  /** A method as a function of its tensor; those that change it get a clone. */
  #method(name: string, clone: boolean = name.endsWith("_") || name === "setAt"): Callable {
    return (x: LibraryTensor, ...args: unknown[]) => {
      const self = (clone ? this.find("Tensor.clone")(x) : x) as unknown as Record<string, unknown>;
      if (!(name in self)) {
        throw new GoldenMismatch(`Cannot find the method ${name}: tensors do not have it`);
      }
      const member = self[name];
      const result = typeof member === "function" ? member.call(self, ...args) : member;
      if (!clone) return result;
      return result instanceof Promise ? result.then(() => self) : self;
    };
  }

  /** To a narrow dtype and back, since not every engine has a typed array of it. */
  #roundTrip(): Callable {
    const cast = this.find("cast");
    return (x: LibraryTensor, dtype: string) => cast(cast(x, dtype), x.dtype);
  }

  #tensor({ data, dtype, shape }: GoldenTensor, requiresGrad = false): LibraryTensor {
    const flat = this.find("tensor")(data, { dtype, requiresGrad });
    return this.find("reshape")(flat, shape) as LibraryTensor;
  }

  /** A leaf of the gradient graph that has its shape from the start, where nesting can say it. */
  #leaf(x: GoldenTensor): LibraryTensor {
    if (x.data.length === 0) return this.#tensor(x, true);
    return this.find("tensor")(toNested(x), { dtype: x.dtype, requiresGrad: true });
  }

  #contiguous(input: GoldenInput): LibraryTensor {
    return this.#tensor(input.base);
  }

  #view(base: LibraryTensor, { views }: GoldenInput): LibraryTensor {
    let x: unknown = base;
    for (const step of views) {
      if (step[0] === "slice") {
        const [, axis, start, end, by] = step;
        const range = { axes: [axis], starts: [start], ends: [end], steps: [by] };
        x = this.find("slice")(x, range);
      } else x = this.find(step[0])(x, step[1]);
    }
    return x as LibraryTensor;
  }

  /** Throws unless a tensor has the expected value; null counts as zeros. */
  async #same(
    golden: GoldenCase,
    what: string,
    got: LibraryTensor | null | undefined,
    text: string,
    factor = 1,
  ): Promise<void> {
    const { dtype, shape, data } = parseTensor(text);
    const shown = got
      ? { dtype: got.dtype, shape: got.shape, data: await got.data() }
      : { dtype, shape, data: new Float64Array(data.length) };
    this.#compare(golden, what, shown, text, factor);
  }

  #compare(
    golden: GoldenCase,
    what: string,
    shown: { dtype: string; shape: readonly number[]; data: ArrayLike<number | bigint> },
    text: string,
    factor = 1,
  ): void {
    const want = parseTensor(text);
    const usual = TOLERANCES[want.dtype] ?? EXACT;
    // A case's own tolerance is about its values; gradients of functions that are exact still add up.
    const { rtol, atol } = what.includes("gradient") && usual.rtol > (golden.tol?.rtol ?? 0)
      ? usual
      : golden.tol ?? usual;
    const how: Comparison = {
      tolerance: { rtol: rtol * factor, atol: atol * factor },
      elementwise: this.#elementwise,
      zeroSign: golden.zeroSign && what.startsWith("output"),
    };
    const difference = differenceOf(shown, want, how);
    if (difference !== null) throw new GoldenMismatch(`${what}: ${difference}`);
  }
}

function inputsOf(golden: GoldenCase): GoldenInput[] {
  return (golden.in ?? []).map(parseInput);
}

function listOf(result: unknown): LibraryTensor[] {
  return Array.isArray(result) ? result.flat(Infinity) : [result as LibraryTensor];
}
