// Tensors as text, aligned and summarised like NumPy's, and as HTML tables for notebooks.
import { DTYPES } from "./dtype.ts";
import { showShape } from "./shape.ts";
import type { Tensor } from "./tensor.ts";
import { type NestedArray, runtime } from "./tensor_base.ts";

/** More elements than this are summarised: three at each end of every axis. */
const THRESHOLD = 1000;
const EDGE = 3;
const LINE = 75;

/** How to print the numbers of one tensor so that they align. */
type Printer = (x: NestedArray) => string;

function* leaves(x: NestedArray): Generator<NestedArray> {
  if (Array.isArray(x)) { for (const y of x) yield* leaves(y); }
  else yield x;
}

/** Digits after the point that show `x` with at most `max`, without trailing zeros. */
function decimals(x: number, max: number): number {
  const text = x.toFixed(max).replace(/0+$/, "");
  return text.length - text.indexOf(".") - 1;
}

function special(x: number): string {
  return Number.isNaN(x) ? "nan" : x < 0 ? "-inf" : "inf";
}

function floatPrinter(values: readonly number[], precision: number): Printer {
  const finite = values.filter(Number.isFinite);
  const magnitudes = finite.filter((x) => x !== 0).map(Math.abs);
  const largest = Math.max(0, ...magnitudes);
  const smallest = Math.min(Infinity, ...magnitudes);
  const scientific = largest >= 1e8 || smallest < 1e-4 ||
    largest / smallest > 1000 && smallest < 1e-3;
  const one = (x: number): string => {
    if (!Number.isFinite(x)) return special(x);
    const minus = Object.is(x, -0) ? "-" : "";
    if (scientific) {
      const [mantissa, exponent] = x.toExponential(digits).split("e");
      const sign = exponent[0] === "-" ? "-" : "+";
      return `${minus}${mantissa}e${sign}${exponent.replace(/^[+-]/, "").padStart(2, "0")}`;
    }
    return `${minus}${x.toFixed(digits)}${digits === 0 ? "." : ""}`;
  };
  const digits = scientific
    ? Math.max(
      1,
      ...finite.map((x) => {
        const mantissa = x.toExponential(precision).split("e")[0].replace(/0+$/, "");
        return mantissa.length - mantissa.indexOf(".") - 1;
      }),
    )
    : Math.max(0, ...finite.map((x) => decimals(x, precision)));
  const width = Math.max(0, ...values.map((x) => one(x).length));
  return (x) => one(x as number).padStart(width);
}

function printerFor(x: Tensor, shown: NestedArray): Printer {
  const values = [...leaves(shown)];
  const { kind } = DTYPES[x.dtype];
  if (kind === "float" || kind === "complex") {
    return floatPrinter(
      values as number[],
      x.dtype === "float16" || x.dtype === "bfloat16" ? 4 : 8,
    );
  }
  const texts = values.map(String);
  const width = Math.max(0, ...texts.map((t) => t.length));
  return (v) => String(v).padStart(width);
}

/** Marks where elements were left out. */
const GAP = Symbol("gap");
type Part = NestedArray | typeof GAP;

function ends(list: readonly NestedArray[], summarise: boolean): Part[] {
  if (!summarise || list.length <= 2 * EDGE) return [...list];
  return [...list.slice(0, EDGE), GAP, ...list.slice(-EDGE)];
}

function trim(x: NestedArray, summarise: boolean): NestedArray {
  if (!Array.isArray(x)) return x;
  return ends(x, summarise).filter((p) => p !== GAP).map((p) => trim(p as NestedArray, summarise));
}

function body(
  x: NestedArray,
  rank: number,
  print: Printer,
  summarise: boolean,
  indent: number,
): string {
  if (!Array.isArray(x)) return print(x);
  const parts = ends(x, summarise);
  const pad = " ".repeat(indent + 1);
  if (rank > 1) {
    const gap = `,${"\n".repeat(rank - 1)}${pad}`;
    return `[${
      parts.map((
        p,
      ) => (p === GAP ? "..." : body(p as NestedArray, rank - 1, print, summarise, indent + 1)))
        .join(gap)
    }]`;
  }
  const lines: string[] = [];
  let line = "";
  parts.forEach((p, i) => {
    const text = (p === GAP ? "..." : print(p as NestedArray)) + (i < parts.length - 1 ? "," : "");
    if (line !== "" && indent + 1 + line.length + 1 + text.length > LINE) {
      lines.push(line);
      line = text;
    } else line = line === "" ? text : `${line} ${text}`;
  });
  lines.push(line);
  return `[${lines.join(`\n${pad}`)}]`;
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
  const summarise = x.numel > THRESHOLD;
  const nested = runtime.toNested(x, x.dataSync());
  const rank = x.rank + (DTYPES[x.dtype].lanes === 2 ? 1 : 0);
  const prefix = "Tensor(";
  if (x.numel === 0) return `Tensor([], ${describe(x)})`;
  const print = printerFor(x, trim(nested, summarise));
  const text = body(nested, rank, print, summarise, prefix.length);
  return `${prefix}${text},\n       ${describe(x)})`;
}

/** An HTML table of a tensor, for notebooks; higher ranks show their last two axes of the first block. */
export function formatHtml(x: Tensor): string {
  const escape = (s: string) => s.replace(/&/g, "&amp;").replace(/</g, "&lt;");
  if (
    x.rank !== 2 || x.numel === 0 || x.numel > THRESHOLD ||
    x.impl.storage?.backend.readSync === undefined
  ) {
    return `<pre>${escape(formatTensor(x))}</pre>`;
  }
  const nested = runtime.toNested(x, x.dataSync()) as NestedArray[][];
  const print = printerFor(x, nested);
  const rows = nested.map((r) =>
    `<tr>${
      r.map((v) => `<td style="text-align:right">${escape(print(v).trim())}</td>`).join("")
    }</tr>`
  );
  return `<table>${rows.join("")}</table><small>${escape(describe(x))}</small>`;
}
