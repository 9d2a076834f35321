// What layers and lists of layers have in common: finding parameters, buffers and layers in their fields,
// and what follows from it (modes, state, conversion). Nothing is cached, since a field may change at any
// time; a walk costs a few microseconds a layer. Not here: forward and hooks (layer.ts), the text of state
// errors (state.ts), printing (print.ts).
import { keepAlive, noGrad } from "../core/autograd.ts";
import { type DType, getDefaultDtype, isDType, isFloat } from "../core/dtype.ts";
import { DTypeError, ShapeError, StateError, ValueError } from "../core/errors.ts";
import type { Place } from "../core/place.ts";
import { sameShape, type Shape, showShape } from "../core/shape.ts";
import { Tensor } from "../core/tensor.ts";
import { Constant, type Initializer, XavierUniform } from "./initializer.ts";
import { Parameter, replaceElements } from "./parameter.ts";
import { describe } from "./print.ts";
import { type LoadOptions, type LoadReport, loadState, type StateDict } from "./state.ts";

/** How {@linkcode LayerBase.createParameter} makes a parameter. */
export interface ParameterOptions {
  /** First values. Default: `Constant(0)` for a bias, else `XavierUniform()`. */
  readonly initializer?: Initializer;
  /** A floating dtype; default: the default dtype. */
  readonly dtype?: DType;
  /** Where it lives; default: the current place. */
  readonly place?: Place | string;
  /** Whether it is trained; default true. */
  readonly trainable?: boolean;
  /** Whether it is a bias, for the default initializer. */
  readonly isBias?: boolean;
}

/** Something that was found in a layer, under its dotted name. */
type Found =
  | { readonly kind: "layer"; readonly name: string; readonly value: LayerBase }
  | { readonly kind: "parameter"; readonly name: string; readonly value: Parameter }
  | {
    readonly kind: "buffer";
    readonly name: string;
    readonly value: Tensor;
    readonly persistable: boolean;
  };

/** A name and what it names. */
export type Named<T> = readonly [name: string, value: T];

function join(prefix: string, key: string): string {
  return prefix === "" ? key : `${prefix}.${key}`;
}

/**
 * A layer, or a container of layers that has no forward of its own: see {@linkcode Layer}.
 *
 * Parameters, buffers and sublayers are found in public fields, and in the arrays, Maps and plain
 * records in them, at any depth. Names are paths: `blocks.0.weight`. What is reachable twice (tied
 * weights) has the name it is found under first. `#private` fields cannot be seen.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn } from "../mod.ts";
 *
 * const list: nn.LayerBase = new nn.LayerList([new nn.Linear(2, 3), new nn.ReLU()]);
 * assertEquals(list.namedParameters().map(([name]) => name), ["0.weight", "0.bias"]);
 * ```
 */
export abstract class LayerBase {
  /** Whether it trains: Dropout and BatchNorm act differently then. Set by `train()` and `eval()`. */
  training = true;
  readonly #buffers: Map<string, boolean> = new Map();
  readonly #created: Parameter[] = [];

  /** What is looked through, by name: the own public fields. Containers override it. */
  members(): Iterable<Named<unknown>> {
    return Object.entries(this);
  }

  /** The numbers that printing shows in parentheses, such as `inFeatures=3`. */
  extraRepr(): string {
    return "";
  }

  /**
   * Makes a parameter; assign it to a public field.
   *
   * @throws {DTypeError} if the dtype is not a floating one.
   * @throws {ShapeError} if the initializer gives another shape or dtype.
   * @example
   * ```ts
   * import { assertEquals } from "jsr:@std/assert@1";
   * import { nn, type Tensor, tensor } from "../mod.ts";
   *
   * class Scale extends nn.Layer {
   *   factor: nn.Parameter = this.createParameter([2], {
   *     initializer: new nn.initializer.Constant(3),
   *   });
   *   forward(x: Tensor): Tensor {
   *     return x.mul(this.factor);
   *   }
   * }
   * assertEquals(await new Scale().call(tensor([1, 2])).toArray(), [3, 6]);
   * ```
   */
  createParameter(shape: Shape, options: ParameterOptions = {}): Parameter {
    const { dtype = getDefaultDtype(), place, trainable, isBias = false } = options;
    if (!isFloat(dtype)) {
      throw new DTypeError(
        `Cannot createParameter of dtype ${dtype}: only floating dtypes are trained; ` +
          "keep other values with registerBuffer",
      );
    }
    const initializer = options.initializer ?? (isBias ? new Constant(0) : new XavierUniform());
    const value = noGrad(() => initializer.create(shape, { dtype, place }));
    if (!sameShape(value.shape, shape) || value.dtype !== dtype) {
      throw new ShapeError(
        `Cannot createParameter ${dtype} ${
          showShape(shape)
        }: ${initializer.constructor.name} gave ` +
          `${value.dtype} ${
            showShape(value.shape)
          }; create() must give the shape and dtype asked for`,
      );
    }
    const parameter = new Parameter(value, { trainable });
    this.#created.push(parameter);
    return parameter;
  }

  /**
   * Makes a tensor that is not trained part of this layer: `to` converts it, and `stateDict()` saves
   * it unless `persistable` is false. It is kept in the field of that name, where it may be replaced.
   *
   * @returns The tensor, so that a field can be declared with it.
   * @throws {ValueError} if the name is empty, has a dot, or is that of a method.
   * @example
   * ```ts
   * import { assertEquals } from "jsr:@std/assert@1";
   * import { nn, type Tensor, zeros } from "../mod.ts";
   *
   * class Counter extends nn.Layer {
   *   seen: Tensor = this.registerBuffer("seen", zeros([1]));
   *   forward(x: Tensor): Tensor {
   *     this.seen.add_(x.shape[0]);
   *     return x;
   *   }
   * }
   * const counter = new Counter();
   * counter.call(zeros([5, 2]));
   * assertEquals(await counter.stateDict().seen.toArray(), [5]);
   * ```
   */
  registerBuffer(
    name: string,
    value: Tensor,
    options: { readonly persistable?: boolean } = {},
  ): Tensor {
    if (name === "" || name.includes(".") || name in LayerBase.prototype) {
      throw new ValueError(
        `Cannot registerBuffer "${name}": a name must not be empty, contain a dot, or be a method's`,
      );
    }
    keepAlive(value);
    this.#buffers.set(name, options.persistable ?? true);
    (this as unknown as Record<string, Tensor>)[name] = value;
    return value;
  }

  /** Every layer, this one first with the empty name, each once. */
  namedLayers(): Named<LayerBase>[] {
    const seen = new Set<LayerBase>([this]);
    const list: Named<LayerBase>[] = [["", this]];
    for (const found of this.#walk()) {
      if (found.kind !== "layer" || seen.has(found.value)) continue;
      seen.add(found.value);
      list.push([found.name, found.value]);
    }
    return list;
  }

  /** The layers inside, at any depth, each once, by name. */
  namedSublayers(): Named<LayerBase>[] {
    return this.namedLayers().slice(1);
  }

  /** The layers inside, at any depth, each once. */
  sublayers(): LayerBase[] {
    return this.namedSublayers().map(([, layer]) => layer);
  }

  /** The layers directly inside (in fields, arrays, Maps, records), by name. */
  namedChildren(): Named<LayerBase>[] {
    const seen = new Set<LayerBase>();
    const list: Named<LayerBase>[] = [];
    for (const found of this.#walk(false)) {
      if (found.kind !== "layer" || seen.has(found.value)) continue;
      seen.add(found.value);
      list.push([found.name, found.value]);
    }
    return list;
  }

  /** The layers directly inside. */
  children(): LayerBase[] {
    return this.namedChildren().map(([, layer]) => layer);
  }

  /**
   * The parameters of this layer and those inside, each once, by name.
   *
   * @throws {StateError} if two have the same name, or a field holds a tensor that requires grad but is
   * no Parameter.
   */
  namedParameters(): Named<Parameter>[] {
    const seen = new Set<Parameter>();
    const list: Named<Parameter>[] = [];
    for (const found of this.#walk()) {
      if (found.kind !== "parameter" || seen.has(found.value)) continue;
      seen.add(found.value);
      list.push([found.name, found.value]);
    }
    return list;
  }

  /** The parameters of this layer and those inside, each once: what an optimizer is given. */
  parameters(): Parameter[] {
    return this.namedParameters().map(([, parameter]) => parameter);
  }

  /** The buffers of this layer and those inside, by name. */
  namedBuffers(): Named<Tensor>[] {
    const seen = new Set<Tensor>();
    const list: Named<Tensor>[] = [];
    for (const found of this.#walk()) {
      if (found.kind !== "buffer" || seen.has(found.value)) continue;
      seen.add(found.value);
      list.push([found.name, found.value]);
    }
    return list;
  }

  /** The buffers of this layer and those inside. */
  buffers(): Tensor[] {
    return this.namedBuffers().map(([, buffer]) => buffer);
  }

  /** Calls `fn` on every layer, those inside first, this one last. */
  apply(fn: (layer: LayerBase) => void): this {
    for (const layer of this.children()) layer.apply(fn);
    fn(this);
    return this;
  }

  /** Switches this layer and all inside to training (or, with false, to evaluation). */
  train(mode = true): this {
    for (const [, layer] of this.namedLayers()) layer.training = mode;
    return this;
  }

  /** Switches this layer and all inside to evaluation. */
  eval(): this {
    return this.train(false);
  }

  /** Clears the gradients of all parameters. */
  zeroGrad(): void {
    for (const parameter of this.parameters()) parameter.grad = null;
  }

  /** The same as `zeroGrad`, Paddle's word. */
  clearGradients(): void {
    this.zeroGrad();
  }

  /**
   * Parameters and persistable buffers by name: views of the live values, so save or clone them before
   * training goes on.
   *
   * @example
   * ```ts
   * import { assertEquals } from "jsr:@std/assert@1";
   * import { nn } from "../mod.ts";
   *
   * const model = new nn.Sequential(new nn.Linear(4, 2), new nn.BatchNorm1D(2));
   * assertEquals(Object.keys(model.stateDict()), [
   *   "0.weight",
   *   "0.bias",
   *   "1.weight",
   *   "1.bias",
   *   "1.runningMean",
   *   "1.runningVar",
   * ]);
   * ```
   */
  stateDict(): Record<string, Tensor> {
    const seen = new Set<Tensor>();
    const dict: Record<string, Tensor> = {};
    for (const [name, value] of this.#stateEntries()) {
      if (seen.has(value)) continue;
      seen.add(value);
      dict[name] = value.detach();
    }
    return dict;
  }

  /**
   * Copies values into the parameters and buffers of the same names, converting floating dtypes and places. All
   * is checked before anything is changed.
   *
   * @param dict As from `stateDict()`.
   * @param options `strict`: whether names must agree; default true.
   * @returns The names that were missing and unexpected (none if strict).
   * @throws {StateError} if names are missing or unexpected (unless not strict), or a shape or kind of
   * dtype differs; the message names them all.
   * @example
   * ```ts
   * import { assertEquals, assertThrows } from "jsr:@std/assert@1";
   * import { nn, StateError, tensor } from "../mod.ts";
   *
   * const layer = new nn.Linear(2, 1);
   * layer.setStateDict({ weight: tensor([[1], [2]]), bias: tensor([3]) });
   * assertEquals(await layer.call(tensor([[1, 1]])).toArray(), [[6]]);
   *
   * const half = { weight: tensor([[1], [2]]) };
   * assertThrows(() => layer.setStateDict(half), StateError, "missing: bias");
   * assertEquals(layer.setStateDict(half, { strict: false }).missing, ["bias"]);
   * ```
   */
  setStateDict(dict: StateDict, options: LoadOptions = {}): LoadReport {
    return loadState(this.constructor.name, [...this.#stateEntries()], dict, options);
  }

  /** The same as `setStateDict`, PyTorch's word. */
  loadStateDict(dict: StateDict, options: LoadOptions = {}): LoadReport {
    return this.setStateDict(dict, options);
  }

  /**
   * Converts all floating parameters and buffers to a dtype, or moves everything to a place, in place.
   * Gradients are dropped. Make the optimizer afterwards: its state does not move.
   *
   * @throws {DTypeError} if the dtype is not a floating one.
   * @throws {PlaceError} if there is no such place.
   * @example
   * ```ts
   * import { assertEquals } from "jsr:@std/assert@1";
   * import { nn } from "../mod.ts";
   *
   * const layer = new nn.Linear(2, 1).to("float64");
   * assertEquals(layer.weight.dtype, "float64");
   * ```
   */
  to(target: DType | Place | string): this {
    const dtype = isDType(target) ? target : null;
    if (dtype !== null && !isFloat(dtype)) {
      throw new DTypeError(
        `Cannot convert ${this.constructor.name} to ${dtype}: parameters must be of a floating dtype`,
      );
    }
    const convert = (x: Tensor): Tensor | null => {
      if (dtype !== null && !isFloat(x.dtype)) return null;
      const y = noGrad(() => x.to(target));
      return y === x ? null : y;
    };
    for (const parameter of this.parameters()) {
      const value = convert(parameter);
      if (value !== null) replaceElements(parameter, value);
    }
    for (const [, layer] of this.namedLayers()) {
      for (const name of layer.#buffers.keys()) {
        const fields = layer as unknown as Record<string, Tensor>;
        const value = convert(fields[name]);
        if (value !== null) {
          layer.registerBuffer(name, value, { persistable: layer.#buffers.get(name) });
        }
      }
    }
    return this;
  }

  /** The tree of layers as text. */
  toString(): string {
    return describe(this);
  }

  /** What `console.log` shows in Deno. */
  [Symbol.for("Deno.customInspect")](): string {
    return describe(this);
  }

  /** What `console.log` shows in Node. */
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return describe(this);
  }

  *#stateEntries(): Iterable<Named<Tensor>> {
    for (const found of this.#walk()) {
      if (found.kind === "parameter" || (found.kind === "buffer" && found.persistable)) {
        yield [found.name, found.value];
      }
    }
  }

  /** Everything under its names; what is reachable twice comes twice. */
  *#walk(deep = true): Iterable<Found> {
    const names = new Map<string, object>();
    for (const found of LayerBase.#inside(this, deep)) {
      const other = names.get(found.name);
      if (other !== undefined && other !== found.value) {
        throw new StateError(
          `Cannot name what is inside ${this.constructor.name}: two things are called "${found.name}"; ` +
            "rename a field or a key that contains a dot",
        );
      }
      names.set(found.name, found.value);
      yield found;
    }
  }

  /** What is inside a layer, and (`deep`) inside the layers there. Keeps its own stack: depth costs nothing. */
  static *#inside(root: LayerBase, deep: boolean): Iterable<Found> {
    // What is being looked through: back references end there.
    const open = new Set<object>([root]);
    const path = [{ holder: root as object, name: "", rest: contents(root) }];
    while (path.length > 0) {
      const { holder, name: prefix, rest } = path[path.length - 1];
      const next = rest.next();
      if (next.done === true) {
        path.pop();
        open.delete(holder);
        continue;
      }
      const [key, value] = next.value;
      if (typeof value !== "object" || value === null || open.has(value)) continue;
      const name = join(prefix, key);
      if (value instanceof Tensor) {
        const persistable = holder instanceof LayerBase ? holder.#buffers.get(key) : undefined;
        if (persistable !== undefined) yield { kind: "buffer", name, value, persistable };
        else if (value instanceof Parameter) yield { kind: "parameter", name, value };
        else refuseLeaf(name, value);
        continue;
      }
      if (value instanceof LayerBase) {
        yield { kind: "layer", name, value };
        if (!deep) continue;
      }
      open.add(value);
      path.push({ holder: value, name, rest: contents(value) });
    }
  }

  /**
   * A parameter that gradients were recorded for in one of the `called` layers but that is not found from
   * `root`, if there is one.
   */
  static unfound(
    root: LayerBase,
    called: Iterable<LayerBase>,
  ): { readonly owner: LayerBase; readonly name: string; readonly parameter: Parameter } | null {
    const known = new Set(root.parameters());
    for (const owner of called) {
      const own = new Map(owner.namedParameters().map(([name, p]) => [p, name]));
      for (const parameter of new Set([...own.keys(), ...owner.#created])) {
        // A leaf has a node from its first recorded use on.
        if (parameter.impl.node !== null && !known.has(parameter)) {
          return { owner, name: own.get(parameter) ?? "", parameter };
        }
      }
    }
    return null;
  }
}

/** What an object holds, by name; nothing for objects of classes that are not looked into. */
function contents(value: object): Iterator<Named<unknown>> {
  if (value instanceof LayerBase) return value.members()[Symbol.iterator]();
  if (Array.isArray(value)) return value.entries().map(([i, each]) => [String(i), each]);
  if (value instanceof Map) return value.entries().map(([key, each]) => [String(key), each]);
  return (isRecord(value) ? Object.entries(value) : [])[Symbol.iterator]();
}

/** Refuses a tensor that looks like a parameter and would not be trained. */
function refuseLeaf(name: string, x: Tensor): void {
  if (!x.requiresGrad || !x.isLeaf) return;
  throw new StateError(
    `Cannot tell what the tensor "${name}" of shape ${showShape(x.shape)} is: it requires grad ` +
      "but is no Parameter, so it would not be trained; make it with this.createParameter(shape, " +
      "{initializer}), or detach() it",
  );
}

function isRecord(value: object): value is Record<string, unknown> {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
