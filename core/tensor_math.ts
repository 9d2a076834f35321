// The elementwise ops as methods of every tensor; what each does is said in full beside its function in
// ops/. Reductions, shapes and in-place forms are in the other parts of the class.
import type { DType } from "./dtype.ts";
import type { Operand } from "./op.ts";
import { op } from "./slots.ts";
import type { NanToNumOptions } from "../ops/cast.ts";
import type { DrawOptions, DropoutOptions, MultinomialOptions } from "../ops/random.ts";
import type { Tensor } from "./tensor.ts";
import { TensorBase } from "./tensor_base.ts";

/** Elementwise methods of {@linkcode Tensor}. */
export abstract class TensorMath extends TensorBase {
  /** The elements with their sign turned. */
  neg(): Tensor {
    return op.neg(this as unknown as Tensor);
  }

  /** The magnitudes. */
  abs(): Tensor {
    return op.abs(this as unknown as Tensor);
  }

  /** 1, -1 or 0 by sign; NaN stays. */
  sign(): Tensor {
    return op.sign(this as unknown as Tensor);
  }

  /** Each element times itself. */
  square(): Tensor {
    return op.square(this as unknown as Tensor);
  }

  /** Square roots. */
  sqrt(): Tensor {
    return op.sqrt(this as unknown as Tensor);
  }

  /** One over the square roots. */
  rsqrt(): Tensor {
    return op.rsqrt(this as unknown as Tensor);
  }

  /** One over each element. */
  reciprocal(): Tensor {
    return op.reciprocal(this as unknown as Tensor);
  }

  /** Degrees to radians. */
  deg2rad(): Tensor {
    return op.deg2rad(this as unknown as Tensor);
  }

  /** Radians to degrees. */
  rad2deg(): Tensor {
    return op.rad2deg(this as unknown as Tensor);
  }

  /** Rounded down. */
  floor(): Tensor {
    return op.floor(this as unknown as Tensor);
  }

  /** Rounded up. */
  ceil(): Tensor {
    return op.ceil(this as unknown as Tensor);
  }

  /** Rounded to the nearest whole number, halves to even. */
  round(): Tensor {
    return op.round(this as unknown as Tensor);
  }

  /** Rounded toward zero. */
  trunc(): Tensor {
    return op.trunc(this as unknown as Tensor);
  }

  /** The fractions, with their sign. */
  frac(): Tensor {
    return op.frac(this as unknown as Tensor);
  }

  /** e to the power of each element. */
  exp(): Tensor {
    return op.exp(this as unknown as Tensor);
  }

  /** `exp(x) - 1`, right near 0. */
  expm1(): Tensor {
    return op.expm1(this as unknown as Tensor);
  }

  /** 2 to the power of each element. */
  exp2(): Tensor {
    return op.exp2(this as unknown as Tensor);
  }

  /** Natural logarithms. */
  log(): Tensor {
    return op.log(this as unknown as Tensor);
  }

  /** Logarithms to base 2. */
  log2(): Tensor {
    return op.log2(this as unknown as Tensor);
  }

  /** Logarithms to base 10. */
  log10(): Tensor {
    return op.log10(this as unknown as Tensor);
  }

  /** `log(1 + x)`, right near 0. */
  log1p(): Tensor {
    return op.log1p(this as unknown as Tensor);
  }

  /** The error function. */
  erf(): Tensor {
    return op.erf(this as unknown as Tensor);
  }

  /** `1 - erf(x)`, right far above 0. */
  erfc(): Tensor {
    return op.erfc(this as unknown as Tensor);
  }

  /** The inverse of `erf`. */
  erfinv(): Tensor {
    return op.erfinv(this as unknown as Tensor);
  }

  /** Sines. */
  sin(): Tensor {
    return op.sin(this as unknown as Tensor);
  }

  /** Cosines. */
  cos(): Tensor {
    return op.cos(this as unknown as Tensor);
  }

  /** Tangents. */
  tan(): Tensor {
    return op.tan(this as unknown as Tensor);
  }

  /** Inverse sines. */
  asin(): Tensor {
    return op.asin(this as unknown as Tensor);
  }

  /** Inverse cosines. */
  acos(): Tensor {
    return op.acos(this as unknown as Tensor);
  }

  /** Inverse tangents. */
  atan(): Tensor {
    return op.atan(this as unknown as Tensor);
  }

  /** Hyperbolic sines. */
  sinh(): Tensor {
    return op.sinh(this as unknown as Tensor);
  }

  /** Hyperbolic cosines. */
  cosh(): Tensor {
    return op.cosh(this as unknown as Tensor);
  }

  /** Hyperbolic tangents. */
  tanh(): Tensor {
    return op.tanh(this as unknown as Tensor);
  }

  /** Inverse hyperbolic sines. */
  asinh(): Tensor {
    return op.asinh(this as unknown as Tensor);
  }

  /** Inverse hyperbolic cosines. */
  acosh(): Tensor {
    return op.acosh(this as unknown as Tensor);
  }

  /** Inverse hyperbolic tangents. */
  atanh(): Tensor {
    return op.atanh(this as unknown as Tensor);
  }

  /** `1 / (1 + exp(-x))`. */
  sigmoid(): Tensor {
    return op.sigmoid(this as unknown as Tensor);
  }

  /** The logarithm of the sigmoid. */
  logSigmoid(): Tensor {
    return op.logSigmoid(this as unknown as Tensor);
  }

  /** `max(x, 0)`. */
  relu(): Tensor {
    return op.relu(this as unknown as Tensor);
  }

  /** `min(max(x, 0), 6)`. */
  relu6(): Tensor {
    return op.relu6(this as unknown as Tensor);
  }

  /** x above 0, `negativeSlope` (0.01) times x below. */
  leakyRelu(options?: { readonly negativeSlope?: number }): Tensor {
    return op.leakyRelu(this as unknown as Tensor, options);
  }

  /** x above 0, `alpha` (1) times `exp(x) - 1` below. */
  elu(options?: { readonly alpha?: number }): Tensor {
    return op.elu(this as unknown as Tensor, options);
  }

  /** Scaled exponential linear unit. */
  selu(): Tensor {
    return op.selu(this as unknown as Tensor);
  }

  /** Continuously differentiable exponential linear unit; `alpha` is 1. */
  celu(options?: { readonly alpha?: number }): Tensor {
    return op.celu(this as unknown as Tensor, options);
  }

  /** x times the normal distribution function at x; `approximate`: by tanh. */
  gelu(options?: { readonly approximate?: boolean }): Tensor {
    return op.gelu(this as unknown as Tensor, options);
  }

  /** `x * sigmoid(x)`. */
  silu(): Tensor {
    return op.silu(this as unknown as Tensor);
  }

  /** `x * tanh(softplus(x))`. */
  mish(): Tensor {
    return op.mish(this as unknown as Tensor);
  }

  /** `log(1 + exp(beta * x)) / beta`; `beta` is 1, `threshold` 20. */
  softplus(options?: { readonly beta?: number; readonly threshold?: number }): Tensor {
    return op.softplus(this as unknown as Tensor, options);
  }

  /** `x / (1 + |x|)`. */
  softsign(): Tensor {
    return op.softsign(this as unknown as Tensor);
  }

  /** x within `min` (-1) and `max` (1), with gradient 0 at the bounds. */
  hardtanh(options?: { readonly min?: number; readonly max?: number }): Tensor {
    return op.hardtanh(this as unknown as Tensor, options);
  }

  /** `slope` (1/6) times x plus `offset` (0.5), within 0 and 1. */
  hardsigmoid(options?: { readonly slope?: number; readonly offset?: number }): Tensor {
    return op.hardsigmoid(this as unknown as Tensor, options);
  }

  /** `x * relu6(x + 3) / 6`. */
  hardswish(): Tensor {
    return op.hardswish(this as unknown as Tensor);
  }

  /** `x - tanh(x)`. */
  tanhshrink(): Tensor {
    return op.tanhshrink(this as unknown as Tensor);
  }

  /** x moved toward 0 by `threshold` (0.5). */
  softshrink(options?: { readonly threshold?: number }): Tensor {
    return op.softshrink(this as unknown as Tensor, options);
  }

  /** x where its magnitude exceeds `threshold` (0.5), else 0. */
  hardshrink(options?: { readonly threshold?: number }): Tensor {
    return op.hardshrink(this as unknown as Tensor, options);
  }

  /** x above `threshold` (1), else 0. */
  thresholdedRelu(options?: { readonly threshold?: number }): Tensor {
    return op.thresholdedRelu(this as unknown as Tensor, options);
  }

  /** Where elements are NaN. */
  isNan(): Tensor {
    return op.isNan(this as unknown as Tensor);
  }

  /** Where elements are infinite. */
  isInf(): Tensor {
    return op.isInf(this as unknown as Tensor);
  }

  /** Where elements are neither NaN nor infinite. */
  isFinite(): Tensor {
    return op.isFinite(this as unknown as Tensor);
  }

  /** Where elements are 0. */
  logicalNot(): Tensor {
    return op.logicalNot(this as unknown as Tensor);
  }

  /** Each bit turned. */
  bitwiseNot(): Tensor {
    return op.bitwiseNot(this as unknown as Tensor);
  }

  /** Sum; operands broadcast. */
  add(other: Operand): Tensor {
    return op.add(this as unknown as Tensor, other);
  }

  /** Difference; operands broadcast. */
  sub(other: Operand): Tensor {
    return op.sub(this as unknown as Tensor, other);
  }

  /** Product; operands broadcast. */
  mul(other: Operand): Tensor {
    return op.mul(this as unknown as Tensor, other);
  }

  /** True quotient; operands broadcast. */
  div(other: Operand): Tensor {
    return op.div(this as unknown as Tensor, other);
  }

  /** Quotient rounded down; operands broadcast. */
  floorDivide(other: Operand): Tensor {
    return op.floorDivide(this as unknown as Tensor, other);
  }

  /** Remainder with the sign of `other`; operands broadcast. */
  mod(other: Operand): Tensor {
    return op.mod(this as unknown as Tensor, other);
  }

  /** Remainder with the sign of this tensor; operands broadcast. */
  fmod(other: Operand): Tensor {
    return op.fmod(this as unknown as Tensor, other);
  }

  /** This tensor to the power `other`; operands broadcast. */
  pow(other: Operand): Tensor {
    return op.pow(this as unknown as Tensor, other);
  }

  /** The larger element, NaN if either is. */
  maximum(other: Operand): Tensor {
    return op.maximum(this as unknown as Tensor, other);
  }

  /** The smaller element, NaN if either is. */
  minimum(other: Operand): Tensor {
    return op.minimum(this as unknown as Tensor, other);
  }

  /** The larger element, ignoring NaN. */
  fmax(other: Operand): Tensor {
    return op.fmax(this as unknown as Tensor, other);
  }

  /** The smaller element, ignoring NaN. */
  fmin(other: Operand): Tensor {
    return op.fmin(this as unknown as Tensor, other);
  }

  /** The angle of the points (other, this). */
  atan2(other: Operand): Tensor {
    return op.atan2(this as unknown as Tensor, other);
  }

  /** `sqrt(this^2 + other^2)` without overflow. */
  hypot(other: Operand): Tensor {
    return op.hypot(this as unknown as Tensor, other);
  }

  /** `log(exp(this) + exp(other))` without overflow. */
  logAddExp(other: Operand): Tensor {
    return op.logAddExp(this as unknown as Tensor, other);
  }

  /** Where elements are equal. */
  equal(other: Operand): Tensor {
    return op.equal(this as unknown as Tensor, other);
  }

  /** Where elements differ. */
  notEqual(other: Operand): Tensor {
    return op.notEqual(this as unknown as Tensor, other);
  }

  /** Where this is below `other`. */
  lessThan(other: Operand): Tensor {
    return op.lessThan(this as unknown as Tensor, other);
  }

  /** Where this is at most `other`. */
  lessEqual(other: Operand): Tensor {
    return op.lessEqual(this as unknown as Tensor, other);
  }

  /** Where this is above `other`. */
  greaterThan(other: Operand): Tensor {
    return op.greaterThan(this as unknown as Tensor, other);
  }

  /** Where this is at least `other`. */
  greaterEqual(other: Operand): Tensor {
    return op.greaterEqual(this as unknown as Tensor, other);
  }

  /** Where both are true. */
  logicalAnd(other: Operand): Tensor {
    return op.logicalAnd(this as unknown as Tensor, other);
  }

  /** Where one is true. */
  logicalOr(other: Operand): Tensor {
    return op.logicalOr(this as unknown as Tensor, other);
  }

  /** Where exactly one is true. */
  logicalXor(other: Operand): Tensor {
    return op.logicalXor(this as unknown as Tensor, other);
  }

  /** Bits set in both. */
  bitwiseAnd(other: Operand): Tensor {
    return op.bitwiseAnd(this as unknown as Tensor, other);
  }

  /** Bits set in either. */
  bitwiseOr(other: Operand): Tensor {
    return op.bitwiseOr(this as unknown as Tensor, other);
  }

  /** Bits set in exactly one. */
  bitwiseXor(other: Operand): Tensor {
    return op.bitwiseXor(this as unknown as Tensor, other);
  }

  /** Bits moved up. */
  leftShift(other: Operand): Tensor {
    return op.leftShift(this as unknown as Tensor, other);
  }

  /** Bits moved down, the sign coming in. */
  rightShift(other: Operand): Tensor {
    return op.rightShift(this as unknown as Tensor, other);
  }

  /** The same values in another dtype. */
  cast(dtype: DType): Tensor {
    return op.cast(this as unknown as Tensor, dtype);
  }

  /** Each element held within `min` … `max`. */
  clip(min?: Operand, max?: Operand): Tensor {
    return op.clip(this as unknown as Tensor, min, max);
  }

  /** NaN and infinities replaced by finite numbers. */
  nanToNum(options?: NanToNumOptions): Tensor {
    return op.nanToNum(this as unknown as Tensor, options);
  }

  /** Linear interpolation from this tensor to `other`. */
  lerp(other: Operand, weight: Operand): Tensor {
    return op.lerp(this as unknown as Tensor, other, weight);
  }

  /** The lower triangle of each matrix. */
  tril(diagonal?: number): Tensor {
    return op.tril(this as unknown as Tensor, diagonal);
  }

  /** The upper triangle of each matrix. */
  triu(diagonal?: number): Tensor {
    return op.triu(this as unknown as Tensor, diagonal);
  }

  /** This vector as the diagonal of a matrix, or a diagonal of this matrix. */
  diag(offset?: number): Tensor {
    return op.diag(this as unknown as Tensor, offset);
  }

  /** Elements set to 0 at random. */
  dropout(options?: DropoutOptions): Tensor {
    return op.dropout(this as unknown as Tensor, options);
  }

  /** 1 with the probability that each element gives, else 0. */
  bernoulli(options?: DrawOptions): Tensor {
    return op.bernoulli(this as unknown as Tensor, options);
  }

  /** Indices of categories drawn by these weights, for each row. */
  multinomial(numSamples: number, options?: MultinomialOptions): Tensor {
    return op.multinomial(this as unknown as Tensor, numSamples, options);
  }
}
