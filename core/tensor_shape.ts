// Shapes, indexing, matrix products and in-place forms as methods of every tensor; what each does is said in
// full beside its function in ops/. The class users see is put together in tensor.ts.
import type { Operand } from "./op.ts";
import type { Axes, Shape } from "./shape.ts";
import { ShapeError } from "./errors.ts";
import { op } from "./slots.ts";
import type { PutAlongAxisOptions } from "../ops/along_axis.ts";
import type { BasicItem, IndexItem } from "../ops/indexing.ts";
import type { PadOptions } from "../ops/join.ts";
import type { AddmmOptions, MatmulOptions } from "../ops/matmul.ts";
import type { ScatterOptions } from "../ops/scatter.ts";
import type { DiagonalOptions, SliceOptions, UnfoldOptions } from "../ops/slicing.ts";
import type { Tensor } from "./tensor.ts";
import { TensorReduce } from "./tensor_reduce.ts";

/** Shaping, indexing and changing methods of {@linkcode Tensor}. */
export abstract class TensorShape extends TensorReduce {
  /** The axes in reverse order: of a matrix, its transpose. */
  get T(): Tensor {
    return op.permute(this as unknown as Tensor, this.shape.map((_, d) => this.rank - 1 - d));
  }

  /** The last two axes swapped. */
  get mT(): Tensor {
    if (this.rank < 2) {
      throw new ShapeError(
        `Cannot take mT of [${this.shape.join(", ")}]: it must have at least 2 axes: got ` +
          `${this.rank}; unsqueeze it first`,
      );
    }
    return op.transpose(this as unknown as Tensor, -2, -1);
  }

  /**
   * Reads by items, one an axis: integers, `"start:end:step"`, `"..."`, `null` for a new axis, arrays or
   * integer tensors of positions, bool masks.
   */
  at(...items: readonly BasicItem[]): Tensor;
  /** With tensors among the items: a promise if one of them is a mask. */
  at(...items: readonly IndexItem[]): Tensor | Promise<Tensor>;
  at(...items: readonly IndexItem[]): Tensor | Promise<Tensor> {
    return op.at(this as unknown as Tensor, items);
  }

  /** A copy in memory of its own; gradients flow through. */
  clone(): Tensor {
    return op.clone(this as unknown as Tensor);
  }

  /** This tensor if it is dense in row-major order, else a copy that is. */
  contiguous(): Tensor {
    return op.contiguous(this as unknown as Tensor);
  }

  /** The same elements under another shape; one size may be -1. */
  reshape(shape: Shape): Tensor {
    return op.reshape(this as unknown as Tensor, shape);
  }

  /** Neighbouring axes joined into one. */
  flatten(startAxis?: number, stopAxis?: number): Tensor {
    return op.flatten(this as unknown as Tensor, startAxis, stopAxis);
  }

  /** Axes of size 1 dropped: the named ones, or all. */
  squeeze(axis?: Axes): Tensor {
    return op.squeeze(this as unknown as Tensor, axis);
  }

  /** Axes of size 1 added. */
  unsqueeze(axis: Axes): Tensor {
    return op.unsqueeze(this as unknown as Tensor, axis);
  }

  /** Two axes swapped. */
  transpose(axis0: number, axis1: number): Tensor {
    return op.transpose(this as unknown as Tensor, axis0, axis1);
  }

  /** Two axes swapped. */
  swapaxes(axis0: number, axis1: number): Tensor {
    return op.swapaxes(this as unknown as Tensor, axis0, axis1);
  }

  /** The axes in another order. */
  permute(perm: readonly number[]): Tensor {
    return op.permute(this as unknown as Tensor, perm);
  }

  /** Axes moved to other positions. */
  moveaxis(from: Axes, to: Axes): Tensor {
    return op.moveaxis(this as unknown as Tensor, from, to);
  }

  /** Axes of size 1 stretched, without copying; -1 keeps a size. */
  expand(shape: Shape): Tensor {
    return op.expand(this as unknown as Tensor, shape);
  }

  /** Axes of size 1 stretched, without copying. */
  broadcastTo(shape: Shape): Tensor {
    return op.broadcastTo(this as unknown as Tensor, shape);
  }

  /** A part along axes. */
  slice(options: SliceOptions): Tensor {
    return op.slice(this as unknown as Tensor, options);
  }

  /** Windows along an axis, as a new last axis. */
  unfold(axis: number, options: UnfoldOptions): Tensor {
    return op.unfold(this as unknown as Tensor, axis, options);
  }

  /** Axes turned around. */
  flip(axis: Axes): Tensor {
    return op.flip(this as unknown as Tensor, axis);
  }

  /** The diagonal of each matrix. */
  diagonal(options?: DiagonalOptions): Tensor {
    return op.diagonal(this as unknown as Tensor, options);
  }

  /** Pieces of a size (or of several sizes) along an axis. */
  split(sizeOrSections: Axes, axis?: number): Tensor[] {
    return op.split(this as unknown as Tensor, sizeOrSections, axis);
  }

  /** A number of pieces along an axis. */
  chunk(count: number, axis?: number): Tensor[] {
    return op.chunk(this as unknown as Tensor, count, axis);
  }

  /** The slices along an axis, without it. */
  unbind(axis?: number): Tensor[] {
    return op.unbind(this as unknown as Tensor, axis);
  }

  /** Elements moved along axes, around the ends. */
  roll(shifts: Axes, axis?: Axes): Tensor {
    return op.roll(this as unknown as Tensor, shifts, axis);
  }

  /** The whole repeated along its axes. */
  tile(repeats: Axes): Tensor {
    return op.tile(this as unknown as Tensor, repeats);
  }

  /** Every element repeated along an axis. */
  repeatInterleave(repeats: number, axis?: number): Tensor {
    return op.repeatInterleave(this as unknown as Tensor, repeats, axis);
  }

  /** Elements added before and behind along every axis. */
  pad(pads: readonly (readonly number[])[], options?: PadOptions): Tensor {
    return op.pad(this as unknown as Tensor, pads, options);
  }

  /** Slices along an axis by an integer index. */
  gather(index: Tensor, axis?: number): Tensor {
    return op.gather(this as unknown as Tensor, index, axis);
  }

  /** Elements along one axis by an index of full rank. */
  takeAlongAxis(index: Tensor, axis: number): Tensor {
    return op.takeAlongAxis(this as unknown as Tensor, index, axis);
  }

  /** A copy with values put along one axis. */
  putAlongAxis(
    index: Tensor,
    values: Operand,
    axis: number,
    options?: PutAlongAxisOptions,
  ): Tensor {
    return op.putAlongAxis(this as unknown as Tensor, index, values, axis, options);
  }

  /** A copy with slices added along an axis. */
  indexAdd(index: Tensor, axis: number, value: Operand): Tensor {
    return op.indexAdd(this as unknown as Tensor, index, axis, value);
  }

  /** A copy with rows replaced, or zeroed and added to. */
  scatter(index: Tensor, updates: Operand, options?: ScatterOptions): Tensor {
    return op.scatter(this as unknown as Tensor, index, updates, options);
  }

  /** A copy with another value where the mask holds. */
  maskedFill(mask: Tensor, value: Operand): Tensor {
    return op.maskedFill(this as unknown as Tensor, mask, value);
  }

  /** The elements at which the mask holds. */
  maskedSelect(mask: Tensor): Promise<Tensor> {
    return op.maskedSelect(this as unknown as Tensor, mask);
  }

  /** Coordinates of the elements that are not 0, one row each. */
  nonzero(): Promise<Tensor> {
    return op.nonzero(this as unknown as Tensor);
  }

  /** The distinct elements in ascending order. */
  unique(): Promise<Tensor> {
    return op.unique(this as unknown as Tensor);
  }

  /** Rows with a 1 at the position that each element names. */
  oneHot(numClasses: number): Tensor {
    return op.oneHot(this as unknown as Tensor, numClasses);
  }

  /** Matrix product; stacks of matrices broadcast. */
  matmul(other: Tensor, options?: MatmulOptions): Tensor {
    return op.matmul(this as unknown as Tensor, other, options);
  }

  /** Product of two matrices. */
  mm(other: Tensor): Tensor {
    return op.mm(this as unknown as Tensor, other);
  }

  /** Products of two stacks of matrices. */
  bmm(other: Tensor): Tensor {
    return op.bmm(this as unknown as Tensor, other);
  }

  /** Inner product of two vectors. */
  dot(other: Tensor): Tensor {
    return op.dot(this as unknown as Tensor, other);
  }

  /** Outer product of two vectors. */
  outer(other: Tensor): Tensor {
    return op.outer(this as unknown as Tensor, other);
  }

  /** beta · this + alpha · (a × b). */
  addmm(a: Tensor, b: Tensor, options?: AddmmOptions): Tensor {
    return op.addmm(this as unknown as Tensor, a, b, options);
  }

  /** Products summed over the named axes of both. */
  tensordot(
    other: Tensor,
    axes?: number | readonly [readonly number[], readonly number[]],
  ): Tensor {
    return op.tensordot(this as unknown as Tensor, other, axes);
  }

  /** this += other, in place. */
  add_(other: Operand): Tensor {
    return op.add_(this as unknown as Tensor, other);
  }

  /** this -= other, in place. */
  sub_(other: Operand): Tensor {
    return op.sub_(this as unknown as Tensor, other);
  }

  /** this *= other, in place. */
  mul_(other: Operand): Tensor {
    return op.mul_(this as unknown as Tensor, other);
  }

  /** this /= other, in place. */
  div_(other: Operand): Tensor {
    return op.div_(this as unknown as Tensor, other);
  }

  /** Every element becomes `value`, in place. */
  fill_(value: Operand): Tensor {
    return op.fill_(this as unknown as Tensor, value);
  }

  /** Every element becomes 0, in place. */
  zero_(): Tensor {
    return op.zero_(this as unknown as Tensor);
  }

  /** The elements of another tensor copied in, in place. */
  copy_(source: Operand): Tensor {
    return op.copy_(this as unknown as Tensor, source);
  }

  /** Every element held within bounds, in place. */
  clip_(min?: Operand, max?: Operand): Tensor {
    return op.clip_(this as unknown as Tensor, min, max);
  }

  /** Writes by items, in place; `index` is one item or an array of items. */
  setAt(index: IndexItem | readonly IndexItem[], value: Operand): Tensor {
    return op.setAt(this as unknown as Tensor, index, value);
  }
}
