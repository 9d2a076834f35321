// Pooling of images: the largest or the average of each window, windows sliding or adapted to an output
// size. Kernels are folds over windows; gradients fold over the windows that read a point.
import { ValueError } from "../core/errors.ts";
import * as k from "../core/ir/expr.ts";
import type { Expr } from "../core/ir/expr.ts";
import { type Attrs, elementwise, engine, kernelOp, type Meta } from "../core/op.ts";
import { expectOptions, expectTensors } from "../core/operands.ts";
import type { Shape } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import {
  both,
  type FoldBody,
  held,
  lowerWindows,
  type Padding2d,
  type Pair,
  pairOf,
  requireImages,
  type Sides,
  sidesOf,
  summed,
  type Tap,
  type Two,
  windowCounts,
} from "./window.ts";

/** Attrs of all pooling ops: sliding windows, or windows that share the image out evenly (`adaptive`). */
interface PoolAttrs {
  readonly kernel: Two;
  readonly stride: Two;
  readonly padding: Sides;
  /** How many windows there are. */
  readonly counts: Two;
  readonly adaptive: boolean;
  /** Averages: whether padding is left out of the count. */
  readonly exclusive: boolean;
}

const poolAttrs = (attrs: Attrs): PoolAttrs => attrs as unknown as PoolAttrs;
const two = (shape: Shape): Two => [shape[2], shape[3]];

/** Run-time numbers of one axis. */
interface Axis {
  readonly adaptive: boolean;
  readonly size: Expr;
  readonly count: Expr;
  readonly kernel: Expr;
  readonly stride: Expr;
  readonly before: Expr;
  readonly after: Expr;
}

function numbersOf({ kernel, stride, padding, counts }: PoolAttrs, size: Two): number[] {
  return ([0, 1] as const).flatMap((i) => [
    size[i],
    counts[i],
    kernel[i],
    stride[i],
    padding[i][0],
    padding[i][1],
  ]);
}

function axesOf(n: readonly Expr[], { adaptive }: PoolAttrs): readonly [Axis, Axis] {
  const axis = (i: number): Axis => ({
    adaptive,
    size: n[i],
    count: n[i + 1],
    kernel: n[i + 2],
    stride: n[i + 3],
    before: n[i + 4],
    after: n[i + 5],
  });
  return [axis(0), axis(6)];
}

/** First coordinate of window `o` (before the image if it is padded), and the one past its last. */
function windowEnds(o: Expr, a: Axis): { start: Expr; end: Expr } {
  if (!a.adaptive) {
    const start = k.sub(k.mul(o, a.stride), a.before);
    return { start, end: k.add(start, a.kernel) };
  }
  // Window o of n covers floor(o·size / n) to ceil((o + 1)·size / n): PyTorch's adaptive pooling.
  const start = k.idiv(k.mul(o, a.size), a.count);
  const end = k.idiv(k.add(k.mul(k.add(o, 1), a.size), k.sub(a.count, 1)), a.count);
  return { start, end };
}

/** Element `j` of window `o`. */
function element(o: Expr, j: Expr, a: Axis): Tap {
  const { start, end } = windowEnds(o, a);
  const c = k.add(start, j);
  const tap = held(c, a.size);
  return a.adaptive ? { at: tap.at, inside: k.and(tap.inside, k.lt(c, end)) } : tap;
}

/** The `j`-th window that may cover coordinate `i`. */
function covering(i: Expr, j: Expr, a: Axis): Tap {
  if (!a.adaptive) {
    const o = k.sub(k.idiv(k.add(i, a.before), a.stride), j);
    const tap = held(o, a.count);
    return { at: tap.at, inside: k.and(tap.inside, k.gt(windowEnds(o, a).end, i)) };
  }
  const o = k.add(k.idiv(k.mul(i, a.count), a.size), j);
  const tap = held(o, a.count);
  return { at: tap.at, inside: k.and(tap.inside, k.le(windowEnds(o, a).start, i)) };
}

/** Elements of the largest window, and windows that may cover one point, along each axis. */
function extents({ kernel, stride, counts, adaptive }: PoolAttrs, size: Two): {
  elements: Shape;
  windows: Shape;
} {
  const axis = (i: 0 | 1): [number, number] => {
    if (!adaptive) return [kernel[i], Math.floor((kernel[i] - 1) / stride[i]) + 1];
    // A span of size / n touches at most so many whole elements, and the other way round.
    return [Math.ceil(size[i] / counts[i]) + 1, Math.ceil(counts[i] / size[i]) + 1];
  };
  const [rows, columns] = [axis(0), axis(1)];
  return { elements: [rows[0], columns[0]], windows: [rows[1], columns[1]] };
}

/** How many elements a window averages over, along one axis. */
function counted(o: Expr, a: Axis, exclusive: boolean): Expr {
  const { start, end } = windowEnds(o, a);
  if (a.adaptive) return k.sub(end, start);
  if (exclusive) return k.sub(k.min(end, a.size), k.max(start, 0));
  return k.sub(k.min(end, k.add(a.size, a.after)), start);
}

function pooled(x: Meta, attrs: Attrs): Shape {
  return [x.shape[0], x.shape[1], ...poolAttrs(attrs).counts];
}

const SLIDING: Attrs = {
  kernel: [2, 2],
  stride: [2, 2],
  padding: [[0, 0], [0, 0]],
  counts: [2, 2],
  adaptive: false,
  exclusive: true,
};
const PADDED: Attrs = {
  kernel: [3, 2],
  stride: [2, 1],
  padding: [[1, 1], [0, 1]],
  counts: [3, 5],
  adaptive: false,
  exclusive: false,
};
const ADAPTIVE: Attrs = { ...SLIDING, counts: [3, 2], adaptive: true };
const GROWING: Attrs = { ...SLIDING, counts: [4, 7], adaptive: true };

/** Values all apart from each other, so that gradients exist. */
const apart = (shape: Shape): { values: number[]; shape: Shape } => ({
  values: Array.from(
    { length: shape.reduce((a, b) => a * b, 1) },
    (_, i) => ((i * 37) % 101) / 8 - 6,
  ),
  shape,
});

const NO_POSITION = 2 ** 31 - 1;

/** Whether the right one of two (value, position) pairs wins: larger, NaN above all, then the first. */
function wins([lv, lp]: readonly Expr[], [rv, rp]: readonly Expr[]): Expr {
  const more = k.or(k.gt(rv, lv), k.and(k.isNan(rv), k.not(k.isNan(lv))));
  const level = k.or(k.eq(rv, lv), k.and(k.isNan(rv), k.isNan(lv)));
  return k.or(more, k.and(level, k.lt(rp, lp)));
}

function largest(value: Expr, position: Expr, inside: Expr): FoldBody {
  const none = [k.constant(-Infinity, value.dtype), k.constant(NO_POSITION, "int32")];
  return {
    init: none,
    lift: [k.where(inside, value, none[0]), k.where(inside, position, none[1])],
    combine: (l, r) => {
      const right = wins(l, r);
      return [k.where(right, r[0], l[0]), k.where(right, r[1], l[1])];
    },
    values: (state) => state,
  };
}

const MAX_POOL = kernelOp({
  name: "maxPool2d",
  infer: ([x], attrs) => [
    { shape: pooled(x, attrs), dtype: x.dtype },
    { shape: pooled(x, attrs), dtype: "int32" },
  ],
  lower: (inputs, outs, attrs) => {
    const a = poolAttrs(attrs);
    const size = two(inputs[0].shape);
    return lowerWindows({
      inputs,
      outs,
      inner: extents(a, size).elements,
      numbers: numbersOf(a, size),
      body: ({ outer: [n, c, row, column], inner: [i, j], numbers, read }) => {
        const [down, along] = axesOf(numbers, a);
        const [y, z] = [element(row, i, down), element(column, j, along)];
        const position = k.add(k.mul(y.at, along.size), z.at);
        return largest(read(0, [n, c, y.at, z.at]), position, both(y, z));
      },
    });
  },
  vjp: ([g], { outputs: [, mask], shapes: [shape], attrs }) => [
    spread(g, mask, attrs, two(shape)),
  ],
  saves: "out",
  samples: () => [
    { inputs: [apart([2, 2, 4, 5])], attrs: SLIDING },
    { inputs: [apart([1, 2, 5, 5])], attrs: PADDED },
    { inputs: [apart([1, 2, 5, 5])], attrs: ADAPTIVE },
    { inputs: [apart([1, 1, 3, 5])], attrs: GROWING },
    { inputs: [{ shape: [0, 2, 4, 5] }], attrs: SLIDING },
    {
      inputs: [{
        values: [
          NaN,
          1,
          1,
          1,
          NaN,
          2,
          1,
          1,
          0,
          -0,
          -Infinity,
          -Infinity,
          -0,
          0,
          -Infinity,
          -Infinity,
        ],
        shape: [1, 1, 4, 4],
      }],
      attrs: SLIDING,
      noGrad: true,
    },
  ],
});

const MAX_POOL_GRAD = kernelOp({
  name: "maxPool2dGrad",
  infer: ([g], attrs) => [{
    shape: [g.shape[0], g.shape[1], ...(attrs.inputSize as Two)],
    dtype: g.dtype,
  }],
  lower: (inputs, outs, attrs) => {
    const a = poolAttrs(attrs);
    const size = two(outs[0].shape);
    return lowerWindows({
      inputs,
      outs,
      inner: extents(a, size).windows,
      numbers: numbersOf(a, size),
      body: ({ outer: [n, c, row, column], inner: [i, j], numbers, read }) => {
        const [down, along] = axesOf(numbers, a);
        const [y, z] = [covering(row, i, down), covering(column, j, along)];
        const here = k.eq(read(1, [n, c, y.at, z.at]), k.add(k.mul(row, along.size), column));
        const taken = k.and(both(y, z), here);
        const g = read(0, [n, c, y.at, z.at]);
        return summed(k.where(taken, g, k.constant(0, g.dtype)));
      },
    });
  },
  vjp: ([h], { inputs: [, mask], attrs }) => [pick(h, mask as Tensor, attrs), null],
  reads: [[1], []],
  samples: () => [
    {
      inputs: [
        { shape: [1, 1, 2, 2] },
        { values: [5, 2, 10, 12], shape: [1, 1, 2, 2], dtype: "int32" },
      ],
      attrs: { ...SLIDING, inputSize: [4, 5] },
    },
    {
      inputs: [
        { shape: [1, 1, 3, 2] },
        { values: [5, 2, 5, 8, 15, 18], shape: [1, 1, 3, 2], dtype: "int32" },
      ],
      attrs: { ...ADAPTIVE, inputSize: [5, 5] },
    },
  ],
});

/** Brings each window's gradient to the element that won. */
function spread(g: Tensor, mask: Tensor, attrs: Attrs, size: Two): Tensor {
  return engine.call(MAX_POOL_GRAD, [g, mask], { ...attrs, inputSize: size });
}

const PICK = elementwise({
  name: "maxPool2dPick",
  dtype: (_, [x]) => ({ compute: [x.dtype, "int32", "int32"], out: x.dtype }),
  shape: (metas) => metas[1].shape,
  indexed: [0],
  scalar: ([, position, width], ctx) =>
    ctx.at(0, [
      ctx.coord(0),
      ctx.coord(1),
      k.idiv(position, width),
      k.irem(position, width),
    ]),
  vjp: ([g], { inputs: [, mask], shapes: [shape], attrs }) => [
    spread(g, mask as Tensor, attrs, two(shape)),
    null,
    null,
  ],
  reads: [[1], [], []],
  samples: () => [
    {
      inputs: [
        { shape: [1, 1, 4, 5] },
        { values: [5, 2, 10, 12], shape: [1, 1, 2, 2], dtype: "int32" },
        5,
      ],
      attrs: SLIDING,
    },
  ],
});

/** Reads each window's element that won. */
function pick(x: Tensor, mask: Tensor, { inputSize: _, ...attrs }: Attrs): Tensor {
  return engine.call(PICK, [x, mask, x.shape[3]], attrs);
}

const AVG_POOL = kernelOp({
  name: "avgPool2d",
  infer: ([x], attrs) => [{ shape: pooled(x, attrs), dtype: x.dtype }],
  lower: (inputs, outs, attrs) => {
    const a = poolAttrs(attrs);
    const size = two(inputs[0].shape);
    return lowerWindows({
      inputs,
      outs,
      inner: extents(a, size).elements,
      numbers: numbersOf(a, size),
      body: ({ outer: [n, c, row, column], inner: [i, j], numbers, read }) => {
        const [down, along] = axesOf(numbers, a);
        const [y, z] = [element(row, i, down), element(column, j, along)];
        const x = read(0, [n, c, y.at, z.at]);
        const count = k.mul(
          counted(row, down, a.exclusive),
          counted(column, along, a.exclusive),
        );
        return summed(
          k.where(both(y, z), x, k.constant(0, x.dtype)),
          (sum) => k.div(sum, k.cast(count, sum.dtype)),
        );
      },
    });
  },
  vjp: ([g], { shapes: [shape], attrs }) => [share(g, attrs, two(shape))],
  saves: "none",
  samples: () => [
    { inputs: [{ shape: [2, 2, 4, 5] }], attrs: SLIDING },
    { inputs: [{ shape: [1, 2, 5, 5] }], attrs: PADDED },
    { inputs: [{ shape: [1, 2, 5, 5] }], attrs: { ...PADDED, exclusive: true } },
    { inputs: [{ shape: [1, 2, 5, 5] }], attrs: ADAPTIVE },
    { inputs: [{ shape: [1, 1, 3, 5] }], attrs: GROWING },
    { inputs: [{ shape: [0, 2, 4, 5] }], attrs: SLIDING },
    {
      inputs: [{ values: [NaN, 1, Infinity, 1], shape: [1, 1, 1, 4] }],
      attrs: { ...SLIDING, kernel: [1, 2], counts: [1, 2] },
      noGrad: true,
    },
  ],
});

const AVG_POOL_GRAD = kernelOp({
  name: "avgPool2dGrad",
  infer: ([g], attrs) => [{
    shape: [g.shape[0], g.shape[1], ...(attrs.inputSize as Two)],
    dtype: g.dtype,
  }],
  lower: (inputs, outs, attrs) => {
    const a = poolAttrs(attrs);
    const size = two(outs[0].shape);
    return lowerWindows({
      inputs,
      outs,
      inner: extents(a, size).windows,
      numbers: numbersOf(a, size),
      body: ({ outer: [n, c, row, column], inner: [i, j], numbers, read }) => {
        const [down, along] = axesOf(numbers, a);
        const [y, z] = [covering(row, i, down), covering(column, j, along)];
        const g = read(0, [n, c, y.at, z.at]);
        const count = k.mul(
          counted(y.at, down, a.exclusive),
          counted(z.at, along, a.exclusive),
        );
        const part = k.div(g, k.cast(count, g.dtype));
        return summed(k.where(both(y, z), part, k.constant(0, g.dtype)));
      },
    });
  },
  vjp: ([h], { attrs: { inputSize: _, ...attrs } }) => [engine.call(AVG_POOL, [h], attrs)],
  saves: "none",
  samples: () => [
    { inputs: [{ shape: [2, 2, 2, 2] }], attrs: { ...SLIDING, inputSize: [4, 5] } },
    { inputs: [{ shape: [1, 2, 3, 5] }], attrs: { ...PADDED, inputSize: [5, 5] } },
    { inputs: [{ shape: [1, 2, 3, 2] }], attrs: { ...ADAPTIVE, inputSize: [5, 5] } },
    { inputs: [{ shape: [1, 1, 4, 7] }], attrs: { ...GROWING, inputSize: [3, 5] } },
  ],
});

/** Shares each window's gradient among its elements. */
function share(g: Tensor, attrs: Attrs, size: Two): Tensor {
  return engine.call(AVG_POOL_GRAD, [g], { ...attrs, inputSize: size });
}

/** Options of pooling with sliding windows. */
export interface PoolOptions {
  /** Steps between windows. Default: the kernel, so that windows lie side by side. */
  readonly stride?: Pair;
  /** Around the image; it never wins a maximum. At most half the kernel. Default 0. */
  readonly padding?: Padding2d;
  /** Whether what is left over at the end gets a window of its own. Default false. */
  readonly ceilMode?: boolean;
}

function sliding(
  call: string,
  x: Tensor,
  kernel: Pair,
  options: PoolOptions,
  exclusive: boolean,
): Attrs {
  requireImages(call, x);
  const size = two(x.shape);
  const window = pairOf(call, "kernel", kernel, 1);
  const stride = pairOf(call, "stride", options.stride ?? window, 1);
  const padding = sidesOf(call, options.padding ?? 0, size, window, stride);
  padding.forEach((ends, i) => {
    if (Math.max(...ends) * 2 <= window[i]) return;
    throw new ValueError(
      `Cannot ${call} with kernel [${window.join(", ")}] and padding of ${
        Math.max(...ends)
      }: it must ` +
        "be at most half the kernel, so that no window lies outside the image",
    );
  });
  const counts = windowCounts(call, size, window, stride, padding, options.ceilMode);
  return { kernel: window, stride, padding, counts, adaptive: false, exclusive };
}

function adapted(call: string, x: Tensor, size: Pair): Attrs {
  requireImages(call, x);
  const counts = pairOf(call, "output size", size, 1);
  const none = [0, 0] as const;
  return {
    kernel: [1, 1],
    stride: [1, 1],
    padding: [none, none],
    counts,
    adaptive: true,
    exclusive: true,
  };
}

/** Options of `maxPool2d`. */
export interface MaxPoolOptions extends PoolOptions {
  /** Give the positions of the largest elements too. Default false. */
  readonly returnMask?: boolean;
}

/**
 * The largest element of each window; NaN if the window has one.
 *
 * @param x `[batch, channels, height, width]`, floats.
 * @param kernel Sizes of the window.
 * @param options With `returnMask`, the result is `[values, mask]`.
 * @returns `[batch, channels, rows, columns]`. The mask is int32: row · width + column in the unpadded
 * image. Of equal elements the first one wins, and gets the whole gradient.
 * @throws {ShapeError} if `x` has another rank, or a window is larger than the padded image.
 * @throws {DTypeError} if `x` is not floats.
 * @throws {ValueError} if an option is out of range, or a side is padded by more than half the kernel.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const x = tensor([[[[1, 5, 2, 0], [3, 4, 9, 1]]]]);
 * assertEquals(await nn.functional.maxPool2d(x, 2).toArray(), [[[[5, 9]]]]);
 * const [, mask] = nn.functional.maxPool2d(x, 2, { returnMask: true });
 * assertEquals(await mask.toArray(), [[[[1, 6]]]]);
 * ```
 */
export function maxPool2d(
  x: Tensor,
  kernel: Pair,
  options: MaxPoolOptions & { readonly returnMask: true },
): [Tensor, Tensor];
export function maxPool2d(
  x: Tensor,
  kernel: Pair,
  options?: PoolOptions & { readonly returnMask?: false },
): Tensor;
export function maxPool2d(
  x: Tensor,
  kernel: Pair,
  options: MaxPoolOptions = {},
): Tensor | [Tensor, Tensor] {
  expectTensors("maxPool2d", x);
  expectOptions("maxPool2d", options);
  const attrs = sliding("maxPool2d", x, kernel, options, true);
  const [values, mask] = engine.callMany(MAX_POOL, [x], attrs);
  return options.returnMask ? [values, mask] : values;
}

/** Options of `avgPool2d`. */
export interface AvgPoolOptions extends PoolOptions {
  /** Leave padding out of the count that is divided by (the opposite of PyTorch's count_include_pad). Default true. */
  readonly exclusive?: boolean;
}

/**
 * The average of each window.
 *
 * @param x `[batch, channels, height, width]`, floats.
 * @param kernel Sizes of the window.
 * @param options Strides, padding, and what is counted.
 * @returns `[batch, channels, rows, columns]`.
 * @throws {ShapeError} if `x` has another rank, or a window is larger than the padded image.
 * @throws {DTypeError} if `x` is not floats.
 * @throws {ValueError} if an option is out of range, or a side is padded by more than half the kernel.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const x = tensor([[[[1, 5, 2, 0], [3, 3, 9, 1]]]]);
 * assertEquals(await nn.functional.avgPool2d(x, 2).toArray(), [[[[3, 3]]]]);
 * ```
 */
export function avgPool2d(x: Tensor, kernel: Pair, options: AvgPoolOptions = {}): Tensor {
  expectTensors("avgPool2d", x);
  expectOptions("avgPool2d", options);
  const attrs = sliding("avgPool2d", x, kernel, options, options.exclusive ?? true);
  return engine.call(AVG_POOL, [x], attrs);
}

/**
 * Averages over as many windows as are asked for, which share the image out evenly and may overlap.
 *
 * @param x `[batch, channels, height, width]`, floats.
 * @param size How many windows, along both axes or along height and width.
 * @returns `[batch, channels, ...size]`.
 * @throws {ShapeError} if `x` has another rank.
 * @throws {DTypeError} if `x` is not floats.
 * @throws {ValueError} if a size is not a whole number of at least 1.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const x = tensor([[[[1, 5, 2], [3, 3, 4]]]]);
 * assertEquals(await nn.functional.adaptiveAvgPool2d(x, 1).toArray(), [[[[3]]]]);
 * assertEquals(await nn.functional.adaptiveAvgPool2d(x, [1, 2]).toArray(), [[[[3, 3.5]]]]);
 * ```
 */
export function adaptiveAvgPool2d(x: Tensor, size: Pair): Tensor {
  expectTensors("adaptiveAvgPool2d", x);
  const attrs = adapted("adaptiveAvgPool2d", x, size);
  const [rows, columns] = poolAttrs(attrs).counts;
  // One window is a mean, which kernels fold faster than a window.
  if (rows === 1 && columns === 1) return op.mean(x, [2, 3], { keepdim: true });
  return engine.call(AVG_POOL, [x], attrs);
}

/**
 * The largest elements of as many windows as are asked for, which share the image out evenly and may
 * overlap.
 *
 * @param x `[batch, channels, height, width]`, floats.
 * @param size How many windows, along both axes or along height and width.
 * @returns `[batch, channels, ...size]`.
 * @throws {ShapeError} if `x` has another rank.
 * @throws {DTypeError} if `x` is not floats.
 * @throws {ValueError} if a size is not a whole number of at least 1.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { nn, tensor } from "../mod.ts";
 *
 * const x = tensor([[[[1, 5, 2], [3, 3, 4]]]]);
 * assertEquals(await nn.functional.adaptiveMaxPool2d(x, [2, 1]).toArray(), [[[[5], [4]]]]);
 * ```
 */
export function adaptiveMaxPool2d(x: Tensor, size: Pair): Tensor {
  return engine.callMany(MAX_POOL, [x], adapted("adaptiveMaxPool2d", x, size))[0];
}
