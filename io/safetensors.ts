// The safetensors format: bytes to tensors and back, with every rule of the format checked. Files are in
// files.ts. Format: an unsigned 64-bit length, that many bytes of JSON, then the elements.
// Source: https://huggingface.co/docs/safetensors
import { expectOptions } from "../core/operands.ts";
import { type DataArray, type DType, DTYPES } from "../core/dtype.ts";
import { makeContiguous } from "../core/engine/copy.ts";
import { describe } from "../core/describe.ts";
import { DTypeError, FormatError, ValueError } from "../core/errors.ts";
import { engine } from "../core/op.ts";
import type { Place } from "../core/place.ts";
import { showShape } from "../core/shape.ts";
import { Tensor } from "../core/tensor.ts";

/** Longest header that is read, as in the format's own reader: 100 MB. */
const MAX_HEADER = 100_000_000;

/** How a dtype of the format becomes one of ours: storage bytes per element, and a widening where we have no such dtype. */
interface FileType {
  readonly bytes: number;
  readonly dtype: DType;
  readonly widen?: (bytes: Uint8Array<ArrayBuffer>, name: string) => DataArray;
}

/** A float8 as a number. Source: Micikevicius et al., "FP8 Formats for Deep Learning", 2022. */
function float8(
  bits: number,
  exponentBits: number,
  mantissaBits: number,
  infinities: boolean,
): number {
  const sign = bits & 0x80 ? -1 : 1;
  const exponent = (bits >> mantissaBits) & ((1 << exponentBits) - 1);
  const mantissa = bits & ((1 << mantissaBits) - 1);
  const top = (1 << exponentBits) - 1;
  const bias = (1 << (exponentBits - 1)) - 1;
  if (infinities && exponent === top) return mantissa === 0 ? sign * Infinity : NaN;
  if (!infinities && exponent === top && mantissa === (1 << mantissaBits) - 1) return NaN;
  const fraction = mantissa / (1 << mantissaBits);
  return exponent === 0
    ? sign * fraction * 2 ** (1 - bias)
    : sign * (1 + fraction) * 2 ** (exponent - bias);
}

const each = (to: (x: number) => number) => (bytes: Uint8Array<ArrayBuffer>): DataArray =>
  Float32Array.from(bytes, to);

const FILE_TYPES: Readonly<Record<string, FileType>> = {
  BOOL: { bytes: 1, dtype: "bool" },
  U8: { bytes: 1, dtype: "uint8" },
  I8: { bytes: 1, dtype: "int8" },
  I16: { bytes: 2, dtype: "int16" },
  I32: { bytes: 4, dtype: "int32" },
  I64: { bytes: 8, dtype: "int64" },
  F16: { bytes: 2, dtype: "float16" },
  BF16: { bytes: 2, dtype: "bfloat16" },
  F32: { bytes: 4, dtype: "float32" },
  F64: { bytes: 8, dtype: "float64" },
  C64: { bytes: 8, dtype: "complex64" },
  U16: { bytes: 2, dtype: "int32", widen: (b) => Int32Array.from(new Uint16Array(b.buffer)) },
  U32: {
    bytes: 4,
    dtype: "int64",
    widen: (b) => BigInt64Array.from(new Uint32Array(b.buffer), BigInt),
  },
  U64: {
    bytes: 8,
    dtype: "int64",
    widen: (b, name) => {
      const out = new BigInt64Array(b.buffer);
      if (out.some((v) => v < 0n)) {
        throw new FormatError(
          `Cannot read tensor "${name}" of dtype U64: it has values above 2^63 - 1, which int64 cannot hold`,
        );
      }
      return out;
    },
  },
  F8_E5M2: { bytes: 1, dtype: "float32", widen: each((x) => float8(x, 5, 2, true)) },
  F8_E4M3: { bytes: 1, dtype: "float32", widen: each((x) => float8(x, 4, 3, false)) },
};

const NAMES: Readonly<Partial<Record<DType, string>>> = {
  bool: "BOOL",
  uint8: "U8",
  int8: "I8",
  int16: "I16",
  int32: "I32",
  int64: "I64",
  float16: "F16",
  bfloat16: "BF16",
  float32: "F32",
  float64: "F64",
  complex64: "C64",
};

/** What a file holds beside its tensors. */
export type Metadata = Readonly<Record<string, string>>;

/** The contents of a safetensors file. */
export interface SafeTensors {
  readonly tensors: Record<string, Tensor>;
  readonly metadata: Metadata;
}

/** One tensor's entry in the header. */
interface Entry {
  readonly name: string;
  readonly type: FileType;
  readonly shape: readonly number[];
  readonly begin: number;
  readonly end: number;
}

function record(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function readEntry(name: string, value: unknown, available: number): Entry {
  const refuse = (why: string) =>
    new FormatError(`Cannot read tensor "${name}" of a safetensors file: ${why}`);
  if (!record(value)) throw refuse("its entry is not an object");
  for (const key of Object.keys(value)) {
    if (key !== "dtype" && key !== "shape" && key !== "data_offsets") {
      throw refuse(`its entry has an unknown key "${key}"`);
    }
  }
  const { dtype, shape, data_offsets: offsets } = value;
  if (typeof dtype !== "string" || !Object.hasOwn(FILE_TYPES, dtype)) {
    throw refuse(`dtype ${JSON.stringify(dtype)} is none of ${Object.keys(FILE_TYPES).join(", ")}`);
  }
  const whole = (x: unknown): x is number =>
    typeof x === "number" && Number.isSafeInteger(x) && x >= 0;
  if (!Array.isArray(shape) || !shape.every(whole)) {
    throw refuse("its shape is not a list of whole numbers of at least 0");
  }
  if (
    !Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(whole) ||
    offsets[0] > offsets[1]
  ) {
    throw refuse("its data_offsets are not two rising whole numbers");
  }
  const type = FILE_TYPES[dtype];
  const bytes = (shape as number[]).reduce((a, b) => a * b, type.bytes);
  // As if no axis were empty: sizes that cannot be counted stand for no tensor.
  const countable = (shape as number[]).reduce((a, b) => a * Math.max(b, 1), type.bytes);
  const [begin, end] = offsets as [number, number];
  if (!Number.isSafeInteger(countable)) {
    throw refuse(`its shape ${showShape(shape as number[])} has more elements than can be counted`);
  }
  if (end - begin !== bytes) {
    throw refuse(
      `${dtype} ${showShape(shape as number[])} takes ${bytes} bytes: its data_offsets give ${
        end - begin
      }`,
    );
  }
  if (end > available) {
    throw refuse(
      `its data end at byte ${end}, but only ${available} bytes of data are there (truncated?)`,
    );
  }
  return { name, type, shape: shape as number[], begin, end };
}

/** A key that an object of the (valid) JSON text has twice, or null. */
function repeatedKey(text: string): string | null {
  const objects: Set<string>[] = [];
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (c === "{") objects.push(new Set());
    else if (c === "}") objects.pop();
    if (c !== '"') continue;
    const begin = i++;
    while (text[i] !== '"') i += text[i] === "\\" ? 2 : 1;
    let next = i + 1;
    while (" \t\n\r".includes(text[next])) next++;
    if (text[next] !== ":") continue;
    const key: string = JSON.parse(text.slice(begin, i + 1));
    const keys = objects[objects.length - 1];
    if (keys.has(key)) return key;
    keys.add(key);
  }
  return null;
}

/** Reads and checks the header. */
function readHeader(bytes: Uint8Array): { entries: Entry[]; metadata: Metadata; data: number } {
  if (!(bytes instanceof Uint8Array)) {
    const what = describe(bytes as unknown);
    throw new ValueError(`Cannot decodeSafetensors: it takes a Uint8Array: got ${what}`);
  }
  const refuse = (why: string) =>
    new FormatError(`Cannot read a safetensors file of ${bytes.length} bytes: ${why}`);
  if (bytes.length < 8) throw refuse("it is shorter than the 8 bytes of its header's length");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = view.getBigUint64(0, true);
  if (length > BigInt(MAX_HEADER)) {
    throw refuse(
      `its header claims ${length} bytes, more than the ${MAX_HEADER} that are allowed; is it one?`,
    );
  }
  const data = 8 + Number(length);
  if (data > bytes.length) {
    throw refuse(`its header claims ${length} bytes, more than the file has (truncated?)`);
  }
  let header: unknown;
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
      .decode(bytes.slice(8, data));
    if (!text.startsWith("{")) throw new SyntaxError("it does not begin with {");
    header = JSON.parse(text);
    const twice = repeatedKey(text);
    if (twice !== null) throw new SyntaxError(`it has two entries ${JSON.stringify(twice)}`);
  } catch (e) {
    throw refuse(`its header is not JSON in UTF-8: ${(e as Error).message}`);
  }
  if (!record(header)) throw refuse("its header is not an object");
  const metadata: [string, string][] = [];
  const entries: Entry[] = [];
  for (const [name, value] of Object.entries(header)) {
    if (name !== "__metadata__") {
      entries.push(readEntry(name, value, bytes.length - data));
      continue;
    }
    if (!record(value)) throw refuse("its __metadata__ is not an object");
    for (const [key, text] of Object.entries(value)) {
      if (typeof text !== "string") throw refuse(`its metadata "${key}" is not a text`);
      metadata.push([key, text]);
    }
  }
  const sorted = [...entries].sort((a, b) => a.begin - b.begin || a.end - b.end);
  let at = 0;
  for (const e of sorted) {
    if (e.begin !== at) {
      throw refuse(
        `tensor "${e.name}" begins at byte ${e.begin} of the data, but the one before it ends at ${at}`,
      );
    }
    at = e.end;
  }
  if (at !== bytes.length - data) {
    throw refuse(`it has ${bytes.length - data - at} bytes after the last tensor`);
  }
  return { entries, metadata: Object.fromEntries(metadata), data };
}

/**
 * Tensors from the bytes of a safetensors file.
 *
 * All dtypes of the format are read: U16 becomes int32, U32 and U64 int64, the two float8 forms float32.
 *
 * @param bytes The whole file.
 * @param options `place`: where the tensors are made.
 * @returns The tensors by name, and the metadata.
 * @throws {FormatError} if anything in the file breaks the format's rules, naming what.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { io, tensor } from "../mod.ts";
 *
 * const bytes = await io.encodeSafetensors({ w: tensor([1, 2]) }, { metadata: { from: "docs" } });
 * const { tensors, metadata } = io.decodeSafetensors(bytes);
 * assertEquals([await tensors.w.toArray(), metadata], [[1, 2], { from: "docs" }]);
 * ```
 */
export function decodeSafetensors(
  bytes: Uint8Array,
  options: { readonly place?: Place } = {},
): SafeTensors {
  const { entries, metadata, data } = readHeader(bytes);
  const made = entries.map((e): [string, Tensor] => {
    // A copy, so that the elements are aligned whatever the header's length.
    const own = new Uint8Array(e.end - e.begin);
    own.set(bytes.subarray(data + e.begin, data + e.end));
    const Store = DTYPES[e.type.dtype].array;
    const elements = e.type.widen === undefined
      ? new Store(own.buffer) as DataArray
      : e.type.widen(own, e.name);
    if (e.type.dtype === "bool" && own.some((b) => b > 1)) {
      throw new FormatError(
        `Cannot read tensor "${e.name}" of a safetensors file: a BOOL byte is neither 0 nor 1`,
      );
    }
    return [e.name, engine.fromData(elements, e.shape, e.type.dtype, options.place)];
  });
  return { tensors: Object.fromEntries(made), metadata };
}

/** Elements of a dense tensor in storage form. */
async function storedBytes(x: Tensor): Promise<Uint8Array<ArrayBuffer>> {
  const dense = makeContiguous(x);
  const storage = dense.storageOrThrow();
  const size = DTYPES[x.dtype].bytes;
  return await storage.backend.read(storage.buffer, dense.impl.offset * size, dense.numel * size);
}

function checkMetadata(metadata: Metadata): Metadata {
  for (const [key, text] of Object.entries(metadata)) {
    if (typeof text !== "string") {
      throw new FormatError(
        `Cannot save metadata "${key}": the format keeps texts alone: got ${typeof text}; write String(…) or JSON`,
      );
    }
  }
  return metadata;
}

/**
 * The bytes of a safetensors file that holds the tensors, in the order of their names.
 *
 * @param tensors Tensors by name, of any dtype but complex128, which the format does not have.
 * @param options `metadata`: texts by name.
 * @throws {ValueError} if a value is no tensor.
 * @throws {DTypeError} if a tensor has a dtype that the format lacks.
 * @throws {FormatError} if a tensor is called `__metadata__`, or metadata are not texts.
 */
export async function encodeSafetensors(
  tensors: Readonly<Record<string, Tensor>>,
  options: { readonly metadata?: Metadata } = {},
): Promise<Uint8Array<ArrayBuffer>> {
  expectOptions("encodeSafetensors", options);
  // An array, a map or a promise has no tensors as fields: it would make an empty file.
  const given: unknown = tensors;
  const isRecord = typeof given === "object" && given !== null &&
    !(Symbol.iterator in given) && !(given instanceof Promise);
  if (!isRecord) {
    const what = describe(given);
    throw new ValueError(
      `Cannot encodeSafetensors: it takes an object of tensors by name: got ${what}`,
    );
  }
  const header: [string, unknown][] = [];
  if (options.metadata !== undefined) {
    header.push(["__metadata__", checkMetadata(options.metadata)]);
  }
  for (const [name, x] of Object.entries<unknown>(tensors)) {
    if (x instanceof Tensor) continue;
    throw new ValueError(
      `Cannot save "${name}": it must be a tensor: got ${
        describe(x)
      }; of a model save model.stateDict()`,
    );
  }
  // Wide elements first, as the format's own writer does, so that all are aligned.
  const names = Object.keys(tensors).sort((a, b) =>
    DTYPES[tensors[b].dtype].bytes - DTYPES[tensors[a].dtype].bytes || (a < b ? -1 : a > b ? 1 : 0)
  );
  let at = 0;
  for (const name of names) {
    const x = tensors[name];
    const dtype = NAMES[x.dtype];
    if (name === "__metadata__") {
      throw new FormatError(
        'Cannot save a tensor called "__metadata__": the format keeps that name for itself',
      );
    }
    if (dtype === undefined) {
      throw new DTypeError(
        `Cannot save tensor "${name}" of dtype ${x.dtype}: safetensors has no such dtype; cast it first`,
      );
    }
    const bytes = x.numel * DTYPES[x.dtype].bytes;
    header.push([name, { dtype, shape: x.shape, data_offsets: [at, at + bytes] }]);
    at += bytes;
  }
  const text = new TextEncoder().encode(JSON.stringify(Object.fromEntries(header)));
  const padded = Math.ceil(text.length / 8) * 8;
  const out = new Uint8Array(8 + padded + at);
  new DataView(out.buffer).setBigUint64(0, BigInt(padded), true);
  out.fill(0x20, 8, 8 + padded);
  out.set(text, 8);
  let to = 8 + padded;
  for (const name of names) {
    const bytes = await storedBytes(tensors[name]);
    out.set(bytes, to);
    to += bytes.length;
  }
  return out;
}
