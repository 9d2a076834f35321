// How options of windows that slide along one, two or three axes are read and checked, with errors in the
// words of the call. Not part of the public surface. Windows over exactly two axes, and the kernels that
// fold them, are in window.ts.
import { isFloat } from "../core/dtype.ts";
import { DTypeError, ShapeError, ValueError } from "../core/errors.ts";
import { expectList, expectNumbers, expectTensors } from "../core/operands.ts";
import { type Shape, showShape } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";

/** One number, alone or in a list. */
export type Single = number | readonly [number];

/** One number for all axes, or depth, height and width. */
export type Triple = number | readonly [number, number, number];

/** Elements before and after along one axis. */
export type Ends = readonly [before: number, after: number];

/** How much a sequence is padded: a number for both ends, `[[before, after]]`, "valid" or "same". */
export type Padding1d = Single | readonly [Ends] | "same" | "valid";

/** How much a volume is padded: a number for all sides, three numbers, three `[before, after]`, "valid" or "same". */
export type Padding3d = Triple | readonly [Ends, Ends, Ends] | "same" | "valid";

/** Any of the paddings. */
export type AnyPadding = number | readonly number[] | readonly Ends[] | string;

/** One number or a list, as options give them. */
export type Numbers = number | readonly number[];

/** How windows slide, one entry an axis. */
export interface Slides {
  readonly stride: readonly number[];
  readonly padding: readonly Ends[];
  readonly dilation: readonly number[];
}

const AXES: readonly (readonly string[])[] = [
  [],
  ["length"],
  ["height", "width"],
  ["depth", "height", "width"],
];

/** `[batch, channels, …]` in words. */
export function layoutOf(rank: number): string {
  return `[batch, channels, ${AXES[rank].join(", ")}]`;
}

function whole(call: string, what: string, n: unknown, least: number): number {
  if (typeof n === "number" && Number.isInteger(n) && n >= least) return n;
  throw new ValueError(
    `Cannot ${call} with ${what} ${n}: it must be a whole number of at least ${least}`,
  );
}

/** An option as one number an axis. */
export function numbersOf(
  call: string,
  what: string,
  value: Numbers,
  rank: number,
  least: number,
): number[] {
  const given = expectNumbers(call, what, value as number | readonly number[]);
  const list = typeof value === "number" ? new Array<number>(rank).fill(value) : given;
  if (list.length !== rank) {
    throw new ValueError(
      `Cannot ${call} with ${what} [${list.join(", ")}]: give one number` +
        (rank === 1 ? "" : `, or ${rank} for ${AXES[rank].join(", ")}`),
    );
  }
  return list.map((n) => whole(call, what, n, least));
}

/** Elements that padding adds at both ends of each axis. `sizes` and `windows` count for "same" only. */
export function endsOf(
  call: string,
  padding: AnyPadding,
  sizes: Shape,
  windows: Shape,
  stride: readonly number[],
): Ends[] {
  const rank = sizes.length;
  if (padding === "valid") return sizes.map(() => [0, 0]);
  if (padding === "same") {
    return sizes.map((n, i): Ends => {
      const total = Math.max((Math.ceil(n / stride[i]) - 1) * stride[i] + windows[i] - n, 0);
      return [Math.floor(total / 2), Math.ceil(total / 2)];
    });
  }
  if (typeof padding === "string") {
    throw new ValueError(
      `Cannot ${call} with padding "${padding}": it must be "same", "valid", a number, one an axis, ` +
        "or [before, after] for each axis",
    );
  }
  if (Array.isArray(padding) && padding.length === rank && Array.isArray(padding[0])) {
    return expectList(call, "padding", padding as readonly Ends[]).map((ends): Ends => {
      const [before, after] = expectList(call, "padding of an axis", ends);
      return [whole(call, "padding", before, 0), whole(call, "padding", after, 0)];
    });
  }
  return numbersOf(call, "padding", padding as Numbers, rank, 0).map((n): Ends => [n, n]);
}

/** Throws unless `x` is a batch of floats over so many axes, none of them empty. */
export function requireBatch(call: string, x: Tensor, rank: number): void {
  expectTensors(call, x);
  if (x.rank !== rank + 2) {
    throw new ShapeError(
      `Cannot ${call} on ${showShape(x.shape)}: the input must be ${layoutOf(rank)}: got rank ` +
        `${x.rank}${x.rank === rank + 1 ? "; unsqueeze(0) adds the batch axis" : ""}`,
    );
  }
  if (!isFloat(x.dtype)) {
    throw new DTypeError(
      `Cannot ${call} on ${x.dtype}: the input must be floats; cast it to "float32" first`,
    );
  }
  if (x.shape.slice(2).includes(0)) {
    throw new ShapeError(
      `Cannot ${call} on ${showShape(x.shape)}: ${AXES[rank].join(", ")} must not be 0`,
    );
  }
}

/** Sizes of windows, from the first element to the last. */
export function windowsOf(kernel: Shape, dilation: readonly number[]): number[] {
  return kernel.map((n, i) => (n - 1) * dilation[i] + 1);
}

/** Throws unless a window fits into each axis and its padding. */
export function requireRoom(
  call: string,
  sizes: Shape,
  windows: Shape,
  padding: readonly Ends[],
): void {
  sizes.forEach((n, i) => {
    const [before, after] = padding[i];
    if (n + before + after >= windows[i]) return;
    throw new ShapeError(
      `Cannot ${call} on ${AXES[sizes.length][i]} ${n}: a window of ${
        windows[i]
      } must fit into it ` +
        `and its padding of ${before} and ${after}; use a smaller kernel or more padding`,
    );
  });
}

/** What weight and bias of a convolution must be; `transposed` swaps the channels of the weight. */
export function requireWeight(
  call: string,
  x: Tensor,
  weight: Tensor,
  bias: Tensor | undefined,
  groups: number,
  transposed: boolean,
): void {
  expectTensors(call, weight, ...(bias === undefined ? [] : [bias]));
  const rank = x.rank - 2;
  const said = `Cannot ${call} ${showShape(x.shape)} with weight ${showShape(weight.shape)}` +
    (groups === 1 ? "" : ` and groups ${groups}`);
  if (weight.rank !== x.rank) {
    const channels = transposed ? "in, out / groups" : "out, in / groups";
    throw new ShapeError(
      `${said}: the weight must be [${channels}, ${
        AXES[rank].map((a) => `kernel ${a}`).join(", ")
      }]: got rank ${weight.rank}`,
    );
  }
  const taken = transposed ? weight.shape[0] : weight.shape[1] * groups;
  if (x.shape[1] !== taken) {
    throw new ShapeError(
      `${said}: input channels must match: got ${x.shape[1]} and ${taken}`,
    );
  }
  if (weight.shape[0] % groups !== 0) {
    throw new ShapeError(
      `${said}: ${transposed ? "input" : "output"} channels must divide by groups: got ${
        weight.shape[0]
      }`,
    );
  }
  if (weight.shape.slice(2).includes(0)) {
    throw new ShapeError(`${said}: a kernel must have at least one element along each axis`);
  }
  const out = transposed ? weight.shape[1] * groups : weight.shape[0];
  if (bias !== undefined && (bias.rank !== 1 || bias.shape[0] !== out)) {
    throw new ShapeError(
      `Cannot ${call} with weight ${showShape(weight.shape)} and bias ${
        showShape(bias.shape)
      }: the ` +
        `bias must have one element for each output channel: expected [${out}]`,
    );
  }
}
