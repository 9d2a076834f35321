// Trainable tensors. Not here: how they are found in layers (tree.ts), how they begin (initializer.ts).
import { keepAlive, setRequiresGrad } from "../core/autograd.ts";
import { Tensor } from "../core/tensor.ts";

/**
 * A tensor that a layer trains: `parameters()` finds it, optimizers change it, `stateDict()` saves it.
 *
 * Layers make theirs with {@linkcode LayerBase.createParameter}, which also notices when one is kept
 * where it cannot be found.
 *
 * @example
 * ```ts
 * import { assert, assertEquals } from "jsr:@std/assert@1";
 * import { nn } from "../mod.ts";
 *
 * const { weight } = new nn.Linear(3, 4);
 * assert(weight instanceof nn.Parameter);
 * assertEquals([weight.shape, weight.trainable], [[3, 4], true]);
 * ```
 */
export class Parameter extends Tensor {
  /** Takes over the elements of `value`, which is used no more; made by layers. */
  constructor(value: Tensor, options: { readonly trainable?: boolean } = {}) {
    super({
      storage: value.storageOrThrow(),
      shape: value.shape,
      strides: value.impl.strides,
      offset: value.impl.offset,
      dtype: value.dtype,
      place: value.place,
    });
    // It lives as long as its layer, not as long as a scope() that happens to be open.
    keepAlive(this);
    value.dispose();
    setRequiresGrad(this, options.trainable ?? true);
  }

  /** Whether gradients are computed for it; turn it off to freeze a part of a model. */
  get trainable(): boolean {
    return this.requiresGrad;
  }

  /** Freezes or thaws it; freezing also drops the gradient gathered so far. */
  set trainable(on: boolean) {
    setRequiresGrad(this, on);
    if (!on) this.grad = null;
  }
}

/**
 * Gives a parameter the elements of `value`, with dtype and place, without making another object of
 * it: optimizers and tied layers keep what they hold. Its gradient is dropped; `value` is used no more.
 */
export function replaceElements(parameter: Parameter, value: Tensor): void {
  const { impl } = parameter;
  const trainable = parameter.requiresGrad;
  const storage = value.storageOrThrow();
  storage.retain();
  impl.storage?.drop();
  impl.storage = storage;
  impl.strides = value.impl.strides;
  impl.offset = value.impl.offset;
  impl.history = storage.history;
  impl.node = null;
  impl.nodeIndex = 0;
  impl.grad = null;
  // Fixed for everyone but this: a tensor of an op never changes its dtype.
  Object.assign(parameter, { dtype: value.dtype, place: value.place });
  keepAlive(parameter);
  value.dispose();
  setRequiresGrad(parameter, trainable);
}
