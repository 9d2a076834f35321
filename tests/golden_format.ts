/**
 * The golden files as values: reading a family, its cases and its tensors, and comparing a tensor with
 * what was expected of it. Deliberately not here: calling the library, which is in `golden_runner.ts`,
 * and computing the goldens, which is in `goldens/make_goldens.py`. `goldens/README.md` has the format.
 *
 * @module
 */

/** The version of the format that this reader knows. */
export const FORMAT = 1;

/** Dtypes that golden files hold. */
export type GoldenDType = "float32" | "float64" | "int32" | "int64" | "bool";

/** Elements of a golden tensor; bool is 0 and 1. */
export type GoldenData = Float32Array | Float64Array | Int32Array | BigInt64Array | Uint8Array;

/** A tensor as a golden file holds it. */
export interface GoldenTensor {
  readonly dtype: GoldenDType;
  readonly shape: readonly number[];
  /** In row-major order. */
  readonly data: GoldenData;
}

/** A step from a base tensor to a view of it. */
export type ViewStep =
  | readonly ["permute", readonly number[]]
  | readonly ["slice", axis: number, start: number, end: number, step: number]
  | readonly ["expand", readonly number[]];

/** An input: a contiguous base and the views taken of it, in order. */
export interface GoldenInput {
  readonly base: GoldenTensor;
  readonly views: readonly ViewStep[];
}

/** Allowed distance from an expected value `e`: `atol * scale + rtol * |e|`. */
export interface Tolerance {
  readonly rtol: number;
  readonly atol: number;
}

/** Gradients of Σ out·g, and of Σ d·h where the gradient of the gradient is checked too. */
export interface GoldenGrad {
  /** Indexes of the inputs differentiated by. */
  readonly wrt: readonly number[];
  /** For each output the weight of its elements; null where no gradient flows (positions). */
  readonly g: readonly (string | null)[];
  /** For each of `wrt` its gradient. */
  readonly d: readonly string[];
  readonly h?: readonly string[];
  readonly dd?: readonly string[];
}

/** A case as its line holds it; tensors are still text. */
export interface GoldenCase {
  readonly fn: string;
  readonly name: string;
  readonly args: readonly unknown[];
  readonly in?: readonly (string | readonly [string, ...ViewStep[]])[];
  readonly out: readonly string[];
  readonly grad?: GoldenGrad;
  /** Whether the sign of zeros counts. */
  readonly zeroSign?: boolean;
  /** By input index: its value after the call. */
  readonly after?: Readonly<Record<string, string>>;
  readonly tol?: Tolerance & { readonly why: string };
}

/** A golden file. */
export interface GoldenFamily<C extends GoldenCase = GoldenCase> {
  readonly family: string;
  /** What computed the values. */
  readonly source: string;
  readonly cases: readonly C[];
}

/** A golden file or an expectation that cannot be read. */
export class GoldenFormatError extends Error {
  override readonly name = "GoldenFormatError";
}

const ARRAYS: Readonly<Record<GoldenDType, (bytes: ArrayBuffer) => GoldenData>> = {
  float32: (bytes) => new Float32Array(bytes),
  float64: (bytes) => new Float64Array(bytes),
  int32: (bytes) => new Int32Array(bytes),
  int64: (bytes) => new BigInt64Array(bytes),
  bool: (bytes) => new Uint8Array(bytes),
};

const SIZES: Readonly<Record<GoldenDType, number>> = {
  float32: 4,
  float64: 8,
  int32: 4,
  int64: 8,
  bool: 1,
};

/** Reads a whole file: a header line, then one case a line. */
export function parseFamily<C extends GoldenCase = GoldenCase>(text: string): GoldenFamily<C> {
  const [head, ...lines] = text.trimEnd().split("\n");
  const header = JSON.parse(head) as Record<string, unknown>;
  if (header.format !== FORMAT) {
    throw new GoldenFormatError(
      `Cannot read goldens of format ${header.format}: this reader knows ${FORMAT}`,
    );
  }
  if (header.cases !== lines.length) {
    throw new GoldenFormatError(
      `Cannot read goldens of ${header.family}: the header says ${header.cases} cases, ` +
        `the file has ${lines.length}`,
    );
  }
  const cases = lines.map((line) => JSON.parse(line) as C);
  return { family: String(header.family), source: String(header.source), cases };
}

/** Reads `float32[2,3]:…`, the elements in base64 of their little-endian bytes. */
export function parseTensor(text: string): GoldenTensor {
  const match = /^(float32|float64|int32|int64|bool)\[([\d,]*)\]:([A-Za-z0-9+/=]*)$/.exec(text);
  if (match === null) {
    throw new GoldenFormatError(
      `Cannot read the tensor ${text.slice(0, 60)}: expected ` +
        "dtype[sizes]:base64",
    );
  }
  const dtype = match[1] as GoldenDType;
  const shape = match[2] === "" ? [] : match[2].split(",").map(Number);
  const bytes = Uint8Array.from(atob(match[3]), (c) => c.charCodeAt(0));
  const count = shape.reduce((a, b) => a * b, 1);
  if (bytes.length !== count * SIZES[dtype]) {
    throw new GoldenFormatError(
      `Cannot read the tensor ${dtype}[${shape}]: it needs ${count * SIZES[dtype]} bytes, ` +
        `got ${bytes.length}`,
    );
  }
  return { dtype, shape, data: ARRAYS[dtype](bytes.buffer) };
}

/** Reads an input: a tensor, or a tensor and view steps. */
export function parseInput(value: string | readonly [string, ...ViewStep[]]): GoldenInput {
  if (typeof value === "string") return { base: parseTensor(value), views: [] };
  const [base, ...views] = value;
  return { base: parseTensor(base), views };
}

/**
 * An argument as the library takes it: `{t: k}` becomes `tensors[k]`, `{n: "NaN"}` the number that JSON
 * cannot hold (or undefined), and other values stay.
 */
export function resolveArgument(value: unknown, tensors: readonly unknown[]): unknown {
  if (Array.isArray(value)) return value.map((v) => resolveArgument(v, tensors));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value);
  if (entries.length === 1) {
    const [key, inner] = entries[0];
    if (key === "t") {
      if (!(Number(inner) in tensors)) {
        throw new GoldenFormatError(`Cannot find input ${inner}: there are ${tensors.length}`);
      }
      return tensors[Number(inner)];
    }
    if (key === "n") return inner === "undefined" ? undefined : Number(inner);
  }
  return Object.fromEntries(entries.map(([k, v]) => [k, resolveArgument(v, tensors)]));
}

/** The elements as nested arrays as deep as the shape; only for shapes without a 0. */
export function toNested({ shape, data, dtype }: GoldenTensor): unknown {
  const flat: unknown[] = dtype === "bool" ? Array.from(data as Uint8Array, Boolean) : [...data];
  const level = (axis: number, start: number, size: number): unknown => {
    if (axis === shape.length) return flat[start];
    const inner = size / shape[axis];
    return Array.from({ length: shape[axis] }, (_, i) => level(axis + 1, start + i * inner, inner));
  };
  return level(0, 0, flat.length);
}

/** What a library tensor shows of itself to a comparison. */
export interface Shown {
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly data: ArrayLike<number | bigint>;
}

/** How values are compared. */
export interface Comparison {
  readonly tolerance: Tolerance;
  /** Whether atol grows with the largest expected value (sums) or shrinks with it (element by element). */
  readonly elementwise: boolean;
  readonly zeroSign?: boolean;
}

/** The first difference between a tensor and its expectation, or null. */
export function differenceOf(got: Shown, want: GoldenTensor, how: Comparison): string | null {
  if (got.dtype !== want.dtype) return `dtype: got ${got.dtype}, expected ${want.dtype}`;
  if (`${got.shape}` !== `${want.shape}` || got.shape.length !== want.shape.length) {
    return `shape: got [${got.shape}], expected [${want.shape}]`;
  }
  if (got.data.length !== want.data.length) {
    return `data: got ${got.data.length} elements, expected ${want.data.length}`;
  }
  const { rtol, atol } = how.tolerance;
  const exact = want.dtype !== "float32" && want.dtype !== "float64";
  const slack = exact ? 0 : atol * scaleOf(want, how.elementwise);
  for (let i = 0; i < want.data.length; i++) {
    const [a, e] = [got.data[i], want.data[i]];
    if (exact || typeof e === "bigint" ? a === e : near(Number(a), e, slack, rtol, how.zeroSign)) {
      continue;
    }
    const show = (x: unknown) => Object.is(x, -0) ? "-0" : String(x);
    const allowed = exact
      ? ""
      : ` (allowed ${(slack + rtol * Math.abs(Number(e))).toExponential(1)})`;
    return `at ${positionOf(i, want.shape)}: got ${show(a)}, expected ${show(e)}${allowed}`;
  }
  return null;
}

/** Element by element: at most 1, at least 1e-3. Sums: the largest expected value, at least 1. */
function scaleOf({ data }: GoldenTensor, elementwise: boolean): number {
  let largest = 0;
  for (const x of data) {
    if (Number.isFinite(Number(x))) largest = Math.max(largest, Math.abs(Number(x)));
  }
  return elementwise ? Math.min(1, Math.max(largest, 1e-3)) : Math.max(1, largest);
}

function near(a: number, e: number, slack: number, rtol: number, zeroSign = false): boolean {
  if (Number.isNaN(e)) return Number.isNaN(a);
  if (!Number.isFinite(e)) return a === e;
  if (zeroSign && e === 0 && a === 0) return Object.is(a, e);
  return Math.abs(a - e) <= slack + rtol * Math.abs(e);
}

function positionOf(flat: number, shape: readonly number[]): string {
  const index: number[] = [];
  let rest = flat;
  for (const size of shape.toReversed()) {
    index.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return `[${index.join(", ")}]`;
}
