// What creation functions share: their options, and rules of ops that have no tensor operand to take a
// shape, dtype and place from. Not part of the public surface, but for CreationOptions.
import { setRequiresGrad } from "../core/autograd.ts";
import { type DType, DTYPES, isDType } from "../core/dtype.ts";
import { DTypeError } from "../core/errors.ts";
import type { Attrs, DTypeRule } from "../core/op.ts";
import { Place } from "../core/place.ts";
import type { Shape } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";

/** What every creation function takes. */
export interface CreationOptions {
  /** Default: the default float dtype, or what the function says. */
  readonly dtype?: DType;
  /** Where the tensor is to live; default: the current place. */
  readonly place?: Place | string;
  /** Whether gradients are to be gathered in it; floating dtypes only. Default false. */
  readonly requiresGrad?: boolean;
}

/** The dtype asked for, checked. */
export function dtypeOf(call: string, dtype: DType | undefined, otherwise: DType): DType {
  if (dtype === undefined) return otherwise;
  if (!isDType(dtype)) {
    throw new DTypeError(
      `Cannot ${call} of dtype "${dtype}": it must be one of ${Object.keys(DTYPES).join(", ")}`,
    );
  }
  return dtype;
}

/** The place asked for, if any. */
export function placeOf(options: CreationOptions): Place | undefined {
  return options.place === undefined ? undefined : Place.of(options.place);
}

/** A new tensor, made a leaf that requires grad if the options say so. */
export function finished(x: Tensor, options: CreationOptions): Tensor {
  if (options.requiresGrad) setRequiresGrad(x, true);
  return x;
}

/** Attrs of an op that has no tensor operand to take its shape, dtype and place from. */
export function creationAttrs(shape: Shape, dtype: DType, place?: Place | string): Attrs {
  return place === undefined
    ? { shape: [...shape], dtype }
    : { shape: [...shape], dtype, place: Place.of(place).name };
}

/** The dtype rule of ops with {@linkcode creationAttrs}. */
export const createdRule: DTypeRule = (_name, _metas, attrs) => {
  const dtype = attrs.dtype as DType;
  return { compute: dtype, out: dtype };
};

/** The shape rule of ops with {@linkcode creationAttrs}. */
export function createdShape(_metas: unknown, attrs: Attrs): Shape {
  return attrs.shape as Shape;
}
