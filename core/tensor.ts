// The tensor class users see: all of its parts together.
import { TensorShape } from "./tensor_shape.ts";

/**
 * A multi-dimensional array on some place, with gradients.
 *
 * Make one with `tensor`, `zeros`, `rand`, …; every function on tensors is also a method. Operations
 * never change their operands, except those whose name ends in `_` and `setAt`.
 */
export class Tensor extends TensorShape {}
