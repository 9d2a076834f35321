// What convolution, pooling and im2col share: how their options are read and checked, sizes of outputs,
// and the kernels that fold a window. Not part of the public surface: ops/mod.ts does not export it.
import { describe } from "../core/describe.ts";
import { isFloat } from "../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../core/errors.ts";
import * as k from "../core/ir/expr.ts";
import type { Expr } from "../core/ir/expr.ts";
import { makeKernel } from "../core/ir/kernel.ts";
import type { LoweredKernel, Meta } from "../core/op.ts";
import { expectNumbers, expectTensors } from "../core/operands.ts";
import { contiguousStrides, type Shape, showShape } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";

/** One number for both, or height and width. */
export type Pair = number | readonly [number, number];

/** Elements before and after, along height and along width. */
export type Sides = readonly [readonly [number, number], readonly [number, number]];

/**
 * How much an image is padded: a number for all sides, `[height, width]`, `[[top, bottom], [left,
 * right]]`, "valid" (not at all) or "same" (as many outputs as inputs divided by the stride, rounded up;
 * what is odd goes to the end).
 */
export type Padding2d = Pair | Sides | "same" | "valid";

/** What there is to say about both axes of an image. */
export type Two = readonly [number, number];

const AXES = ["height", "width"] as const;

function whole(call: string, what: string, n: unknown, least: number): number {
  if (typeof n === "number" && Number.isInteger(n) && n >= least) return n;
  throw new ValueError(
    `Cannot ${call} with ${what} ${describe(n)}: it must be a whole number of at least ${least}`,
  );
}

/** Height and width of an option. */
export function pairOf(call: string, what: string, value: Pair, least: number): Two {
  const given = expectNumbers(call, what, value as number | readonly number[]);
  const pair = typeof value === "number" ? [value, value] : given;
  if (pair.length !== 2) {
    throw new ValueError(
      `Cannot ${call} with ${what} [${pair.join(", ")}]: give one number, or height and width`,
    );
  }
  return [whole(call, what, pair[0], least), whole(call, what, pair[1], least)];
}

/** Elements that padding adds on each side. */
export function sidesOf(
  call: string,
  padding: Padding2d,
  size: Two,
  window: Two,
  stride: Two,
): Sides {
  if (padding === "valid") return [[0, 0], [0, 0]];
  if (padding === "same") {
    const sides = ([0, 1] as const).map((i): Two => {
      const total = Math.max(
        (Math.ceil(size[i] / stride[i]) - 1) * stride[i] + window[i] - size[i],
        0,
      );
      return [Math.floor(total / 2), Math.ceil(total / 2)];
    });
    return [sides[0], sides[1]];
  }
  if (typeof padding === "string") {
    throw new ValueError(
      `Cannot ${call} with padding "${padding}": it must be "same", "valid", a number, ` +
        "[height, width] or [[top, bottom], [left, right]]",
    );
  }
  if (Array.isArray(padding) && padding.length === 2 && Array.isArray(padding[0])) {
    const [rows, columns] = padding as Sides;
    return [pairOf(call, "padding", rows, 0), pairOf(call, "padding", columns, 0)];
  }
  const [rows, columns] = pairOf(call, "padding", padding as Pair, 0);
  return [[rows, rows], [columns, columns]];
}

/** How many windows there are along each axis. `ceil`: one more if what is left over begins in the image. */
export function windowCounts(
  call: string,
  size: Two,
  window: Two,
  stride: Two,
  sides: Sides,
  ceil = false,
): Two {
  const [rows, columns] = ([0, 1] as const).map((i) => {
    const [before, after] = sides[i];
    const room = size[i] + before + after - window[i];
    if (room < 0) {
      throw new ShapeError(
        `Cannot ${call} on an image of ${AXES[i]} ${size[i]}: a window of ${window[i]} must fit ` +
          `into it and its padding of ${before} and ${after}; use a smaller kernel or more padding`,
      );
    }
    if (!ceil) return Math.floor(room / stride[i]) + 1;
    const count = Math.ceil(room / stride[i]) + 1;
    return (count - 1) * stride[i] >= size[i] + before ? count - 1 : count;
  });
  return [rows, columns];
}

/** Throws unless `x` is a batch of images of floats that are not empty. */
export function requireImages(call: string, x: Tensor): void {
  expectTensors(call, x);
  if (x.rank !== 4) {
    throw new ShapeError(
      `Cannot ${call} on ${
        showShape(x.shape)
      }: the input must be [batch, channels, height, width]: ` +
        `got rank ${x.rank}${x.rank === 3 ? "; unsqueeze(0) adds the batch axis" : ""}`,
    );
  }
  if (!isFloat(x.dtype)) {
    throw new DTypeError(
      `Cannot ${call} on ${x.dtype}: the input must be floats; cast it to "float32" first`,
    );
  }
  if (x.shape[2] === 0 || x.shape[3] === 0) {
    throw new ShapeError(
      `Cannot ${call} on ${showShape(x.shape)}: images must have at least one row and one column`,
    );
  }
}

/** A coordinate held within its axis, and whether it was there. */
export interface Tap {
  readonly at: Expr;
  readonly inside: Expr;
}

/** Both: where one axis is inside and the other is too. */
export function both(a: Tap, b: Tap): Expr {
  return k.and(a.inside, b.inside);
}

/** `c` held within 0 … size - 1. */
export function held(c: Expr, size: Expr): Tap {
  const at = k.max(k.min(c, k.sub(size, 1)), 0);
  return { at, inside: k.and(k.ge(c, 0), k.lt(c, size)) };
}

/** Numbers of one axis of a sliding window, as int32 expressions. */
export interface Slide {
  readonly stride: Expr;
  readonly before: Expr;
  readonly dilation: Expr;
}

/** The input coordinate that tap `j` of window `o` reads. */
export function tapOf(o: Expr, j: Expr, slide: Slide, size: Expr): Tap {
  const start = k.sub(k.mul(o, slide.stride), slide.before);
  return held(k.add(start, k.mul(j, slide.dilation)), size);
}

/** The window whose tap `j` reads input coordinate `i`; there are `count` windows. */
export function windowOf(i: Expr, j: Expr, slide: Slide, count: Expr): Tap {
  const far = k.sub(k.add(i, slide.before), k.mul(j, slide.dilation));
  const o = held(k.idiv(far, slide.stride), count);
  const exact = k.and(k.ge(far, 0), k.eq(k.irem(far, slide.stride), 0));
  return { at: o.at, inside: k.and(exact, o.inside) };
}

/** What the expressions of a folding kernel are made of. */
export interface FoldContext {
  /** Coordinates of the output point. */
  readonly outer: readonly Expr[];
  /** Coordinates of the folded point. */
  readonly inner: readonly Expr[];
  /** The numbers of the spec, as int32. */
  readonly numbers: readonly Expr[];
  /** The element of an input at coordinates. */
  read(input: number, coords: readonly Expr[]): Expr;
}

/** What a folding kernel computes. */
export interface FoldBody {
  readonly init: readonly Expr[];
  readonly lift: readonly Expr[];
  readonly combine: (left: readonly Expr[], right: readonly Expr[]) => readonly Expr[];
  /** One value for each output, from the final state. */
  readonly values: (state: readonly Expr[]) => readonly Expr[];
}

/** A kernel that folds over inner points for each output point. */
export interface FoldSpec {
  readonly inputs: readonly Meta[];
  readonly outs: readonly Meta[];
  /** Shapes under which the dense inputs are read, and the outputs written; default their own. */
  readonly views?: readonly Shape[];
  readonly outer?: Shape;
  readonly inner: Shape;
  readonly numbers: readonly number[];
  readonly body: (ctx: FoldContext) => FoldBody;
}

/** The kernel, in which all sizes are run-time numbers, and its launch. */
export function lowerWindows(spec: FoldSpec): LoweredKernel {
  const { inputs, outs, inner } = spec;
  const outer = spec.outer ?? outs[0].shape;
  const views = spec.views ?? inputs.map((m) => m.shape);
  const coord = (i: number): Expr => k.leaf("coord", "int32", i);
  const body = spec.body({
    outer: outer.map((_, i) => coord(i)),
    inner: inner.map((_, i) => coord(outer.length + i)),
    numbers: spec.numbers.map((_, i) => k.leaf("arg", "int32", i)),
    read: (i, coords) => k.gather(i, k.computeType(inputs[i].dtype), coords),
  });
  const leaves = (op: "left" | "right" | "result"): Expr[] =>
    body.init.map((e, i) => k.leaf(op, e.dtype, i, op === "result" ? 0 : undefined));
  const kernel = makeKernel({
    outerRank: outer.length,
    innerRank: inner.length,
    inputs: inputs.map((m, i) => ({
      dtype: m.dtype,
      outer: "any",
      inner: "any",
      gatherRank: views[i].length,
    })),
    outputs: outs.map((m, i) => ({
      dtype: m.dtype,
      outer: "unit",
      inner: "zero",
      stage: 1,
      value: i,
    })),
    args: spec.numbers.map(() => "int32"),
    stages: [
      {
        kind: "reduce",
        init: body.init,
        lift: body.lift,
        combine: body.combine(leaves("left"), leaves("right")),
      },
      { kind: "final", values: body.values(leaves("result")) },
    ],
    index32: true,
  });
  const out = [...contiguousStrides(outer), ...inner.map(() => 0)];
  const launch = {
    sizes: [...outer, ...inner],
    strides: [...views.map((v) => contiguousStrides(v)), ...outs.map(() => out)],
    offsets: [...inputs, ...outs].map(() => 0),
    args: spec.numbers,
  };
  return { kernel, launch };
}

/** A plain sum of one lifted value. */
export function summed(lift: Expr, value: (sum: Expr) => Expr = (s) => s): FoldBody {
  return {
    init: [k.constant(0, lift.dtype)],
    lift: [lift],
    combine: ([a], [b]) => [k.add(a, b)],
    values: ([s]) => [value(s)],
  };
}
