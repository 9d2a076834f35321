// Layers that can be called: forward with hooks around it, and the check that what forward uses was found.
// Not here: finding, modes, state (tree.ts).
import { isGradEnabled } from "../core/autograd.ts";
import { StateError, ValueError } from "../core/errors.ts";
import { showShape } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { LayerBase } from "./tree.ts";

/** Runs before forward; may give other inputs, as an array. */
export type ForwardPreHook = (
  layer: LayerBase,
  inputs: readonly unknown[],
) => readonly unknown[] | void;

/** Runs after forward; may give another output (anything but undefined). */
export type ForwardPostHook = (
  layer: LayerBase,
  inputs: readonly unknown[],
  output: unknown,
) => unknown;

/** The layers that ran during the first call of an outermost one; null between such calls. */
let called: Set<LayerBase> | null = null;

/**
 * A part of a model: parameters, and a `forward` that computes with them. Extend it, keep parameters
 * and other layers in public fields, and use it by `call`:
 *
 * The type arguments are what `forward` takes (default: one tensor) and gives (default: a tensor).
 *
 * @throws {StateError} when called first, if a parameter that forward used cannot be found: it would
 * be neither trained nor saved. `#private` fields cannot be seen.
 * @example
 * ```ts
 * import { assertEquals, assertThrows } from "jsr:@std/assert@1";
 * import { nn, randn, StateError, type Tensor } from "../mod.ts";
 *
 * class Net extends nn.Layer {
 *   hidden = new nn.Linear(4, 8);
 *   out = new nn.Linear(8, 2);
 *   forward(x: Tensor): Tensor {
 *     return this.out.call(nn.functional.relu(this.hidden.call(x)));
 *   }
 * }
 * const net = new Net();
 * assertEquals(net.call(randn([3, 4])).shape, [3, 2]);
 * assertEquals(net.parameters().length, 4);
 *
 * class Hidden extends nn.Layer {
 *   #inner = new nn.Linear(4, 2);
 *   forward(x: Tensor): Tensor {
 *     return this.#inner.call(x);
 *   }
 * }
 * assertThrows(() => new Hidden().call(randn([3, 4])), StateError, "#private");
 * ```
 */
export abstract class Layer<Args extends readonly unknown[] = [Tensor], Out = Tensor>
  extends LayerBase {
  #checked = false;
  #preHooks: readonly { readonly hook: ForwardPreHook }[] = [];
  #postHooks: readonly { readonly hook: ForwardPostHook }[] = [];

  /** Computes the output. Write it; call `call`. */
  abstract forward(...inputs: Args): Out;

  /** Runs the layer: hooks, forward, hooks. */
  call(...inputs: Parameters<this["forward"]>): ReturnType<this["forward"]> {
    if (called !== null) {
      called.add(this);
      return this.#run(inputs) as ReturnType<this["forward"]>;
    }
    if (this.#checked || !isGradEnabled()) {
      return this.#run(inputs) as ReturnType<this["forward"]>;
    }
    called = new Set([this]);
    try {
      const output = this.#run(inputs) as ReturnType<this["forward"]>;
      this.#check(called);
      return output;
    } finally {
      called = null;
    }
  }

  /**
   * Adds a function that runs before each forward and may replace its inputs.
   *
   * @returns A function that removes it.
   * @example
   * ```ts
   * import { assertEquals } from "jsr:@std/assert@1";
   * import { nn, type Tensor, tensor } from "../mod.ts";
   *
   * const layer = new nn.Identity();
   * const remove = layer.registerForwardPreHook((_, [x]) => [(x as Tensor).mul(2)]);
   * assertEquals(await layer.call(tensor([1])).toArray(), [2]);
   * remove();
   * assertEquals(await layer.call(tensor([1])).toArray(), [1]);
   * ```
   */
  registerForwardPreHook(hook: ForwardPreHook): () => void {
    const entry = { hook };
    this.#preHooks = [...this.#preHooks, entry];
    return () => {
      this.#preHooks = this.#preHooks.filter((each) => each !== entry);
    };
  }

  /**
   * Adds a function that runs after each forward and may replace its output.
   *
   * @returns A function that removes it.
   * @example
   * ```ts
   * import { assertEquals } from "jsr:@std/assert@1";
   * import { nn, type Tensor, tensor } from "../mod.ts";
   *
   * const layer = new nn.ReLU();
   * const shapes: (readonly number[])[] = [];
   * const remove = layer.registerForwardPostHook((_, _inputs, output) => {
   *   shapes.push((output as Tensor).shape);
   * });
   * layer.call(tensor([1, 2]));
   * remove();
   * layer.call(tensor([1]));
   * assertEquals(shapes, [[2]]);
   * ```
   */
  registerForwardPostHook(hook: ForwardPostHook): () => void {
    const entry = { hook };
    this.#postHooks = [...this.#postHooks, entry];
    return () => {
      this.#postHooks = this.#postHooks.filter((each) => each !== entry);
    };
  }

  #run(inputs: readonly unknown[]): unknown {
    if (typeof this.forward !== "function") {
      throw new ValueError(
        `Cannot call ${this.constructor.name}: it has no forward; write forward(x) {…} in the class`,
      );
    }
    let given = inputs;
    for (const { hook } of this.#preHooks) given = hook(this, given) ?? given;
    let output: unknown = this.forward(...given as unknown as Args);
    for (const { hook } of this.#postHooks) {
      const other = hook(this, given, output);
      if (other !== undefined) output = other;
    }
    return output;
  }

  #check(layers: ReadonlySet<LayerBase>): void {
    const lost = LayerBase.unfound(this, layers);
    if (lost !== null) {
      const { owner, name, parameter } = lost;
      const what = `a parameter${name === "" ? "" : ` "${name}"`} of shape ${
        showShape(parameter.shape)
      }`;
      throw new StateError(
        `Cannot call ${this.constructor.name}: forward used ${what} of ${owner.constructor.name} that ` +
          `${this.constructor.name}.parameters() does not find, so it would be neither trained nor saved: ` +
          "keep layers and parameters in public fields, arrays, Maps or records (#private fields " +
          "cannot be seen); if it is not to be trained, set its trainable to false",
      );
    }
    this.#checked = true;
  }
}
