// What every tensor is: geometry over a storage (or a traced value), its place in the gradient graph,
// reading, disposal. Op methods are in tensor_math.ts, tensor_reduce.ts and tensor_shape.ts; the class users see is in tensor.ts.
import type { DataArray, DType } from "./dtype.ts";
import type { GraphValue } from "./ir/graph.ts";
import type { Place } from "./place.ts";
import type { Shape } from "./shape.ts";
import { isContiguous, showShape, sizeOf } from "./shape.ts";
import { DisposedError, ShapeError, TraceError, ValueError } from "./errors.ts";
import type { Storage } from "./storage.ts";
import type { GradNode } from "./autograd.ts";
import type { Tensor } from "./tensor.ts";

/** Nested arrays of numbers, booleans or bigints, as deep as the rank. */
export type NestedArray = number | bigint | boolean | NestedArray[];

/** What `data()` gives for each dtype. */
export type TensorData = DataArray;

/** What the engine offers to tensors; filled when it is loaded. */
export interface TensorRuntime {
  data(x: Tensor): Promise<DataArray>;
  dataSync(x: Tensor): DataArray;
  toNested(x: Tensor, data: DataArray): NestedArray;
  format(x: Tensor): string;
  html(x: Tensor): string;
  backward(x: Tensor, grad: Tensor | undefined, options: { readonly retainGraph?: boolean }): void;
  alias(x: Tensor): Tensor;
  to(x: Tensor, target: Place | string): Tensor;
  setRequiresGrad(x: Tensor, on: boolean): void;
  registerHook(x: Tensor, hook: (grad: Tensor) => Tensor | void): () => void;
  setGrad(x: Tensor, grad: Tensor | null): void;
}

/** Late-bound: see {@linkcode TensorRuntime}. */
export const runtime: TensorRuntime = {} as TensorRuntime;

/** Fields of a tensor that the engine makes it from. */
export interface TensorInit {
  readonly storage: Storage | null;
  readonly shape: Shape;
  readonly strides: readonly number[];
  readonly offset: number;
  readonly dtype: DType;
  readonly place: Place;
  readonly traced?: GraphValue | null;
}

/** The parts of a tensor that only the library touches. */
export class TensorImpl {
  storage: Storage | null;
  strides: readonly number[];
  offset: number;
  /** The value in the graph being traced, for tensors that have no storage. */
  traced: GraphValue | null;
  /** How this tensor was made, for gradients; a leaf that requires grad has a leaf node. */
  node: GradNode | null = null;
  /** Which output of `node`. */
  nodeIndex = 0;
  requiresGrad = false;
  grad: Tensor | null = null;
  /** Storage history at which `node` was right. */
  history = 0;
  disposed = false;
  /** The tensor whose storage this is a view of, if it is one. */
  base: Tensor | null = null;

  /** Only geometry; gradient state starts empty. */
  constructor(init: TensorInit) {
    this.storage = init.storage;
    this.strides = init.strides;
    this.offset = init.offset;
    this.traced = init.traced ?? null;
    if (init.storage !== null) {
      init.storage.retain();
      this.history = init.storage.history;
    }
  }
}

/** Geometry, reading, gradients and disposal: the part of {@linkcode Tensor} that is not ops. */
export abstract class TensorBase {
  /** Sizes along the axes; `[]` for a scalar. */
  readonly shape: readonly number[];
  /** Element type. */
  readonly dtype: DType;
  /** Where the elements live. */
  readonly place: Place;
  /**
   * The library's own part. Not for users: it changes without notice.
   *
   * @internal
   */
  readonly impl: TensorImpl;

  /**
   * Made by the library; users call `tensor`, `zeros`, …
   *
   * @internal
   */
  constructor(init: TensorInit) {
    // Shared by views and plans: code without a type check must not turn it over.
    this.shape = Object.isFrozen(init.shape) ? init.shape : Object.freeze(init.shape);
    this.dtype = init.dtype;
    this.place = init.place;
    this.impl = new TensorImpl(init);
  }

  /** Number of axes. */
  get rank(): number {
    return this.shape.length;
  }

  /** Number of elements. */
  get numel(): number {
    return sizeOf(this.shape);
  }

  /** Whether the elements lie in row-major order without gaps. */
  get isContiguous(): boolean {
    return isContiguous(this.shape, this.impl.strides);
  }

  /** Strides in elements. */
  get strides(): readonly number[] {
    return this.impl.strides;
  }

  /** Whether gradients flow to this tensor. */
  get requiresGrad(): boolean {
    return this.impl.requiresGrad;
  }

  /** Makes a leaf of a floating dtype require its gradient, or stop. Throws GradError for others. */
  set requiresGrad(on: boolean) {
    runtime.setRequiresGrad(this as unknown as Tensor, on);
  }

  /** The opposite of `requiresGrad`, Paddle's word. */
  get stopGradient(): boolean {
    return !this.impl.requiresGrad;
  }

  /** Stops or starts the gradient of a leaf. */
  set stopGradient(stop: boolean) {
    runtime.setRequiresGrad(this as unknown as Tensor, !stop);
  }

  /** The accumulated gradient of a leaf after `backward()`, or null. */
  get grad(): Tensor | null {
    return this.impl.grad;
  }

  /** Sets or clears the accumulated gradient, which is of this tensor's shape, dtype and place. */
  set grad(value: Tensor | null) {
    runtime.setGrad(this as unknown as Tensor, value);
  }

  /** Whether it was made by the user (or without recording) and not by a recorded op. */
  get isLeaf(): boolean {
    return this.impl.node === null || this.impl.node.isLeaf;
  }

  /**
   * The storage. Throws for a traced or disposed tensor.
   *
   * @internal
   */
  storageOrThrow(): Storage {
    const impl = this.impl;
    if (impl.disposed) {
      throw new DisposedError(
        `Cannot use a ${this.dtype} tensor of shape [${this.shape.join(", ")}] after dispose(): ` +
          "its `using` block or scope has ended; return it from the scope or clone() it before",
      );
    }
    if (impl.storage === null) {
      throw new TraceError(
        `Cannot use a traced ${this.dtype} tensor of shape [${
          this.shape.join(", ")
        }] outside of its trace: ` +
          "it has no value; return it from what is traced, and use what the call gives",
      );
    }
    return impl.storage;
  }

  /**
   * A copy of the elements in row-major order, as the typed array of the dtype (int64: BigInt64Array;
   * bool: Uint8Array of 0 and 1; float16 and bfloat16: a Float32Array of their values; complex: pairs).
   */
  data(): Promise<TensorData> {
    return runtime.data(this as unknown as Tensor);
  }

  /** Like `data()`, at once; throws where the place cannot read synchronously. */
  dataSync(): TensorData {
    return runtime.dataSync(this as unknown as Tensor);
  }

  /** The only element as a number (bool: a boolean; int64 outside ±2^53: a bigint). */
  async item(): Promise<number | boolean | bigint> {
    return only(this, runtime.toNested(this as unknown as Tensor, await this.data()));
  }

  /** Like `item()`, at once. */
  itemSync(): number | boolean | bigint {
    return only(this, runtime.toNested(this as unknown as Tensor, this.dataSync()));
  }

  /** The elements as nested arrays; a scalar gives the bare value. int64 gives numbers where they are safe. */
  async toArray(): Promise<NestedArray> {
    return runtime.toNested(this as unknown as Tensor, await this.data());
  }

  /** Like `toArray()`, at once. */
  toArraySync(): NestedArray {
    return runtime.toNested(this as unknown as Tensor, this.dataSync());
  }

  /**
   * Computes gradients of this tensor with respect to all leaves that require them, adding to their `grad`.
   * A scalar needs no argument; otherwise `grad` has this tensor's shape.
   */
  backward(grad?: Tensor, options: { readonly retainGraph?: boolean } = {}): void {
    runtime.backward(this as unknown as Tensor, grad, options);
  }

  /** The same elements, cut off from the gradient graph. */
  detach(): Tensor {
    return runtime.alias(this as unknown as Tensor);
  }

  /**
   * This tensor in another dtype ("float64"), or a copy on another place ("cpu", "webgpu:0"). Gives the tensor itself
   * if it is there already.
   */
  to(target: Place | DType | string): Tensor {
    return runtime.to(this as unknown as Tensor, target);
  }

  /**
   * Adds a hook that is called with this tensor's gradient in every backward walk and may return another in its
   * place. Gives a function that removes it.
   */
  registerHook(hook: (grad: Tensor) => Tensor | void): () => void {
    return runtime.registerHook(this as unknown as Tensor, hook);
  }

  /** Clears the accumulated gradient. */
  zeroGrad(): void {
    this.impl.grad = null;
  }

  /** Gives the memory back now, if no other tensor shares it. Not needed in ordinary loops. */
  dispose(): void {
    const impl = this.impl;
    if (impl.disposed || impl.storage === null) return;
    impl.disposed = true;
    impl.storage.drop();
  }

  /** Same as `dispose()`: `using x = …`. */
  [Symbol.dispose](): void {
    this.dispose();
  }

  /** NumPy-like text of the values, where they can be read at once. */
  toString(): string {
    return runtime.format(this as unknown as Tensor);
  }

  /**
   * Text where JavaScript wants text.
   *
   * @throws {ValueError} where it wants a number, as in `x * 2` or `x < 3`: operators do not work on tensors.
   */
  [Symbol.toPrimitive](hint: string): string {
    if (hint !== "number") return this.toString();
    throw new ValueError(
      `Cannot take ${showShape(this.shape)} for a number: operators do not work on tensors; ` +
        "write x.mul(2) or x.lessThan(3), or read one number with await x.item()",
    );
  }

  /**
   * What JSON.stringify asks for.
   *
   * @throws {ValueError} always: elements may live elsewhere, and JSON has neither NaN nor int64.
   */
  toJSON(): never {
    throw new ValueError(
      `Cannot write ${this.dtype} ${showShape(this.shape)} as JSON: read it first, with await ` +
        "x.toArray() or await x.item()",
    );
  }

  /** What `console.log` shows in Deno. */
  [Symbol.for("Deno.customInspect")](): string {
    return runtime.format(this as unknown as Tensor);
  }

  /** What `console.log` shows in Node. */
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return runtime.format(this as unknown as Tensor);
  }

  /** What a notebook shows. */
  [Symbol.for("Jupyter.display")](): Record<string, string> {
    const self = this as unknown as Tensor;
    return { "text/plain": runtime.format(self), "text/html": runtime.html(self) };
  }
}

function only(x: TensorBase, nested: NestedArray): number | boolean | bigint {
  let value = nested;
  while (Array.isArray(value) && value.length === 1) value = value[0];
  if (Array.isArray(value)) {
    throw new ShapeError(
      `Cannot take item() of shape [${x.shape.join(", ")}]: it must have exactly one element: ` +
        `got ${x.numel}; use data() or toArray()`,
    );
  }
  return value;
}
