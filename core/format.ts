// Tensors as text: brackets, lines and summaries like NumPy's, and HTML tables for notebooks. Only the
// elements that are shown are read. How a number looks is format_number.ts.
import { toNumbers } from "./convert.ts";
import { type DataArray, DTYPES } from "./dtype.ts";
import { textsOf } from "./format_number.ts";
import { showShape } from "./shape.ts";
import type { Tensor } from "./tensor.ts";

/** More elements than this are summarised: three at each end of every axis. */
const THRESHOLD = 1000;
const EDGE = 3;
const LINE = 75;
const PREFIX = "Tensor(";

/** The texts of what is shown, row-major. */
interface Shown {
  readonly texts: readonly string[];
  /** How many are shown along each axis. */
  readonly sizes: readonly number[];
  /** Along which axes some are left out, in the middle. */
  readonly cut: readonly boolean[];
}

/** Positions in the storage, in elements, of what is shown. */
function positions(x: Tensor, sizes: readonly number[], cut: readonly boolean[]): number[] {
  let out = [x.impl.offset];
  sizes.forEach((n, axis) => {
    const stride = x.impl.strides[axis];
    const left = cut[axis] ? x.shape[axis] - 2 * EDGE : 0;
    const steps = Array.from({ length: n }, (_, i) => (i < EDGE ? i : i + left) * stride);
    out = out.flatMap((from) => steps.map((step) => from + step));
  });
  return out;
}

/** Reads one by one, whatever the strides, and so without a buffer more. */
function read(x: Tensor, at: readonly number[]): DataArray {
  const { backend, buffer } = x.storageOrThrow();
  const { bytes, array } = DTYPES[x.dtype];
  const out = new Uint8Array(at.length * bytes);
  at.forEach((p, i) => out.set(backend.readSync!(buffer, p * bytes, bytes), i * bytes));
  const data = new array(out.buffer) as DataArray;
  return x.dtype === "int64" ? data : toNumbers(data, x.dtype);
}

function shownOf(x: Tensor): Shown {
  const summary = x.numel > THRESHOLD;
  const cut = x.shape.map((n) => summary && n > 2 * EDGE);
  const sizes = x.shape.map((n, axis) => (cut[axis] ? 2 * EDGE : n));
  const values = read(x, positions(x, sizes, cut));
  return { texts: textsOf(values, x.dtype, x.rank === 0), sizes, cut };
}

/** Words on lines of a limited width, each begun by an indent. */
function wrapped(words: readonly string[], indent: number, width: number): string {
  const lines: string[] = [];
  let line = "";
  words.forEach((word, i) => {
    const next = line === "" ? word : `${line} ${word}`;
    // The comma after a word needs room, after the last one the bracket does.
    const room = width - indent - 1;
    const full = i < words.length - 1 ? next.length - 1 : next.length;
    if (line !== "" && full > room) {
      lines.push(line);
      line = word;
    } else line = next;
  });
  lines.push(line);
  return lines.join(`\n${" ".repeat(indent)}`);
}

function brackets(shown: Shown): string {
  const { texts, sizes, cut } = shown;
  const rank = sizes.length;
  let next = 0;
  const block = (axis: number): string => {
    if (axis === rank) return texts[next++];
    const parts: string[] = [];
    for (let i = 0; i < sizes[axis]; i++) {
      if (cut[axis] && i === EDGE) parts.push("...");
      parts.push(block(axis + 1));
    }
    const indent = PREFIX.length + axis + 1;
    if (axis === rank - 1) {
      const words = parts.map((p, i) => (i < parts.length - 1 ? `${p},` : p));
      // After the row come the brackets of the outer axes, and a comma.
      return `[${wrapped(words, indent, LINE - 1 - axis)}]`;
    }
    return `[${parts.join(`,${"\n".repeat(rank - 1 - axis)}${" ".repeat(indent)}`)}]`;
  };
  return block(0);
}

function describe(x: Tensor): string {
  const grad = x.requiresGrad ? ", requiresGrad: true" : "";
  return `shape: ${showShape(x.shape)}, dtype: ${x.dtype}, place: ${x.place}${grad}`;
}

/** Text of a tensor: its values if they can be read at once, else what it is. */
export function formatTensor(x: Tensor): string {
  if (x.impl.traced !== null) return `Tensor(traced, ${describe(x)})`;
  if (x.impl.disposed || x.impl.storage?.isFreed) return `Tensor(disposed, ${describe(x)})`;
  if (x.impl.storage?.backend.readSync === undefined) {
    return `Tensor(values on ${x.place}: await data() to read, ${describe(x)})`;
  }
  if (x.numel === 0) return `Tensor([], ${describe(x)})`;
  const text = brackets(shownOf(x));
  return `${PREFIX}${text},\n${" ".repeat(PREFIX.length)}${describe(x)})`;
}

/** An HTML table of a matrix that is not too large, for notebooks; the text of other tensors. */
export function formatHtml(x: Tensor): string {
  const escape = (s: string) => s.replace(/&/g, "&amp;").replace(/</g, "&lt;");
  if (
    x.rank !== 2 || x.numel === 0 || x.numel > THRESHOLD || x.impl.traced !== null ||
    x.impl.disposed || x.impl.storage?.isFreed || x.impl.storage?.backend.readSync === undefined
  ) {
    return `<pre>${escape(formatTensor(x))}</pre>`;
  }
  const { texts, sizes: [rows, columns] } = shownOf(x);
  const cell = (text: string) => `<td style="text-align:right">${escape(text.trim())}</td>`;
  const row = (i: number) => texts.slice(i * columns, (i + 1) * columns).map(cell).join("");
  const body = Array.from({ length: rows }, (_, i) => `<tr>${row(i)}</tr>`).join("");
  return `<table>${body}</table><small>${escape(describe(x))}</small>`;
}
