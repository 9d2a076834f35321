// The ops that draw. Random words are computed on the device from a reserved range, which comes as four
// int32 numbers; word i is the same on every backend, however the work is split. What is made of the words
// is elementwise, so it fuses with what follows. Not public; functions for users are in random.ts.
import { type DType, DTYPES } from "../core/dtype.ts";
import {
  composite,
  type CompositeOp,
  type DTypeRule,
  elementwise,
  engine,
  kernelOp,
  type Meta,
  type Operand,
  promoteFloat,
} from "../core/op.ts";
import type { Expr } from "../core/ir/expr.ts";
import * as k from "../core/ir/expr.ts";
import { type Kernel, makeKernel } from "../core/ir/kernel.ts";
import { philoxBlock } from "../core/ir/philox.ts";
import type { PhiloxRange } from "../core/random/philox.ts";
import { type Shape, sizeOf } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";

/** The operands by which a range goes into an op. */
export function rangeOperands(range: PhiloxRange): number[] {
  return [range.key0 | 0, range.key1 | 0, range.offsetLo | 0, range.offsetHi | 0];
}

let kernel: Kernel | null = null;

/** One block of four words at each point, written interleaved: the four buffers are one output. */
function wordsKernel(): Kernel {
  const arg = (i: number) => k.leaf("arg", "int32", i);
  const range = { key0: arg(0), key1: arg(1), offsetLo: arg(2), offsetHi: arg(3) };
  return kernel ??= makeKernel({
    outerRank: 1,
    innerRank: 0,
    inputs: [],
    args: ["int32", "int32", "int32", "int32"],
    index32: true,
    stages: [{ kind: "map", values: philoxBlock(range, k.leaf("coord", "int32", 0)) }],
    outputs: [0, 1, 2, 3].map((value) => ({
      dtype: "int32",
      outer: "any",
      inner: "any",
      stage: 0,
      value,
    })),
  });
}

/** Range for samples: its counter carries within them. */
const SAMPLE_RANGE = [0x01234567, -0x76543211, -2, 0];

/** The words of a range, whole blocks: as many as `count` needs. Operands: the range. */
const RANDOM_WORDS = kernelOp({
  name: "randomWords",
  infer: (_metas, attrs) => [{ shape: [4 * blocks(attrs.count as number)], dtype: "int32" }],
  lower: (metas, [out]) => ({
    kernel: wordsKernel(),
    launch: {
      sizes: [out.shape[0] / 4],
      strides: [[4], [4], [4], [4]],
      offsets: [0, 1, 2, 3],
      args: metas.map((m: Meta) => Number(m.value)),
    },
    ports: [0, 0, 0, 0],
  }),
  vjp: null,
  samples: () => [1, 40, 1001, 0].map((count) => ({ inputs: SAMPLE_RANGE, attrs: { count } })),
});

function blocks(count: number): number {
  return Math.ceil(count / 4);
}

/** Words for a tensor: element i takes words `each * i` on; one int32 tensor of the shape for each. */
function wordsFor(range: readonly Operand[], shape: Shape, each: number): Tensor[] {
  const n = sizeOf(shape);
  const all = engine.call(RANDOM_WORDS, range, { count: n * each });
  const used = op.slice(all, { axes: [0], starts: [0], ends: [n * each] });
  if (each === 1) return [op.reshape(used, shape)];
  const rows = op.reshape(used, [n, each]);
  return Array.from({ length: each }, (_, j) => {
    return op.reshape(op.slice(rows, { axes: [1], starts: [j], ends: [j + 1] }), shape);
  });
}

/** The upper bits of a word as a float32 in [0, 1), a multiple of 2^-bits. */
function fraction(word: Expr, bits: number): Expr {
  return k.mul(k.cast(k.shru(word, 32 - bits), "float32"), 2 ** -bits);
}

/** A float64 in [0, 1) from the upper 27 bits of one word and the upper 26 of another. */
function fraction53(a: Expr, b: Expr): Expr {
  const high = k.mul(k.cast(k.shru(a, 5), "float64"), 2 ** 26);
  return k.mul(k.add(high, k.cast(k.shru(b, 6), "float64")), 2 ** -53);
}

/** Bits of a uniform: as many as are exact in the dtype, so that 1 is never reached. */
const UNIFORM_BITS: Partial<Record<DType, number>> = { float16: 11, bfloat16: 8, float32: 24 };

/** How many words a uniform of the dtype takes. */
export function uniformWords(dtype: DType): number {
  return dtype === "float64" ? 2 : 1;
}

/** How many words a normal of the dtype takes. */
export function normalWords(dtype: DType): number {
  return 2 * uniformWords(dtype);
}

function uniformOf(words: readonly Expr[], bits: number): Expr {
  return words.length === 2 ? fraction53(words[0], words[1]) : fraction(words[0], bits);
}

/** `numbers` operands of attrs.dtype, then words. */
function drawnRule(numbers: number): DTypeRule {
  return (_name, metas, attrs) => {
    const out = attrs.dtype as DType;
    return { compute: metas.map((_, i) => (i < numbers ? out : "int32")), out };
  };
}

const UNIFORM_OF = elementwise({
  name: "uniformOf",
  dtype: drawnRule(2),
  scalar: ([low, high, ...words], { attrs }) => {
    const u = uniformOf(words, UNIFORM_BITS[attrs.dtype as DType] ?? 53);
    return k.add(low, k.mul(u, k.sub(high, low)));
  },
  vjp: null,
});

/** sqrt(-2 ln u) cos(2 pi v), u in (0, 1], v in [0, 1) (Box and Muller 1958). */
function boxMuller(u: Expr, v: Expr): Expr {
  // cos(2 pi v) = -cos(2 pi (v - 1/2)): the smaller angle is rounded less.
  const angle = k.mul(k.sub(v, 0.5), 2 * Math.PI);
  return k.mul(k.sqrt(k.mul(k.log(u), -2)), k.neg(k.cos(angle)));
}

const NORMAL_OF = elementwise({
  name: "normalOf",
  dtype: drawnRule(2),
  scalar: ([mean, std, a, b, c, d]) => {
    const z = c === undefined
      ? boxMuller(k.add(fraction(a, 24), 2 ** -24), fraction(b, 24))
      : boxMuller(k.add(fraction53(a, b), 2 ** -53), fraction53(c, d));
    return k.add(mean, k.mul(z, std));
  },
  vjp: null,
});

/** floor((w1:w0) * bound / 2^64) for a bound up to 2^32, which 0 stands for. */
function scaled32(w0: Expr, w1: Expr, bound: Expr): Expr {
  const carried = k.mulhiu(w0, bound);
  const sum = k.add(k.mul(w1, bound), carried);
  const flip = -(2 ** 31);
  const carry = k.cast(k.lt(k.xor(sum, flip), k.xor(carried, flip)), "int32");
  return k.where(k.eq(bound, 0), w1, k.add(k.mulhiu(w1, bound), carry));
}

/** The same for a bound up to 2^64, which 0 stands for. */
function scaled64(w0: Expr, w1: Expr, bound: Expr): Expr {
  const low = k.and(k.cast(w0, "int64"), 0xffffffffn);
  const word = k.or(k.shl(k.cast(w1, "int64"), 32), low);
  return k.where(k.eq(bound, 0), word, k.mulhiu(word, bound));
}

const RANDINT_OF = elementwise({
  name: "randintOf",
  dtype: (_name, _metas, attrs) => {
    const out = attrs.dtype as DType;
    const wide = DTYPES[out].compute === "int64" ? "int64" : "int32";
    return { compute: [wide, wide, "int32", "int32"], out };
  },
  scalar: ([low, bound, w0, w1]) =>
    k.add(low, low.dtype === "int64" ? scaled64(w0, w1, bound) : scaled32(w0, w1, bound)),
  vjp: null,
});

/** The float dtype of operand 0, whatever else there is. */
const firstFloat = (name: string, metas: readonly Meta[]) =>
  promoteFloat(name, metas.slice(0, 1), {}).out;

const BERNOULLI_OF = elementwise({
  name: "bernoulliOf",
  dtype: (name, metas) => {
    const out = firstFloat(name, metas);
    return { compute: [out, ...metas.slice(1).map(() => "int32" as const)], out };
  },
  scalar: ([p, ...words]) => k.cast(k.lt(uniformOf(words, 24), p), p.dtype),
  vjp: null,
});

const DROPOUT_OF = elementwise({
  name: "dropoutOf",
  dtype: (name, metas) => {
    const out = firstFloat(name, metas);
    return { compute: [out, "float32", out, "int32"], out };
  },
  scalar: ([x, p, scale, word]) => k.where(k.ge(fraction(word, 24), p), k.mul(x, scale), 0),
  vjp: null,
});

type Drawing = CompositeOp & { readonly id: number };

/** `low + u * (high - low)` for a uniform u. Operands: low, high, range. Attrs: shape, dtype, place. */
export const UNIFORM: Drawing = composite({
  name: "uniform",
  body: ([low, high, ...range], { shape, dtype }) => {
    const words = wordsFor(range, shape as Shape, uniformWords(dtype as DType));
    return engine.call(UNIFORM_OF, [low, high, ...words], { dtype });
  },
  vjp: null,
  samples: () => [
    { inputs: [-1, 1, ...SAMPLE_RANGE], attrs: { shape: [5, 7], dtype: "float32" } },
    { inputs: [0, 1, ...SAMPLE_RANGE], attrs: { shape: [9], dtype: "float16" } },
    { inputs: [0, 1, ...SAMPLE_RANGE], attrs: { shape: [2, 1, 3], dtype: "float64" } },
    { inputs: [0, 1, ...SAMPLE_RANGE], attrs: { shape: [], dtype: "float32" } },
    { inputs: [0, 1, ...SAMPLE_RANGE], attrs: { shape: [0], dtype: "float32" } },
  ],
});

/** `mean + std * z` for a standard normal z. Operands: mean, std, range. */
export const NORMAL: Drawing = composite({
  name: "normal",
  body: ([mean, std, ...range], { shape, dtype }) => {
    const words = wordsFor(range, shape as Shape, normalWords(dtype as DType));
    return engine.call(NORMAL_OF, [mean, std, ...words], { dtype });
  },
  vjp: null,
  samples: () => [
    { inputs: [0, 1, ...SAMPLE_RANGE], attrs: { shape: [5, 7], dtype: "float32" } },
    { inputs: [2, 0.5, ...SAMPLE_RANGE], attrs: { shape: [9], dtype: "float64" } },
    { inputs: [0, 1, ...SAMPLE_RANGE], attrs: { shape: [3], dtype: "bfloat16" } },
  ],
});

/** `low +` an integer below a bound. Operands: low, bound (modulo 2^32 or 2^64), range. */
export const RANDINT: Drawing = composite({
  name: "randint",
  body: ([low, bound, ...range], { shape, dtype }) =>
    engine.call(RANDINT_OF, [low, bound, ...wordsFor(range, shape as Shape, 2)], { dtype }),
  vjp: null,
  samples: () => [
    { inputs: [-3, 7, ...SAMPLE_RANGE], attrs: { shape: [5, 7], dtype: "int32" } },
    { inputs: [-3, 7, ...SAMPLE_RANGE], attrs: { shape: [9], dtype: "int64" } },
    { inputs: [0, 0, ...SAMPLE_RANGE], attrs: { shape: [9], dtype: "int32" } },
    { inputs: [0, 200, ...SAMPLE_RANGE], attrs: { shape: [9], dtype: "uint8" } },
  ],
});

/** 1 with probability p, else 0. Operands: p, range. */
export const BERNOULLI: Drawing = composite({
  name: "bernoulli",
  body: ([x, ...range]) => {
    const p = x as Tensor;
    return engine.call(BERNOULLI_OF, [p, ...wordsFor(range, p.shape, uniformWords(p.dtype))]);
  },
  vjp: null,
  samples: () => [
    { inputs: [{ shape: [5, 7], range: [0, 1] }, ...SAMPLE_RANGE] },
    { inputs: [{ values: [0, 1, -1, 2, NaN] }, ...SAMPLE_RANGE] },
    { inputs: [{ shape: [] }, ...SAMPLE_RANGE] },
  ],
});

/**
 * x times a scale with probability 1 - p, else 0. Operands: x, p, scale, range. The gradient draws the
 * same words again, so that no mask is kept.
 */
const DROPOUT: Drawing = composite({
  name: "dropout",
  body: ([x, p, scale, ...range]) => {
    const [word] = wordsFor(range, (x as Tensor).shape, 1);
    return engine.call(DROPOUT_OF, [x, p, scale, word]);
  },
  vjp: ([g], { inputs: [, ...numbers] }) => [
    engine.call(DROPOUT, [g, ...numbers]),
    ...numbers.map(() => null),
  ],
  reads: [[1, 2, 3, 4, 5, 6]],
  samples: () => [
    { inputs: [{ shape: [5, 7] }, 0.5, 2, ...SAMPLE_RANGE] },
    { inputs: [{ shape: [2, 1, 3] }, 0.1, 1, ...SAMPLE_RANGE] },
    { inputs: [{ shape: [6] }, 1, 0, ...SAMPLE_RANGE] },
    { inputs: [{ values: [NaN, Infinity, -0, 1] }, 0.5, 2, ...SAMPLE_RANGE], noGrad: true },
  ],
});

/**
 * Dropout with a range reserved by the caller ({@linkcode rangeOperands}): for composites, which must
 * take it as operands so that each run draws anew. Takes one word an element.
 */
export function dropoutWith(
  x: Tensor,
  p: Operand,
  scale: Operand,
  range: readonly Operand[],
): Tensor {
  return engine.call(DROPOUT, [x, p, scale, ...range]);
}
