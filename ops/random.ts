// Random tensors. Words come from a generator by reservation and are turned into values on the device, the
// same on every place, whatever the number of threads. Not here: the ops that draw (random_ops.ts).
import { describe } from "../core/describe.ts";
import { type DType, getDefaultDtype, isFloat } from "../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../core/errors.ts";
import { convert } from "../core/convert.ts";
import { engine, type Operand } from "../core/op.ts";
import { expectOptions, expectTensors } from "../core/operands.ts";
import { randperm as permutation } from "../core/random/distributions.ts";
import { defaultGenerator, Generator } from "../core/random/generator.ts";
import { broadcastShapes, checkShape, type Shape, showShape, sizeOf } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { creationAttrs, type CreationOptions, dtypeOf, finished, placeOf } from "./making.ts";
import {
  BERNOULLI,
  dropoutWith,
  NORMAL,
  normalWords,
  RANDINT,
  rangeOperands,
  UNIFORM,
  uniformWords,
} from "./random_ops.ts";

/** What random functions take beside what all creation functions do. */
export interface RandomOptions extends CreationOptions {
  /** Where the random words come from; default: the generator that `seed` seeds. */
  readonly generator?: Generator;
}

/** Reserves words for the elements; positions are counted in 32 bits. */
function reserve(
  call: string,
  shape: Shape,
  wordsEach: number,
  generator: Generator = defaultGenerator(),
): number[] {
  checkShape(call, shape);
  if (!(generator instanceof Generator)) {
    throw new ValueError(
      `Cannot ${call} with generator ${
        describe(generator)
      }: it must be a Generator; write new Generator(seed)`,
    );
  }
  const n = sizeOf(shape);
  if (n > 2 ** 31 - 1) {
    throw new ShapeError(
      `Cannot ${call} ${showShape(shape)}: at most 2^31 - 1 elements can be drawn at once`,
    );
  }
  return rangeOperands(generator.reserve(n * wordsEach));
}

function floatType(call: string, dtype: DType | undefined): DType {
  const type = dtypeOf(call, dtype, getDefaultDtype());
  if (!isFloat(type)) {
    throw new DTypeError(`Cannot ${call} of ${type}: the dtype must be floating; cast the result`);
  }
  return type;
}

function uniformBetween(
  call: string,
  shape: Shape,
  min: number,
  max: number,
  options: RandomOptions,
): Tensor {
  const dtype = floatType(call, options.dtype);
  const range = reserve(call, shape, uniformWords(dtype), options.generator);
  const attrs = creationAttrs(shape, dtype, options.place);
  return finished(engine.call(UNIFORM, [min, max, ...range], attrs), options);
}

/**
 * Uniform numbers in [0, 1). Takes one word of the stream an element, two for float64.
 *
 * @param shape Sizes along the axes.
 * @param options `dtype`: floating; default the default float. `generator`: default the global one.
 * @returns That shape. Values are multiples of 2^-24 (float64 2^-53, float16 2^-11, bfloat16 2^-8).
 * @throws {DTypeError} if the dtype is not floating.
 * @example
 * ```ts
 * import { assert, assertEquals } from "jsr:@std/assert@1";
 * import { rand, seed } from "../mod.ts";
 *
 * seed(1);
 * const x = await rand([100]).data();
 * assert(x.every((v) => v >= 0 && v < 1));
 * seed(1);
 * assertEquals(await rand([100]).data(), x);
 * ```
 */
export function rand(shape: Shape, options: RandomOptions = {}): Tensor {
  expectOptions("rand", options);
  return uniformBetween("rand", shape, 0, 1, options);
}

/** Options of {@linkcode uniform}. */
export interface UniformOptions extends RandomOptions {
  /** Default -1. */
  readonly min?: number;
  /** Default 1. */
  readonly max?: number;
}

/**
 * Uniform numbers in [min, max) (rounding may give max itself). Takes words as `rand` does.
 *
 * @param shape Sizes along the axes.
 * @param options `min`: default -1. `max`: default 1 (both as in Paddle).
 * @returns That shape.
 * @throws {DTypeError} if the dtype is not floating.
 * @example
 * ```ts
 * import { assert } from "jsr:@std/assert@1";
 * import { uniform } from "../mod.ts";
 *
 * const x = await uniform([100], { min: 2, max: 3 }).data();
 * assert(x.every((v) => v >= 2 && v <= 3));
 * ```
 */
export function uniform(shape: Shape, options: UniformOptions = {}): Tensor {
  expectOptions("uniform", options);
  return uniformBetween("uniform", shape, options.min ?? -1, options.max ?? 1, options);
}

function normalWith(
  call: string,
  shape: Shape,
  mean: number,
  std: number,
  options: RandomOptions,
): Tensor {
  const dtype = floatType(call, options.dtype);
  const range = reserve(call, shape, normalWords(dtype), options.generator);
  const attrs = creationAttrs(shape, dtype, options.place);
  return finished(engine.call(NORMAL, [mean, std, ...range], attrs), options);
}

/**
 * Normal numbers of mean 0 and standard deviation 1, by Box and Muller. Takes two words of the stream an
 * element, four for float64; float32 values lie within ±5.8, float64 within ±8.6.
 *
 * @param shape Sizes along the axes.
 * @param options `dtype`: floating; default the default float. `generator`: default the global one.
 * @returns That shape.
 * @throws {DTypeError} if the dtype is not floating.
 * @example
 * ```ts
 * import { assert } from "jsr:@std/assert@1";
 * import { randn, seed } from "../mod.ts";
 *
 * seed(1);
 * const mean = await randn([10000]).mean().item() as number;
 * assert(Math.abs(mean) < 0.05);
 * ```
 */
export function randn(shape: Shape, options: RandomOptions = {}): Tensor {
  expectOptions("randn", options);
  return normalWith("randn", shape, 0, 1, options);
}

/** Options of {@linkcode normal}. */
export interface NormalOptions extends RandomOptions {
  /** Default 0. */
  readonly mean?: number | Tensor;
  /** Default 1. */
  readonly std?: number | Tensor;
  /** With numbers: default `[]`. Tensors bring their own, broadcast. */
  readonly shape?: Shape;
}

/**
 * Normal numbers of a given mean and standard deviation. Takes words as `randn` does.
 *
 * @param options `mean`, `std`: numbers, or tensors that broadcast (gradients flow to them). `shape`.
 * @returns `shape`, or the broadcast shape of the tensors.
 * @throws {ShapeError} if the tensors do not broadcast, or not to `shape`.
 * @throws {DTypeError} if the dtype is not floating.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { normal } from "../mod.ts";
 *
 * assertEquals(normal({ mean: 3, std: 0.1, shape: [2, 3] }).shape, [2, 3]);
 * ```
 */
export function normal(options: NormalOptions = {}): Tensor {
  expectOptions("normal", options);
  const { mean = 0, std = 1 } = options;
  if (typeof mean === "number" && typeof std === "number") {
    return normalWith("normal", options.shape ?? [], mean, std, options);
  }
  const tensors = [mean, std].filter((x): x is Tensor => typeof x !== "number");
  expectTensors("normal", ...tensors);
  const shapes = tensors.map((x) => x.shape);
  if (options.shape !== undefined) shapes.push(options.shape);
  const z = normalWith("normal", broadcastShapes("normal", ...shapes), 0, 1, {
    generator: options.generator,
    dtype: options.dtype ?? tensors[0].dtype,
    place: options.place ?? tensors[0].place,
  });
  return op.add(mean, op.mul(z, std));
}

/** Options of {@linkcode randint}. */
export interface RandintOptions extends RandomOptions {
  /** Default `[]`. */
  readonly shape?: Shape;
}

/**
 * Whole numbers from `low` (included) to `high` (not included). Takes two words of the stream an element.
 *
 * A 64-bit word times the count is cut to its upper part; so no number is favoured by more than a part in
 * 2^64 / count (Lemire 2019, without the rejection).
 *
 * @param low The smallest number; with no `high`, the end, and the smallest is 0.
 * @param high What is not reached.
 * @param options `shape`: default `[]`. `dtype`: default int32 (int64 with bigints; Paddle's is int64).
 * @returns That shape.
 * @throws {ValueError} if there is no number to choose, or the dtype cannot hold one.
 * @example
 * ```ts
 * import { assert } from "jsr:@std/assert@1";
 * import { randint } from "../mod.ts";
 *
 * const dice = await randint(1, 7, { shape: [100] }).data();
 * assert(dice.every((v) => v >= 1 && v <= 6));
 * ```
 */
export function randint(
  low: number | bigint,
  high?: number | bigint,
  options: RandintOptions = {},
): Tensor {
  expectOptions("randint", options);
  const from = high === undefined ? 0 : low;
  const to = high ?? low;
  const call = `Cannot randint from ${describe(from)} to ${describe(to)}`;
  for (const x of [from, to]) {
    if (typeof x !== "bigint" && !Number.isSafeInteger(x)) {
      throw new ValueError(`${call}: the bounds must be safe integers or bigints`);
    }
  }
  const first = BigInt(from);
  const count = BigInt(to) - first;
  if (count <= 0n) throw new ValueError(`${call}: the first bound must be below the second`);
  const bigs = typeof from === "bigint" || typeof to === "bigint";
  const dtype = dtypeOf("randint", options.dtype, bigs ? "int64" : "int32");
  const drawn = drawnType(call, dtype, first, first + count - 1n);
  const shape = options.shape ?? [];
  const range = reserve("randint", shape, 2, options.generator);
  const attrs = creationAttrs(shape, drawn, options.place);
  const operands: Operand[] = drawn === "int64"
    ? [first, BigInt.asIntN(64, count)]
    : [Number(first), Number(BigInt.asIntN(32, count))];
  const x = engine.call(RANDINT, [...operands, ...range], attrs);
  return finished(op.cast(x, dtype), options);
}

const INTEGER_BITS: Partial<Record<DType, readonly [bigint, bigint]>> = {
  uint8: [0n, 255n],
  int8: [-128n, 127n],
  int16: [-(1n << 15n), (1n << 15n) - 1n],
  int32: [-(1n << 31n), (1n << 31n) - 1n],
  int64: [-(1n << 63n), (1n << 63n) - 1n],
};

/** The integer dtype to draw in; floats are cast from one that holds the numbers. */
function drawnType(call: string, dtype: DType, first: bigint, last: bigint): DType {
  const fits = (d: DType) => first >= INTEGER_BITS[d]![0] && last <= INTEGER_BITS[d]![1];
  if (INTEGER_BITS[dtype] === undefined) {
    if (!isFloat(dtype)) throw new DTypeError(`${call} of ${dtype}: it must be a real number type`);
    return fits("int32") ? "int32" : "int64";
  }
  if (!fits(dtype)) throw new ValueError(`${call} of ${dtype}: it cannot hold all these numbers`);
  return dtype;
}

/**
 * The numbers 0 … n - 1 in random order (Fisher–Yates on the host). Takes n - 1 words of the stream.
 *
 * @param n How many.
 * @param options `dtype`: default int32 (Paddle's is int64).
 * @returns Shape `[n]`.
 * @throws {ValueError} if `n` is negative, not whole, or above 2^31 - 1.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { randperm } from "../mod.ts";
 *
 * const order = await randperm(4).toArray() as number[];
 * assertEquals(order.sort(), [0, 1, 2, 3]);
 * ```
 */
export function randperm(n: number, options: RandomOptions = {}): Tensor {
  expectOptions("randperm", options);
  const dtype = dtypeOf("randperm", options.dtype, "int32");
  const order = permutation(n, options.generator ?? defaultGenerator());
  const data = dtype === "int32" ? order : convert(order, "int32", dtype);
  return finished(engine.fromData(data, [n], dtype, placeOf(options)), options);
}

/** Options of functions that draw from a tensor of probabilities. */
export interface DrawOptions {
  /** Where the random words come from; default: the generator that `seed` seeds. */
  readonly generator?: Generator;
}

/**
 * 1 with the probability that each element gives, else 0. Takes one word of the stream an element, two
 * for float64.
 *
 * @param p Probabilities, any shape: at most 0 never gives 1, at least 1 always does, NaN never does.
 * @returns The shape of `p` and its dtype. No gradient.
 * @throws {DTypeError} if `p` is not floating.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { bernoulli, tensor } from "../mod.ts";
 *
 * assertEquals(await bernoulli(tensor([0, 1])).toArray(), [0, 1]);
 * ```
 */
export function bernoulli(p: Tensor, options: DrawOptions = {}): Tensor {
  expectTensors("bernoulli", p);
  expectOptions("bernoulli", options);
  const dtype = floatType("bernoulli", p.dtype);
  const range = reserve("bernoulli", p.shape, uniformWords(dtype), options.generator);
  return engine.call(BERNOULLI, [p, ...range]);
}

/** Options of {@linkcode multinomial}. */
export interface MultinomialOptions extends DrawOptions {
  /** Whether a category may be drawn again; default false. */
  readonly replacement?: boolean;
}

/**
 * Indices of categories, drawn by weight, for each row. Takes a uniform (see `rand`) for each draw with
 * replacement, for each category without.
 *
 * @param p Weights of the categories, `[…, categories]`, floating, not negative; they need not sum to 1,
 * but a row must have a weight above 0 (without replacement, as many as are drawn).
 * @param numSamples How many draws for each row.
 * @returns `[…, numSamples]`, int32, in the order drawn. Without replacement: the largest weights after
 * dividing by exponential variates, which is drawing one by one (Efraimidis and Spirakis 2006).
 * @throws {ShapeError} if `p` is a scalar.
 * @throws {ValueError} if `numSamples` is not positive, or without replacement above the categories.
 * @throws {DTypeError} if `p` is not floating.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { multinomial, tensor } from "../mod.ts";
 *
 * const weights = tensor([[0, 3, 0], [1, 0, 0]]);
 * assertEquals(await multinomial(weights, 2, { replacement: true }).toArray(), [[1, 1], [0, 0]]);
 * ```
 */
export function multinomial(
  p: Tensor,
  numSamples: number,
  options: MultinomialOptions = {},
): Tensor {
  expectTensors("multinomial", p);
  expectOptions("multinomial", options);
  const dtype = floatType("multinomial", p.dtype);
  if (p.rank === 0) {
    throw new ShapeError("Cannot multinomial []: the last axis must hold the categories");
  }
  const categories = p.shape[p.rank - 1];
  const limit = options.replacement ? Infinity : categories;
  if (!Number.isInteger(numSamples) || numSamples < 1 || numSamples > limit || categories === 0) {
    throw new ValueError(
      `Cannot multinomial ${
        showShape(p.shape)
      } with ${numSamples} samples: it must be a whole number ` +
        `from 1` + (options.replacement ? "" : ` to ${categories}; or pass {replacement: true}`),
    );
  }
  const weights = p.detach();
  const random = { dtype, place: p.place, generator: options.generator };
  if (!options.replacement) {
    const u = rand(p.shape, random);
    // 1 - u is in (0, 1]; at 1 the logarithm would be 0.
    const exponential = op.maximum(op.neg(op.log(op.sub(1, u))), 2 ** -25);
    return op.topk(op.div(weights, exponential), numSamples)[1];
  }
  const sums = op.cumsum(weights, -1);
  const total = op.slice(sums, { axes: [-1], starts: [categories - 1], ends: [categories] });
  const drawn = op.mul(rand([...p.shape.slice(0, -1), numSamples], random), total);
  // Rounded up to the total, a draw would lie behind the last category.
  const at = op.unsqueeze(op.where(op.greaterEqual(drawn, total), 0, drawn), -1);
  const passed = op.lessEqual(op.unsqueeze(sums, -2), at);
  return op.cast(op.minimum(op.sum(passed, -1), categories - 1), "int32");
}

/** Options of {@linkcode dropout}. */
export interface DropoutOptions extends DrawOptions {
  /** The probability that an element becomes 0; default 0.5. */
  readonly p?: number;
  /** Whether anything is dropped at all; default true. */
  readonly training?: boolean;
  /**
   * "upscale_in_train" (default): what is kept is divided by 1 - p, and nothing happens outside training.
   * "downscale_in_infer": kept as it is, and multiplied by 1 - p outside training. Both as in Paddle.
   */
  readonly mode?: "upscale_in_train" | "downscale_in_infer";
}

/**
 * Sets elements to 0 at random. Takes one word of the stream an element; the gradient draws the same
 * words again, so that no mask is kept in memory.
 *
 * @param x Any shape; integers and bools are taken as the default float.
 * @returns The shape of `x`; float dtype.
 * @throws {ValueError} if `p` is not within 0 … 1, or `mode` is unknown.
 * @example
 * ```ts
 * import { assert } from "jsr:@std/assert@1";
 * import { dropout, ones } from "../mod.ts";
 *
 * const y = await dropout(ones([100]), { p: 0.5 }).data();
 * assert(y.every((v) => v === 0 || v === 2));
 * ```
 */
export function dropout(x: Tensor, options: DropoutOptions = {}): Tensor {
  expectTensors("dropout", x);
  expectOptions("dropout", options);
  const { p = 0.5, training = true, mode = "upscale_in_train" } = options;
  if (!(p >= 0 && p <= 1)) {
    throw new ValueError(`Cannot dropout with p = ${p}: it must be a probability from 0 to 1`);
  }
  if (mode !== "upscale_in_train" && mode !== "downscale_in_infer") {
    throw new ValueError(
      `Cannot dropout in mode "${mode}": it must be "upscale_in_train" or "downscale_in_infer"`,
    );
  }
  const upscale = mode === "upscale_in_train";
  if (!training) return upscale ? x : op.mul(x, 1 - p);
  // With p = 1 nothing is kept that could be scaled.
  const scale = upscale && p < 1 ? 1 / (1 - p) : 1;
  return dropoutWith(x, p, scale, reserve("dropout", x.shape, 1, options.generator));
}
