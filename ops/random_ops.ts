// The elementwise ops that draw: each computes its random words itself from a reserved range, which comes
// as four int32 numbers, and the flat index of the point. So they fuse, need no state on a device, and
// give the same values on every backend. Not public; functions for users are in random.ts.
import { type DType, DTYPES } from "../core/dtype.ts";
import {
  type DTypeRule,
  elementwise,
  type ElementwiseOp,
  engine,
  type Operand,
  promoteFloat,
  type ScalarContext,
} from "../core/op.ts";
import type { Expr } from "../core/ir/expr.ts";
import * as k from "../core/ir/expr.ts";
import { type PhiloxExprs, philoxPair, philoxQuad, philoxWord } from "../core/ir/philox.ts";
import type { PhiloxRange } from "../core/random/philox.ts";
import type { Tensor } from "../core/tensor.ts";
import { createdShape, creationAttrs } from "./making.ts";

/** The operands by which a range goes into an op. */
export function rangeOperands(range: PhiloxRange): number[] {
  return [range.key0 | 0, range.key1 | 0, range.offsetLo | 0, range.offsetHi | 0];
}

const RANGE_TYPES: readonly DType[] = ["int32", "int32", "int32", "int32"];

function rangeOf(xs: readonly Expr[]): PhiloxExprs {
  const [key0, key1, offsetLo, offsetHi] = xs.slice(-4);
  return { key0, key1, offsetLo, offsetHi };
}

/** The row-major position of the point, by which its words are found. */
function flatIndex(ctx: ScalarContext, rank: number): Expr {
  let at: Expr = k.constant(0, "int32");
  for (let axis = 0; axis < rank; axis++) {
    at = axis === 0 ? ctx.coord(0) : k.add(k.mul(at, ctx.size(axis)), ctx.coord(axis));
  }
  return at;
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

/** Bits of a uniform: as many as make every value exact in the dtype, so that 1 is never reached. */
const UNIFORM_BITS: Partial<Record<DType, number>> = { float16: 11, bfloat16: 8, float32: 24 };

/** How many words a uniform of the dtype takes. */
export function uniformWords(dtype: DType): number {
  return dtype === "float64" ? 2 : 1;
}

function uniformAt(range: PhiloxExprs, i: Expr, dtype: DType): Expr {
  if (dtype === "float64") return fraction53(...philoxPair(range, i));
  return fraction(philoxWord(range, i), UNIFORM_BITS[dtype] ?? 24);
}

/** Numbers of the dtype before the range, the dtype out. */
const drawnRule: DTypeRule = (_name, metas, attrs) => {
  const out = attrs.dtype as DType;
  return { compute: [...metas.slice(4).map(() => out), ...RANGE_TYPES], out };
};

const rankOf = (ctx: ScalarContext) => (ctx.attrs.shape as readonly number[]).length;

const SAMPLE_RANGE = [0x01234567, -0x76543211, 5, 0];

/** `low + u * (high - low)` for a uniform u in [0, 1). Operands: low, high, range. */
export const UNIFORM = elementwise({
  name: "uniform",
  dtype: drawnRule,
  scalar: (xs, ctx) => {
    const u = uniformAt(rangeOf(xs), flatIndex(ctx, rankOf(ctx)), ctx.attrs.dtype as DType);
    return k.add(xs[0], k.mul(u, k.sub(xs[1], xs[0])));
  },
  shape: createdShape,
  vjp: null,
  samples: () => [
    { inputs: [-1, 1, ...SAMPLE_RANGE], attrs: creationAttrs([5, 7], "float32") },
    { inputs: [0, 1, ...SAMPLE_RANGE], attrs: creationAttrs([9], "float16") },
    { inputs: [0, 1, ...SAMPLE_RANGE], attrs: creationAttrs([2, 1, 3], "float64") },
    { inputs: [0, 1, ...SAMPLE_RANGE], attrs: creationAttrs([], "float32") },
    { inputs: [0, 1, ...SAMPLE_RANGE], attrs: creationAttrs([0], "float32") },
  ],
});

/** How many words a normal of the dtype takes. */
export function normalWords(dtype: DType): number {
  return 2 * uniformWords(dtype);
}

/** sqrt(-2 ln u) cos(2 pi v), u in (0, 1], v in [0, 1) (Box and Muller 1958). */
function boxMuller(u: Expr, v: Expr): Expr {
  // cos(2 pi v) = -cos(2 pi (v - 1/2)): the smaller angle is rounded less.
  const angle = k.mul(k.sub(v, 0.5), 2 * Math.PI);
  return k.mul(k.sqrt(k.mul(k.log(u), -2)), k.neg(k.cos(angle)));
}

function normalAt(range: PhiloxExprs, i: Expr, dtype: DType): Expr {
  if (dtype === "float64") {
    const [a, b, c, d] = philoxQuad(range, i);
    return boxMuller(k.add(fraction53(a, b), 2 ** -53), fraction53(c, d));
  }
  const [a, b] = philoxPair(range, i);
  return boxMuller(k.add(fraction(a, 24), 2 ** -24), fraction(b, 24));
}

/** `mean + std * z` for a standard normal z. Operands: mean, std, range. */
export const NORMAL = elementwise({
  name: "normal",
  dtype: drawnRule,
  scalar: (xs, ctx) => {
    const z = normalAt(rangeOf(xs), flatIndex(ctx, rankOf(ctx)), ctx.attrs.dtype as DType);
    return k.add(xs[0], k.mul(z, xs[1]));
  },
  shape: createdShape,
  vjp: null,
  samples: () => [
    { inputs: [0, 1, ...SAMPLE_RANGE], attrs: creationAttrs([5, 7], "float32") },
    { inputs: [2, 0.5, ...SAMPLE_RANGE], attrs: creationAttrs([9], "float64") },
    { inputs: [0, 1, ...SAMPLE_RANGE], attrs: creationAttrs([3], "bfloat16") },
  ],
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

/** `low +` an integer below a bound. Operands: low, bound (modulo 2^32 or 2^64), range. */
export const RANDINT = elementwise({
  name: "randint",
  dtype: (_name, _metas, attrs) => {
    const out = attrs.dtype as DType;
    const wide = DTYPES[out].compute === "int64" ? "int64" : "int32";
    return { compute: [wide, wide, ...RANGE_TYPES], out };
  },
  scalar: (xs, ctx) => {
    const [low, bound] = xs;
    const [w0, w1] = philoxPair(rangeOf(xs), flatIndex(ctx, rankOf(ctx)));
    const r = low.dtype === "int64" ? scaled64(w0, w1, bound) : scaled32(w0, w1, bound);
    return k.add(low, r);
  },
  shape: createdShape,
  vjp: null,
  samples: () => [
    { inputs: [-3, 7, ...SAMPLE_RANGE], attrs: creationAttrs([5, 7], "int32") },
    { inputs: [-3, 7, ...SAMPLE_RANGE], attrs: creationAttrs([9], "int64") },
    { inputs: [0, 0, ...SAMPLE_RANGE], attrs: creationAttrs([9], "int32") },
    { inputs: [0, 200, ...SAMPLE_RANGE], attrs: creationAttrs([9], "uint8") },
  ],
});

/** 1 with probability p, else 0. Operands: p, range. Attrs: `rank`. */
export const BERNOULLI = elementwise({
  name: "bernoulli",
  dtype: (name, metas, attrs) => {
    const { out } = promoteFloat(name, metas.slice(0, 1), attrs);
    return { compute: [out, ...RANGE_TYPES], out };
  },
  scalar: (xs, ctx) => {
    const [p] = xs;
    const u = uniformAt(
      rangeOf(xs),
      flatIndex(ctx, ctx.attrs.rank as number),
      p.dtype === "float64" ? "float64" : "float32",
    );
    return k.cast(k.lt(u, p), p.dtype);
  },
  vjp: null,
  samples: () => [
    { inputs: [{ shape: [5, 7], range: [0, 1] }, ...SAMPLE_RANGE], attrs: { rank: 2 } },
    { inputs: [{ values: [0, 1, -1, 2, NaN] }, ...SAMPLE_RANGE], attrs: { rank: 1 } },
    { inputs: [{ shape: [] }, ...SAMPLE_RANGE], attrs: { rank: 0 } },
  ],
});

/**
 * x times a scale with probability 1 - p, else 0. Operands: x, p, scale, range. Attrs: `rank`. The
 * gradient draws the same words again, so that no mask is kept.
 */
const DROPOUT: ElementwiseOp & { readonly id: number } = elementwise({
  name: "dropout",
  dtype: (name, metas, attrs) => {
    const { out } = promoteFloat(name, metas.slice(0, 1), attrs);
    return { compute: [out, "float32", out, ...RANGE_TYPES], out };
  },
  scalar: (xs, ctx) => {
    const [x, p, scale] = xs;
    const u = uniformAt(rangeOf(xs), flatIndex(ctx, ctx.attrs.rank as number), "float32");
    return k.where(k.ge(u, p), k.mul(x, scale), 0);
  },
  vjp: ([g], { inputs: [, ...numbers], attrs }) => [
    engine.call(DROPOUT, [g, ...numbers], attrs),
    ...numbers.map(() => null),
  ],
  reads: [[1, 2, 3, 4, 5, 6], [], [], [], [], [], []],
  samples: () => [
    { inputs: [{ shape: [5, 7] }, 0.5, 2, ...SAMPLE_RANGE], attrs: { rank: 2 } },
    { inputs: [{ shape: [2, 1, 3] }, 0.1, 1, ...SAMPLE_RANGE], attrs: { rank: 3 } },
    { inputs: [{ shape: [6] }, 1, 0, ...SAMPLE_RANGE], attrs: { rank: 1 } },
    {
      inputs: [{ values: [NaN, Infinity, -0, 1] }, 0.5, 2, ...SAMPLE_RANGE],
      attrs: { rank: 1 },
      noGrad: true,
    },
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
  return engine.call(DROPOUT, [x, p, scale, ...range], { rank: x.rank });
}
