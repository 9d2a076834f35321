// Layers that hold layers: Sequential, LayerList, LayerDict, ParameterList.
import { expectList } from "../core/operands.ts";
import { describe } from "../core/describe.ts";
import { IndexError, ValueError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import { Layer } from "./layer.ts";
import { Parameter } from "./parameter.ts";
import { LayerBase, type Named } from "./tree.ts";

/** The position that an index (negative: from the end) means. */
function position(what: string, index: number, length: number): number {
  const at = index < 0 ? index + length : index;
  if (Number.isInteger(at) && at >= 0 && at < length) return at;
  throw new IndexError(
    `Cannot take ${what} ${index}: the index must be a whole number from ${-length} to ${
      length - 1
    }`,
  );
}

function requireLayer(call: string, x: unknown): void {
  if (x instanceof LayerBase) return;
  throw new ValueError(`Cannot ${call}: it holds layers: got ${describe(x)}`);
}

function iterable<T>(call: string, xs: Iterable<T>): Iterable<T> {
  if (typeof xs === "object" && xs !== null && Symbol.iterator in xs) return xs;
  throw new ValueError(`Cannot ${call}: it takes an array: got ${describe(xs)}`);
}

/**
 * Layers one after another: each gets what the one before gives.
 *
 * @throws {ValueError} if a name is used twice, is empty, or has a dot.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, zeros } from "../mod.ts";
 *
 * const model = new nn.Sequential(new nn.Linear(4, 8), new nn.ReLU(), ["out", new nn.Linear(8, 2)]);
 * assertEquals(model.call(zeros([3, 4])).shape, [3, 2]);
 * assertEquals(model.namedChildren().map(([name]) => name), ["0", "1", "out"]);
 * assertEquals(model.at(-1), model.get("out"));
 * ```
 */
export class Sequential extends Layer {
  readonly #layers: Map<string, Layer> = new Map();

  /** Layers, or [name, layer] pairs; a layer without a name has its position as its name. */
  constructor(...layers: readonly (Layer | readonly [name: string, layer: Layer])[]) {
    super();
    for (const each of layers) {
      if (each instanceof LayerBase) this.append(each);
      else if (Array.isArray(each) && typeof each[0] === "string") this.append(each[1], each[0]);
      else if (!Array.isArray(each)) requireLayer("make a Sequential", each);
      else {
        throw new ValueError(
          "Cannot make a Sequential of an array: pass the layers one by one, as in " +
            "new Sequential(...layers), or pairs [name, layer]",
        );
      }
    }
  }

  /** Adds a layer at the end. */
  append(layer: Layer, name?: string): this {
    requireLayer("append to a Sequential", layer);
    const called = name ?? String(this.#layers.size);
    if (called === "" || called.includes(".") || this.#layers.has(called)) {
      throw new ValueError(
        `Cannot append a ${layer.constructor.name} as "${called}" to a Sequential: names must be ` +
          "different, not empty, and without a dot",
      );
    }
    this.#layers.set(called, layer);
    return this;
  }

  /** How many layers there are. */
  get length(): number {
    return this.#layers.size;
  }

  /** The layer at a position; negative counts from the end. */
  at(index: number): Layer {
    return [...this.#layers.values()][position("layer", index, this.length)];
  }

  /** The layer of that name, or undefined. */
  get(name: string): Layer | undefined {
    return this.#layers.get(name);
  }

  /** The layers in order. */
  [Symbol.iterator](): IterableIterator<Layer> {
    return this.#layers.values();
  }

  /** The fields, then what it holds. */
  override *members(): Iterable<Named<unknown>> {
    yield* super.members();
    yield* this.#layers;
  }

  /** Runs the layers in order. */
  override forward(x: Tensor): Tensor {
    let y = x;
    for (const layer of this.#layers.values()) y = layer.call(y);
    return y;
  }
}

/**
 * A list of layers, for a forward of your own. Plain arrays in fields are found as well; this one
 * can also stand alone.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, type Tensor, zeros } from "../mod.ts";
 *
 * class Deep extends nn.Layer {
 *   blocks = new nn.LayerList([1, 2, 3].map(() => new nn.Linear(4, 4)));
 *   forward(x: Tensor): Tensor {
 *     for (const block of this.blocks) x = block.call(x);
 *     return x;
 *   }
 * }
 * const deep = new Deep();
 * assertEquals(deep.call(zeros([2, 4])).shape, [2, 4]);
 * assertEquals(deep.namedParameters()[0][0], "blocks.0.weight");
 * ```
 */
export class LayerList<L extends LayerBase = Layer> extends LayerBase {
  readonly #layers: L[];

  /** The layers to begin with. */
  constructor(layers: Iterable<L> = []) {
    super();
    this.#layers = [...iterable("make a LayerList", layers)];
    for (const layer of this.#layers) requireLayer("make a LayerList", layer);
  }

  /** How many layers there are. */
  get length(): number {
    return this.#layers.length;
  }

  /** The layer at a position; negative counts from the end. */
  at(index: number): L {
    return this.#layers[position("layer", index, this.length)];
  }

  /** Adds a layer at the end. */
  append(layer: L): this {
    this.#layers.push(layer);
    return this;
  }

  /** Adds layers at the end. */
  extend(layers: Iterable<L>): this {
    this.#layers.push(...layers);
    return this;
  }

  /** Puts a layer before the one at a position (or, at `length`, at the end). */
  insert(index: number, layer: L): this {
    const at = index === this.length ? index : position("layer", index, this.length);
    this.#layers.splice(at, 0, layer);
    return this;
  }

  /** The layers in order. */
  [Symbol.iterator](): IterableIterator<L> {
    return this.#layers.values();
  }

  /** The fields, then what it holds. */
  override *members(): Iterable<Named<unknown>> {
    yield* super.members();
    for (let i = 0; i < this.#layers.length; i++) yield [String(i), this.#layers[i]];
  }
}

/**
 * Layers by name, for a forward of your own. Plain records and Maps in fields are found as well.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn } from "../mod.ts";
 *
 * const heads = new nn.LayerDict({ left: new nn.Linear(2, 1), right: new nn.Linear(2, 1) });
 * heads.delete("left");
 * assertEquals([...heads.keys()], ["right"]);
 * assertEquals(heads.namedParameters()[0][0], "right.weight");
 * ```
 */
export class LayerDict<L extends LayerBase = Layer> extends LayerBase {
  readonly #layers: Map<string, L>;

  /** A record, or [name, layer] pairs. */
  constructor(layers: Iterable<readonly [string, L]> | Readonly<Record<string, L>> = {}) {
    super();
    if (typeof layers !== "object" || layers === null) {
      throw new ValueError(
        `Cannot make a LayerDict: it takes an object or [name, layer] pairs: got ${
          describe(layers)
        }`,
      );
    }
    this.#layers = new Map();
    for (const pair of Symbol.iterator in layers ? layers : Object.entries(layers)) {
      const [name, layer] = expectList("make a LayerDict", "each [name, layer]", pair) as [
        string,
        L,
      ];
      requireLayer("make a LayerDict", layer);
      this.#layers.set(name, layer);
    }
  }

  /** How many layers there are. */
  get size(): number {
    return this.#layers.size;
  }

  /** The layer of that name, or undefined. */
  get(name: string): L | undefined {
    return this.#layers.get(name);
  }

  /** Whether there is a layer of that name. */
  has(name: string): boolean {
    return this.#layers.has(name);
  }

  /** Adds or replaces a layer. */
  set(name: string, layer: L): this {
    this.#layers.set(name, layer);
    return this;
  }

  /** Takes a layer out; gives whether it was there. */
  delete(name: string): boolean {
    return this.#layers.delete(name);
  }

  /** The names in order. */
  keys(): IterableIterator<string> {
    return this.#layers.keys();
  }

  /** The layers in order. */
  values(): IterableIterator<L> {
    return this.#layers.values();
  }

  /** Names and layers in order. */
  [Symbol.iterator](): IterableIterator<[string, L]> {
    return this.#layers.entries();
  }

  /** The fields, then what it holds. */
  override *members(): Iterable<Named<unknown>> {
    yield* super.members();
    yield* this.#layers;
  }
}

/**
 * A list of parameters. Plain arrays in fields are found as well; this one can also stand alone.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, type Tensor } from "../mod.ts";
 *
 * class Powers extends nn.Layer {
 *   factors = new nn.ParameterList([0, 1].map(() => this.createParameter([1])));
 *   forward(x: Tensor): Tensor {
 *     return x.mul(this.factors.at(1)).add(this.factors.at(0));
 *   }
 * }
 * assertEquals(new Powers().namedParameters().map(([name]) => name), ["factors.0", "factors.1"]);
 * ```
 */
export class ParameterList extends LayerBase {
  readonly #parameters: Parameter[];

  /** The parameters to begin with. */
  constructor(parameters: Iterable<Parameter> = []) {
    super();
    this.#parameters = [...iterable("make a ParameterList", parameters)];
    for (const x of this.#parameters) {
      if (x instanceof Parameter) continue;
      throw new ValueError(
        `Cannot make a ParameterList with ${
          describe(x)
        }: it holds Parameters, as from createParameter`,
      );
    }
  }

  /** How many parameters there are. */
  get length(): number {
    return this.#parameters.length;
  }

  /** The parameter at a position; negative counts from the end. */
  at(index: number): Parameter {
    return this.#parameters[position("parameter", index, this.length)];
  }

  /** Adds a parameter at the end. */
  append(parameter: Parameter): this {
    this.#parameters.push(parameter);
    return this;
  }

  /** The parameters in order. */
  [Symbol.iterator](): IterableIterator<Parameter> {
    return this.#parameters.values();
  }

  /** The fields, then what it holds. */
  override *members(): Iterable<Named<unknown>> {
    yield* super.members();
    for (let i = 0; i < this.#parameters.length; i++) yield [String(i), this.#parameters[i]];
  }
}
