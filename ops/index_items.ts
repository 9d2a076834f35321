// What the items of `x.at(…)` and `x.setAt(…)` mean: text and nested arrays to a list of readings of axes,
// fitted to a shape. Reads no tensor and moves no element; not public.
import { expectList } from "../core/operands.ts";
import { describe } from "../core/describe.ts";
import { IndexError, ShapeError } from "../core/errors.ts";
import { type Shape, showShape } from "../core/shape.ts";
import { Tensor } from "../core/tensor.ts";
import type { IndexItem, IndexList } from "./indexing.ts";

/** One item, understood. */
export type Item =
  | { readonly kind: "integer"; readonly at: number }
  | {
    readonly kind: "slice";
    readonly start: number | null;
    readonly end: number | null;
    readonly step: number;
  }
  | { readonly kind: "new" }
  | { readonly kind: "rest" }
  /** Positions: an integer tensor, or a nested array. */
  | { readonly kind: "index"; readonly index: Tensor | IndexList }
  | { readonly kind: "mask"; readonly mask: Tensor };

const WHOLE = /^[+-]?\d+$/;

function wholeNumber(text: string, item: string): number {
  if (!WHOLE.test(text)) {
    throw new IndexError(
      `Cannot index with "${item}": write integers, "start:end:step", "..." or "null", separated by ` +
        "commas",
    );
  }
  return Number(text);
}

function parseText(text: string): Item {
  if (text === "...") return { kind: "rest" };
  if (text === "null") return { kind: "new" };
  const parts = text.split(":").map((p) => p.trim());
  if (parts.length === 1) return { kind: "integer", at: wholeNumber(text, text) };
  if (parts.length > 3) wholeNumber(text, text);
  const [start, end, step] = parts.map((p) => (p === "" ? null : wholeNumber(p, text)));
  return { kind: "slice", start, end: end ?? null, step: step ?? 1 };
}

function parseItem(item: IndexItem): Item[] {
  if (item === null) return [{ kind: "new" }];
  if (typeof item === "number") return [{ kind: "integer", at: checkWhole(item) }];
  if (typeof item === "string") return item.split(",").map((part) => parseText(part.trim()));
  if (Array.isArray(item)) return [{ kind: "index", index: item as IndexList }];
  const tensor = item as Tensor;
  if (!(tensor instanceof Tensor)) {
    throw new IndexError(
      `Cannot index with ${
        describe(item)
      }: an item is a whole number, a string such as "1:3", null, ` +
        "an array of whole numbers, or a tensor",
    );
  }
  return [
    tensor.dtype === "bool" ? { kind: "mask", mask: tensor } : { kind: "index", index: tensor },
  ];
}

function checkWhole(at: number): number {
  if (!Number.isInteger(at)) {
    throw new IndexError(`Cannot index with ${at}: an index must be a whole number`);
  }
  return at;
}

/** How many axes an item reads. */
function axesRead(item: Item): number {
  switch (item.kind) {
    case "new":
    case "rest":
      return 0;
    case "mask":
      return item.mask.rank;
    default:
      return 1;
  }
}

const ALL: Item = { kind: "slice", start: null, end: null, step: 1 };

/** The items for a shape: every axis is read by one of them, and "..." has become slices. */
export interface Fitted {
  readonly items: readonly Item[];
  /** For each item the first axis that it reads. */
  readonly axes: readonly number[];
  /**
   * Whether the indexes stand apart (something else between them): then their axes come first in the
   * result, else in their place (NumPy).
   */
  readonly apart: boolean;
}

/** Understands items and fits them to a shape. */
export function fitItems(shape: Shape, given: readonly IndexItem[]): Fitted {
  const parsed = expectList("index", "the items", given).flatMap(parseItem);
  if (parsed.filter((i) => i.kind === "rest").length > 1) {
    throw new IndexError('Cannot index with "..." twice: only one item can stand for the rest');
  }
  const apart = standApart(parsed);
  const read = parsed.reduce((n, i) => n + axesRead(i), 0);
  if (read > shape.length) {
    throw new IndexError(
      `Cannot index ${showShape(shape)} with items for ${read} axes: it has ${shape.length}`,
    );
  }
  const rest = new Array<Item>(shape.length - read).fill(ALL);
  const items = parsed.some((i) => i.kind === "rest")
    ? parsed.flatMap((i) => (i.kind === "rest" ? rest : [i]))
    : [...parsed, ...rest];
  let axis = 0;
  const axes = items.map((item) => {
    const first = axis;
    axis += axesRead(item);
    return first;
  });
  items.forEach((item, i) => checkItem(shape, item, axes[i]));
  return { items, axes, apart };
}

function standApart(parsed: readonly Item[]): boolean {
  const indexing = (i: Item): boolean =>
    i.kind === "index" || i.kind === "mask" || i.kind === "integer";
  const first = parsed.findIndex(indexing);
  const last = parsed.findLastIndex(indexing);
  if (!parsed.some((i) => i.kind === "index" || i.kind === "mask")) return false;
  return parsed.slice(first, last).some((i) => !indexing(i));
}

function checkItem(shape: Shape, item: Item, axis: number): void {
  if (item.kind === "integer") {
    const n = shape[axis];
    if (item.at < -n || item.at >= n) {
      throw new IndexError(
        `Cannot index axis ${axis} of ${showShape(shape)} at ${item.at}: ` +
          (n === 0 ? "it has no elements" : `indexes must lie in ${-n} to ${n - 1}`),
      );
    }
  }
  if (item.kind === "mask") {
    const { mask } = item;
    if (mask.shape.some((n, d) => n !== shape[axis + d])) {
      throw new ShapeError(
        `Cannot index ${showShape(shape)} with a mask of shape ${showShape(mask.shape)} at axis ` +
          `${axis}: the mask must have the size of every axis that it reads`,
      );
    }
  }
}
