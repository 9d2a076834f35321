/**
 * How parameters begin. All values come from the default generator, so `seed(n)` before a model is
 * made makes it the same each time, on every place. Deliberately not here: which layer uses which,
 * which each layer says.
 *
 * Fans, as in Paddle: of [in, out] they are its sizes; of [n] both are n; of convolution weights
 * [out, in, …kernel] fan-in is in × kernel elements, fan-out is out × kernel elements; of a scalar 1.
 *
 * @module
 */

import { expectOptions } from "../core/operands.ts";
import { ShapeError, ValueError } from "../core/errors.ts";
import type { DType } from "../core/dtype.ts";
import type { Place } from "../core/place.ts";
import { defaultGenerator } from "../core/random/generator.ts";
import { uint32QuadToNormalFloat64 } from "../core/random/distributions.ts";
import { philoxWords } from "../core/random/philox.ts";
import { checkShape, sameShape, type Shape, showShape, sizeOf } from "../core/shape.ts";
import { Tensor } from "../core/tensor.ts";
import {
  add,
  cast,
  clip,
  clone,
  erf,
  erfinv,
  full,
  mul,
  rand,
  randn,
  sub,
  tensor,
  type TensorLike,
} from "../ops/mod.ts";

/** What a parameter is to be. */
export interface InitOptions {
  /** A floating dtype. */
  readonly dtype: DType;
  /** Where it lives; default: the current place. */
  readonly place?: Place | string;
}

/**
 * A rule that makes the first values of a parameter. Extend it for a rule of your own.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { full, nn, type Tensor } from "../mod.ts";
 *
 * class Sevens extends nn.initializer.Initializer {
 *   create(shape: readonly number[], options: nn.initializer.InitOptions): Tensor {
 *     return full(shape, 7, options);
 *   }
 * }
 * const { weight } = new nn.Linear(1, 2, { weightInit: new Sevens() });
 * assertEquals(await weight.toArray(), [[7, 7]]);
 * ```
 */
export abstract class Initializer {
  /** A new tensor of that shape and dtype on that place. */
  abstract create(shape: Shape, options: InitOptions): Tensor;
}

/** The number of inputs and of outputs that an element of a weight connects; see the module. */
export function fansOf(shape: Shape): { readonly fanIn: number; readonly fanOut: number } {
  checkShape("fansOf", shape);
  if (shape.length === 0) return { fanIn: 1, fanOut: 1 };
  if (shape.length === 1) return { fanIn: shape[0], fanOut: shape[0] };
  if (shape.length === 2) return { fanIn: shape[0], fanOut: shape[1] };
  const receptive = sizeOf(shape.slice(2));
  return { fanIn: shape[1] * receptive, fanOut: shape[0] * receptive };
}

function finite(name: string, values: Readonly<Record<string, number>>, least = -Infinity): void {
  for (const [what, x] of Object.entries(values)) {
    if (Number.isFinite(x) && x >= least) continue;
    const rule = least === -Infinity ? "a finite number" : `a finite number of at least ${least}`;
    throw new ValueError(`Cannot make ${name} with ${what} ${x}: it must be ${rule}`);
  }
}

/** x · scale + shift, without touching x where that changes nothing. */
function affine(x: Tensor, scale: number, shift: number): Tensor {
  const scaled = scale === 1 ? x : mul(x, scale);
  return shift === 0 ? scaled : add(scaled, shift);
}

/**
 * The same value everywhere.
 *
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn } from "../mod.ts";
 *
 * const biasInit = new nn.initializer.Constant(0.5);
 * assertEquals(await new nn.Linear(3, 2, { biasInit }).bias!.toArray(), [0.5, 0.5]);
 * ```
 */
export class Constant extends Initializer {
  /** The value. */
  readonly value: number;

  /** With a value; default 0. */
  constructor(value = 0) {
    super();
    this.value = value;
  }
  /** New values by this rule. */
  override create(shape: Shape, options: InitOptions): Tensor {
    return full(shape, this.value, options);
  }
}

/**
 * Independent normals.
 *
 * @throws {ValueError} if mean or std is not finite, or std is negative.
 * @example
 * ```ts
 * import { assert, assertEquals } from "jsr:@std/assert@1";
 * import { nn, seed } from "../mod.ts";
 *
 * seed(1);
 * const init = new nn.initializer.Normal({ mean: 100, std: 0.1 });
 * const x = await init.create([50], { dtype: "float32" }).data();
 * assertEquals(x.length, 50);
 * assert(x.every((v) => Math.abs(Number(v) - 100) < 1));
 * ```
 */
export class Normal extends Initializer {
  readonly #mean: number;
  readonly #std: number;

  /** `mean` (default 0) and `std` (default 1). */
  constructor(options: { readonly mean?: number; readonly std?: number } = {}) {
    super();
    expectOptions(`make ${new.target.name}`, options);
    const { mean = 0, std = 1 } = options;
    finite("Normal", { mean });
    finite("Normal", { std }, 0);
    [this.#mean, this.#std] = [mean, std];
  }
  /** New values by this rule. */
  override create(shape: Shape, options: InitOptions): Tensor {
    return affine(randn(shape, options), this.#std, this.#mean);
  }
}

/**
 * Independent uniforms in [low, high).
 *
 * @throws {ValueError} if a bound is not finite, or high is below low.
 * @example
 * ```ts
 * import { assert } from "jsr:@std/assert@1";
 * import { nn } from "../mod.ts";
 *
 * const init = new nn.initializer.Uniform({ low: 2, high: 3 });
 * const x = await init.create([50], { dtype: "float32" }).data();
 * assert(x.every((v) => v >= 2 && v <= 3));
 * ```
 */
export class Uniform extends Initializer {
  readonly #low: number;
  readonly #high: number;

  /** `low` (default -1) and `high` (default 1). */
  constructor(options: { readonly low?: number; readonly high?: number } = {}) {
    super();
    expectOptions("make Uniform", options);
    const { low = -1, high = 1 } = options;
    finite("Uniform", { low });
    finite("Uniform", { high }, low);
    [this.#low, this.#high] = [low, high];
  }
  /** New values by this rule. */
  override create(shape: Shape, options: InitOptions): Tensor {
    return affine(rand(shape, options), this.#high - this.#low, this.#low);
  }
}

/**
 * Normals of which those outside [low, high] are drawn anew: mean + std · √2 · erfinv(u) with u uniform
 * between the erf of the two bounds.
 *
 * @throws {ValueError} if a number is not finite, std is not positive, or high is below low.
 * @example
 * ```ts
 * import { assert } from "jsr:@std/assert@1";
 * import { nn } from "../mod.ts";
 *
 * const init = new nn.initializer.TruncatedNormal({ std: 0.02, low: -0.04, high: 0.04 });
 * const x = await init.create([200], { dtype: "float64" }).data();
 * assert(x.every((v) => v >= -0.04 && v <= 0.04));
 * ```
 */
export class TruncatedNormal extends Initializer {
  readonly #mean: number;
  readonly #std: number;
  readonly #low: number;
  readonly #high: number;

  /** `mean` (default 0), `std` (default 1), and the bounds: `low` and `high`, default mean ∓ 2 std. */
  constructor(
    options: {
      readonly mean?: number;
      readonly std?: number;
      readonly low?: number;
      readonly high?: number;
    } = {},
  ) {
    super();
    expectOptions(`make ${new.target.name}`, options);
    const { mean = 0, std = 1 } = options;
    const { low = mean - 2 * std, high = mean + 2 * std } = options;
    finite("TruncatedNormal", { mean, low });
    finite("TruncatedNormal", { std }, Number.MIN_VALUE);
    finite("TruncatedNormal", { high }, low);
    [this.#mean, this.#std, this.#low, this.#high] = [mean, std, low, high];
  }
  /** New values by this rule. */
  override create(shape: Shape, options: InitOptions): Tensor {
    const wide = this.#std * Math.SQRT2;
    // The library's own erf, as tensors of one element: no place has to be read from.
    const at = (bound: number): Tensor => erf(full([], (bound - this.#mean) / wide, options));
    const low = at(this.#low);
    const u = add(mul(rand(shape, options), sub(at(this.#high), low)), low);
    return clip(affine(erfinv(u), wide, this.#mean), this.#low, this.#high);
  }
}

/** Options of the Xavier rules. */
export interface XavierOptions {
  /** Multiplies the spread; default 1. */
  readonly gain?: number;
}

/**
 * Normals of deviation gain · √(2 / (fan-in + fan-out)): keeps the variance of values and of gradients
 * through linear and tanh layers. Glorot & Bengio, "Understanding the difficulty of training deep
 * feedforward neural networks", 2010.
 *
 * @throws {ValueError} if gain is not finite or negative.
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { nn, seed } from "../mod.ts";
 *
 * seed(1);
 * const x = new nn.initializer.XavierNormal().create([100, 300], { dtype: "float32" });
 * assertAlmostEquals(await x.std().item() as number, Math.sqrt(2 / 400), 1e-3);
 * ```
 */
export class XavierNormal extends Initializer {
  readonly #gain: number;

  /** With a gain. */
  constructor(options: XavierOptions = {}) {
    super();
    expectOptions(`make ${new.target.name}`, options);
    this.#gain = options.gain ?? 1;
    finite("XavierNormal", { gain: this.#gain }, 0);
  }
  /** New values by this rule. */
  override create(shape: Shape, options: InitOptions): Tensor {
    const { fanIn, fanOut } = fansOf(shape);
    return mul(randn(shape, options), this.#gain * Math.sqrt(2 / (fanIn + fanOut)));
  }
}

/**
 * Uniforms within ±gain · √(6 / (fan-in + fan-out)), the rule of Linear and Embedding: see
 * {@linkcode XavierNormal}.
 *
 * @throws {ValueError} if gain is not finite or negative.
 * @example
 * ```ts
 * import { assert } from "jsr:@std/assert@1";
 * import { nn } from "../mod.ts";
 *
 * const x = new nn.initializer.XavierUniform().create([4, 2], { dtype: "float32" });
 * assert((await x.data()).every((v) => Math.abs(Number(v)) <= 1));
 * ```
 */
export class XavierUniform extends Initializer {
  readonly #gain: number;

  /** With a gain. */
  constructor(options: XavierOptions = {}) {
    super();
    expectOptions(`make ${new.target.name}`, options);
    this.#gain = options.gain ?? 1;
    finite("XavierUniform", { gain: this.#gain }, 0);
  }
  /** New values by this rule. */
  override create(shape: Shape, options: InitOptions): Tensor {
    const { fanIn, fanOut } = fansOf(shape);
    const limit = this.#gain * Math.sqrt(6 / (fanIn + fanOut));
    return affine(rand(shape, options), 2 * limit, -limit);
  }
}

/** Options of the Kaiming rules. */
export interface KaimingOptions {
  /** Which fan keeps its variance; default "fanIn". */
  readonly mode?: "fanIn" | "fanOut";
  /** The slope of the (leaky) relu that follows; default 0. */
  readonly negativeSlope?: number;
  /** "relu" (default): gain √(2 / (1 + slope²)); "linear": gain 1. */
  readonly nonlinearity?: "relu" | "linear";
}

/** gain / √fan. */
function kaimingStd(name: string, shape: Shape, options: KaimingOptions): number {
  const { mode = "fanIn", negativeSlope = 0, nonlinearity = "relu" } = options;
  finite(name, { negativeSlope });
  const gain = nonlinearity === "linear" ? 1 : Math.sqrt(2 / (1 + negativeSlope ** 2));
  return gain / Math.sqrt(Math.max(1, fansOf(shape)[mode]));
}

/**
 * Normals of deviation gain / √fan, the rule of convolutions: keeps the variance through layers
 * with relu. He et al., "Delving deep into rectifiers", 2015.
 *
 * @throws {ValueError} when used, if `negativeSlope` is not finite.
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { nn, seed } from "../mod.ts";
 *
 * seed(1);
 * const x = new nn.initializer.KaimingNormal().create([100, 30, 3, 3], { dtype: "float32" });
 * assertAlmostEquals(await x.std().item() as number, Math.sqrt(2 / (30 * 9)), 2e-3);
 * ```
 */
export class KaimingNormal extends Initializer {
  readonly #options: KaimingOptions;

  /** For the layer that follows. */
  constructor(options: KaimingOptions = {}) {
    super();
    this.#options = options;
  }
  /** New values by this rule. */
  override create(shape: Shape, options: InitOptions): Tensor {
    return mul(randn(shape, options), kaimingStd("KaimingNormal", shape, this.#options));
  }
}

/**
 * Uniforms within ±gain · √(3 / fan): see {@linkcode KaimingNormal}.
 *
 * @throws {ValueError} when used, if `negativeSlope` is not finite.
 * @example
 * ```ts
 * import { assert } from "jsr:@std/assert@1";
 * import { nn } from "../mod.ts";
 *
 * const x = new nn.initializer.KaimingUniform().create([6, 2], { dtype: "float32" });
 * assert((await x.data()).every((v) => Math.abs(Number(v)) <= 1));
 * ```
 */
export class KaimingUniform extends Initializer {
  readonly #options: KaimingOptions;

  /** For the layer that follows. */
  constructor(options: KaimingOptions = {}) {
    super();
    this.#options = options;
  }
  /** New values by this rule. */
  override create(shape: Shape, options: InitOptions): Tensor {
    const limit = Math.sqrt(3) * kaimingStd("KaimingUniform", shape, this.#options);
    return affine(rand(shape, options), 2 * limit, -limit);
  }
}

/**
 * Given values.
 *
 * @throws {ShapeError} when used, if their shape is not the parameter's.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn } from "../mod.ts";
 *
 * const weightInit = new nn.initializer.Assign([[1], [2]]);
 * assertEquals(await new nn.Linear(2, 1, { weightInit }).weight.toArray(), [[1], [2]]);
 * ```
 */
export class Assign extends Initializer {
  readonly #value: Tensor | TensorLike;

  /** A tensor, or what `tensor` takes; a copy is made when it is used. */
  constructor(value: Tensor | TensorLike) {
    super();
    this.#value = value;
  }
  /** New values by this rule. */
  override create(shape: Shape, options: InitOptions): Tensor {
    const value = this.#value instanceof Tensor
      ? clone(this.#value.detach().to(options.place ?? this.#value.place))
      : tensor(this.#value, options);
    if (!sameShape(value.shape, shape)) {
      throw new ShapeError(
        `Cannot Assign values of shape ${showShape(value.shape)} to a parameter of shape ${
          showShape(shape)
        }: shapes must be equal`,
      );
    }
    return value.dtype === options.dtype ? value : cast(value, options.dtype);
  }
}

/**
 * Orthonormal rows or columns (whichever are fewer) of the weight seen as a matrix [first size, all
 * others], times `gain`. The matrix is the Q of a random normal one, with the signs that make it
 * uniform over all orthogonal matrices: Saxe et al. 2013; Mezzadri, "How to generate random matrices
 * from the classical compact groups", 2007. It is computed on the host in float64, in time rows × columns
 * × the fewer of the two.
 *
 * @throws {ValueError} if gain is not finite.
 * @throws {ShapeError} when used, if the parameter has fewer than two axes.
 * @example
 * ```ts
 * import { assertAlmostEquals } from "jsr:@std/assert@1";
 * import { nn } from "../mod.ts";
 *
 * const q = new nn.initializer.Orthogonal().create([4, 3], { dtype: "float64" });
 * const product = await q.mT.matmul(q).toArray() as number[][];
 * assertAlmostEquals(product[0][0], 1, 1e-12);
 * assertAlmostEquals(product[0][1], 0, 1e-12);
 * ```
 */
export class Orthogonal extends Initializer {
  readonly #gain: number;

  /** With a gain; default 1. */
  constructor(options: { readonly gain?: number } = {}) {
    super();
    expectOptions(`make ${new.target.name}`, options);
    this.#gain = options.gain ?? 1;
    finite("Orthogonal", { gain: this.#gain });
  }
  /** New values by this rule. */
  override create(shape: Shape, options: InitOptions): Tensor {
    if (shape.length < 2) {
      throw new ShapeError(
        `Cannot make a parameter of shape ${showShape(shape)} Orthogonal: it must have two axes ` +
          "or more; use another initializer",
      );
    }
    const rows = shape[0];
    const columns = sizeOf(shape.slice(1));
    const [count, length] = rows < columns ? [rows, columns] : [columns, rows];
    const vectors = orthonormal(normals(count * length), count, length);
    const values = new Float64Array(rows * columns);
    for (let v = 0; v < count; v++) {
      for (let i = 0; i < length; i++) {
        const at = rows < columns ? v * columns + i : i * columns + v;
        values[at] = this.#gain * vectors[v * length + i];
      }
    }
    return tensor(values, options).reshape(shape);
  }
}

/** Standard normals of the default generator. */
function normals(n: number): Float64Array {
  const range = defaultGenerator().reserve(4 * n);
  const words = new Uint32Array(4 * n);
  philoxWords(range, 0, words);
  const values = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    const w = 4 * i;
    values[i] = uint32QuadToNormalFloat64(words[w], words[w + 1], words[w + 2], words[w + 3]);
  }
  return values;
}

/**
 * Makes `count` vectors of some length orthonormal, in place: Gram–Schmidt, each vector twice, which is
 * as exact as Householder's way (Giraud et al. 2005). Random signs of R's diagonal need no mending:
 * here it is positive by construction.
 */
function orthonormal(vectors: Float64Array, count: number, length: number): Float64Array {
  for (let v = 0; v < count; v++) {
    const own = vectors.subarray(v * length, (v + 1) * length);
    for (let pass = 0; pass < 2; pass++) {
      for (let u = 0; u < v; u++) {
        const other = vectors.subarray(u * length, (u + 1) * length);
        let dot = 0;
        for (let i = 0; i < length; i++) dot += own[i] * other[i];
        for (let i = 0; i < length; i++) own[i] -= dot * other[i];
      }
    }
    let square = 0;
    for (let i = 0; i < length; i++) square += own[i] * own[i];
    const scale = 1 / Math.sqrt(square);
    for (let i = 0; i < length; i++) own[i] *= scale;
  }
  return vectors;
}
