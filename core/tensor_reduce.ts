// Reductions, running folds and order as methods of every tensor; what each does is said in full beside its
// function in ops/. Elementwise methods are in tensor_math.ts, shapes and indexing in tensor_shape.ts.
import { op } from "./slots.ts";
import type { ReduceOptions, SumOptions } from "../ops/reduce.ts";
import type { NormOptions, VarianceOptions } from "../ops/statistics.ts";
import type { SearchSortedOptions, SortOptions, TopkOptions } from "../ops/sort.ts";
import type { Axes } from "./shape.ts";
import type { Tensor } from "./tensor.ts";
import { TensorMath } from "./tensor_math.ts";

/** Reducing and ordering methods of {@linkcode Tensor}. */
export abstract class TensorReduce extends TensorMath {
  /** Sum over axes; integers and bools in int64. */
  sum(axis?: Axes, options?: SumOptions): Tensor {
    return op.sum(this as unknown as Tensor, axis, options);
  }

  /** Arithmetic mean over axes. */
  mean(axis?: Axes, options?: ReduceOptions): Tensor {
    return op.mean(this as unknown as Tensor, axis, options);
  }

  /** Product over axes; integers and bools in int64. */
  prod(axis?: Axes, options?: SumOptions): Tensor {
    return op.prod(this as unknown as Tensor, axis, options);
  }

  /** Largest value over axes; ties share the gradient. */
  max(axis?: Axes, options?: ReduceOptions): Tensor {
    return op.max(this as unknown as Tensor, axis, options);
  }

  /** Smallest value over axes; ties share the gradient. */
  min(axis?: Axes, options?: ReduceOptions): Tensor {
    return op.min(this as unknown as Tensor, axis, options);
  }

  /** Same as `max`. */
  amax(axis?: Axes, options?: ReduceOptions): Tensor {
    return op.amax(this as unknown as Tensor, axis, options);
  }

  /** Same as `min`. */
  amin(axis?: Axes, options?: ReduceOptions): Tensor {
    return op.amin(this as unknown as Tensor, axis, options);
  }

  /** Whether at least one element over the axes is not 0. */
  any(axis?: Axes, options?: ReduceOptions): Tensor {
    return op.any(this as unknown as Tensor, axis, options);
  }

  /** Whether no element over the axes is 0. */
  all(axis?: Axes, options?: ReduceOptions): Tensor {
    return op.all(this as unknown as Tensor, axis, options);
  }

  /** How many elements over the axes are not 0. */
  countNonzero(axis?: Axes, options?: ReduceOptions): Tensor {
    return op.countNonzero(this as unknown as Tensor, axis, options);
  }

  /** Sum over axes of the elements that are not NaN. */
  nanSum(axis?: Axes, options?: ReduceOptions): Tensor {
    return op.nanSum(this as unknown as Tensor, axis, options);
  }

  /** Mean over axes of the elements that are not NaN. */
  nanMean(axis?: Axes, options?: ReduceOptions): Tensor {
    return op.nanMean(this as unknown as Tensor, axis, options);
  }

  /** log(Σ exp(x)) over axes, without overflow. */
  logSumExp(axis?: Axes, options?: ReduceOptions): Tensor {
    return op.logSumExp(this as unknown as Tensor, axis, options);
  }

  /** Variance over axes, unbiased unless asked otherwise. */
  variance(axis?: Axes, options?: VarianceOptions): Tensor {
    return op.variance(this as unknown as Tensor, axis, options);
  }

  /** Standard deviation over axes, unbiased unless asked otherwise. */
  std(axis?: Axes, options?: VarianceOptions): Tensor {
    return op.std(this as unknown as Tensor, axis, options);
  }

  /** p-norm over axes; p is 2 by default. */
  norm(options?: NormOptions): Tensor {
    return op.norm(this as unknown as Tensor, options);
  }

  /** Position (int32) of the largest value along an axis, or of all. */
  argmax(axis?: number, options?: ReduceOptions): Tensor {
    return op.argmax(this as unknown as Tensor, axis, options);
  }

  /** Position (int32) of the smallest value along an axis, or of all. */
  argmin(axis?: number, options?: ReduceOptions): Tensor {
    return op.argmin(this as unknown as Tensor, axis, options);
  }

  /** `[values, indices]` of the largest along an axis. */
  maxWithIndex(axis: number, options?: ReduceOptions): Tensor[] {
    return op.maxWithIndex(this as unknown as Tensor, axis, options);
  }

  /** `[values, indices]` of the smallest along an axis. */
  minWithIndex(axis: number, options?: ReduceOptions): Tensor[] {
    return op.minWithIndex(this as unknown as Tensor, axis, options);
  }

  /** Running sum along an axis. */
  cumsum(axis: number): Tensor {
    return op.cumsum(this as unknown as Tensor, axis);
  }

  /** Running product along an axis. */
  cumprod(axis: number): Tensor {
    return op.cumprod(this as unknown as Tensor, axis);
  }

  /** Running maximum along an axis: `[values, indices]`. */
  cummax(axis: number): Tensor[] {
    return op.cummax(this as unknown as Tensor, axis);
  }

  /** Running minimum along an axis: `[values, indices]`. */
  cummin(axis: number): Tensor[] {
    return op.cummin(this as unknown as Tensor, axis);
  }

  /** Running log(Σ exp(x)) along an axis. */
  logCumSumExp(axis: number): Tensor {
    return op.logCumSumExp(this as unknown as Tensor, axis);
  }

  /** Sorts along an axis, stably: `[values, indices]`. */
  sort(axis?: number, options?: SortOptions): Tensor[] {
    return op.sort(this as unknown as Tensor, axis, options);
  }

  /** The positions that would sort along an axis. */
  argsort(axis?: number, options?: SortOptions): Tensor {
    return op.argsort(this as unknown as Tensor, axis, options);
  }

  /** The `k` largest (or smallest) along an axis: `[values, indices]`. */
  topk(k: number, options?: TopkOptions): Tensor[] {
    return op.topk(this as unknown as Tensor, k, options);
  }

  /** Where values would have to be inserted to keep this sorted. */
  searchSorted(values: Tensor, options?: SearchSortedOptions): Tensor {
    return op.searchSorted(this as unknown as Tensor, values, options);
  }
}
