// Convolutions that are matrix products, or the same numbers in longer lines. Arithmetic on shapes only: no memory is
// touched here.

import type { GemmArgs } from "../gemm/mod.ts";
import type { ConvPass } from "./conv.ts";
import type { ConvShape } from "./shape.ts";

/** 1×1 filters that touch every pixel once: a matrix product per image. */
export function isPointwise(shape: ConvShape): boolean {
  return shape.kh === 1 && shape.kw === 1 && shape.strideH === 1 && shape.strideW === 1 &&
    isUnpadded(shape);
}

/** Filters as large as the image: a fully connected layer. */
export function isDense(shape: ConvShape): boolean {
  return shape.groups === 1 && shape.kh === shape.h && shape.kw === shape.w && isUnpadded(shape) &&
    (shape.dilationH === 1 || shape.kh === 1) && (shape.dilationW === 1 || shape.kw === 1);
}

function isUnpadded(shape: ConvShape): boolean {
  return (shape.padTop || shape.padBottom || shape.padLeft || shape.padRight) === 0;
}

/** Same numbers in memory, longer lines: columns of width 1 become rows, 1×1 filters see one row. */
export function lengthened<T extends ConvShape>(shape: T): T {
  if (isPointwise(shape)) return { ...shape, h: 1, w: shape.h * shape.w };
  if (shape.w !== 1 || shape.kw !== 1 || shape.padLeft !== 0 || shape.padRight !== 0) return shape;
  return {
    ...shape,
    h: 1,
    w: shape.h,
    kh: 1,
    kw: shape.kh,
    strideH: 1,
    strideW: shape.strideH,
    padTop: 0,
    padBottom: 0,
    padLeft: shape.padTop,
    padRight: shape.padBottom,
    dilationH: 1,
    dilationW: shape.dilationH,
  };
}

/** Addresses of the operands and results of all passes. */
export interface Operands {
  x: number;
  y: number;
  dx: number;
  dy: number;
  weight: number;
  dweight: number;
}

/** A shape with its operands. */
export type WithOperands = ConvShape & Partial<Operands> & { scratch: number };

/** The product of a fully connected layer's pass: rows of x and y are images, weight is [oc, k]. */
export function denseProduct(pass: ConvPass, args: WithOperands): GemmArgs {
  const { dtype, scratch, n, oc, x = 0, y = 0, dx = 0, dy = 0, weight = 0, dweight = 0 } = args;
  const k = args.c * args.h * args.w;
  const rows = (ptr: number, rowStride: number) => ({ ptr, rowStride, colStride: 1 });
  const columns = (ptr: number, colStride: number) => ({ ptr, rowStride: 1, colStride });
  switch (pass) {
    case "forward":
      return {
        ...{ dtype, scratch, m: n, n: oc, k },
        ...{ a: rows(x, k), b: columns(weight, k), c: { ptr: y, rowStride: oc } },
      };
    case "backwardInput":
      return {
        ...{ dtype, scratch, m: n, n: k, k: oc },
        ...{ a: rows(dy, oc), b: rows(weight, k), c: { ptr: dx, rowStride: k } },
      };
    case "backwardWeight":
      return {
        ...{ dtype, scratch, m: oc, n: k, k: n },
        ...{ a: columns(dy, oc), b: rows(x, k), c: { ptr: dweight, rowStride: k } },
      };
    default:
      return pass satisfies never;
  }
}

/** The product of one image's group for a 1×1 filter: y = weight · x, dx = weightᵀ · dy. */
export function pointwiseProduct(
  pass: "forward" | "backwardInput",
  args: WithOperands,
  group: number,
  size: number,
): GemmArgs {
  const { dtype, scratch, groups, x = 0, y = 0, dx = 0, dy = 0, weight = 0 } = args;
  const pixels = args.h * args.w;
  const [inputs, outputs] = [args.c / groups, args.oc / groups];
  const filters = weight + group * outputs * inputs * size;
  const [m, k] = pass === "forward" ? [outputs, inputs] : [inputs, outputs];
  const [from, to] = pass === "forward" ? [x, y] : [dy, dx];
  const a = pass === "forward"
    ? { ptr: filters, rowStride: inputs, colStride: 1 }
    : { ptr: filters, rowStride: 1, colStride: inputs };
  return {
    ...{ dtype, scratch, m, n: pixels, k, a },
    b: { ptr: from + group * k * pixels * size, rowStride: pixels, colStride: 1 },
    c: { ptr: to + group * m * pixels * size, rowStride: pixels },
  };
}
