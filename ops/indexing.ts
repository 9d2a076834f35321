// Indexing by items: x.at("1:, ..., ::-1"), x.setAt([0, ":"], value). Basic items become views, index
// tensors one read or write at positions. What items mean is in index_items.ts.
import { needsGrad } from "../core/autograd.ts";
import { allOps, elementwise, engine, type Op, type Operand } from "../core/op.ts";
import { DTypeError, ShapeError } from "../core/errors.ts";
import * as k from "../core/ir/expr.ts";
import { expectTensors } from "../core/operands.ts";
import { showShape, sizeOf } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { checkIndexRange, checkNumber, refuseComplex, valuesFor } from "./common.ts";
import { coordinatesOf, truePositions } from "./host_arrays.ts";
import { fitItems, type Fitted, type Item } from "./index_items.ts";
import { COPY, type Region, regionNumbers, sliceOf, within } from "./placing.ts";
import { alignIndexes, PUT_AT, putAt, readAt, readShape } from "./positions.ts";
import { sliceRange } from "./ranges.ts";

/** Positions along an axis as nested arrays of integers, or of booleans that name them. */
export type IndexList = readonly (number | boolean | IndexList)[];

/** An item that reads axes whatever the data are. */
export type BasicItem = number | string | null | IndexList;

/** One item of `x.at(…)`: a tensor may hold positions (integers) or a mask (bool). */
export type IndexItem = BasicItem | Tensor;

// --- from items to a view and positions --------------------------------------------------------------

/** The basic part of an index: a slice of every axis, then axes dropped and added. */
interface Basic extends Region {
  readonly sizes: readonly number[];
  /** Axes of the operand that integers drop. */
  readonly dropped: readonly number[];
  /** New axes, as axes of the result. */
  readonly added: readonly number[];
}

/** An index understood: a view, then positions on some axes of the view. */
interface Understood {
  readonly basic: Basic;
  readonly index: readonly Tensor[];
  readonly axes: readonly number[];
  readonly at: number;
}

function understand(x: Tensor, fitted: Fitted, masks: ReadonlyMap<Tensor, Tensor[]>): Understood {
  const starts: number[] = [];
  const steps: number[] = [];
  const sizes: number[] = [];
  const dropped: number[] = [];
  const added: number[] = [];
  const index: Tensor[] = [];
  const axes: number[] = [];
  let rank = 0;
  let at = -1;
  const whole = (axis: number): void => {
    starts.push(0);
    steps.push(1);
    sizes.push(x.shape[axis]);
  };
  const mark = (): void => {
    if (at < 0) at = rank - axes.length;
  };
  fitted.items.forEach((item, i) => {
    const axis = fitted.axes[i];
    switch (item.kind) {
      case "new":
        added.push(rank++);
        return;
      case "integer":
        mark();
        starts.push(item.at < 0 ? item.at + x.shape[axis] : item.at);
        steps.push(1);
        sizes.push(1);
        dropped.push(axis);
        return;
      case "slice": {
        const range = sliceRange(x.shape[axis], item.start, item.end, item.step);
        starts.push(range.start);
        steps.push(item.step);
        sizes.push(range.size);
        rank++;
        return;
      }
      case "index":
      case "mask": {
        mark();
        indexesOf(x, item, axis, masks).forEach((t, j) => {
          whole(axis + j);
          index.push(t);
          axes.push(rank++);
        });
        return;
      }
    }
  });
  const basic = { axes: x.shape.map((_, d) => d), starts, steps, sizes, dropped, added };
  return { basic, index, axes, at: fitted.apart ? 0 : Math.max(at, 0) };
}

function indexesOf(
  x: Tensor,
  item: Extract<Item, { kind: "index" | "mask" }>,
  axis: number,
  masks: ReadonlyMap<Tensor, Tensor[]>,
): Tensor[] {
  if (item.kind === "mask") return masks.get(item.mask)!;
  const index = Array.isArray(item.index) ? listIndex(x, item.index, axis) : item.index as Tensor;
  checkIndexRange(`index axis ${axis} of ${showShape(x.shape)}`, index, x.shape[axis]);
  return [index];
}

/** A nested array of positions as a tensor; booleans, one for each element of the axis, name positions. */
function listIndex(x: Tensor, list: IndexList, axis: number): Tensor {
  let deepest: IndexList | number | boolean = list;
  while (Array.isArray(deepest) && deepest.length > 0) deepest = deepest[0];
  if (typeof deepest !== "boolean") {
    return op.tensor(list as number[], { dtype: "int32", place: x.place });
  }
  if (list.length !== x.shape[axis] || list.some((v) => typeof v !== "boolean")) {
    throw new ShapeError(
      `Cannot index axis ${axis} of ${
        showShape(x.shape)
      } with ${list.length} booleans: there must ` +
        `be ${x.shape[axis]} of them in one list; make a bool tensor for a mask over several axes`,
    );
  }
  const positions = truePositions(list.map(Number));
  return engine.fromData(positions, [positions.length], "int32", x.place);
}

/** Positions for every axis of a mask. */
function positionsOf(mask: Tensor, data: ArrayLike<number | bigint>): Tensor[] {
  const found = truePositions(data);
  return mask.shape.map((_, axis) =>
    engine.fromData(coordinatesOf(found, mask.shape, axis), [found.length], "int32", mask.place)
  );
}

/** The view that basic items name. */
function viewOf(x: Tensor, basic: Basic): Tensor {
  const { axes, starts, steps, sizes, dropped, added } = basic;
  let y = x;
  const cut = axes.filter((d) => starts[d] !== 0 || steps[d] !== 1 || sizes[d] !== x.shape[d]);
  const pick = (list: readonly number[]): number[] => cut.map((d) => list[d]);
  if (cut.length > 0 || (dropped.length === 0 && added.length === 0)) {
    const region = { axes: cut, starts: pick(starts), steps: pick(steps) };
    y = op.slice(x, sliceOf(region, sizes));
  }
  if (dropped.length > 0) y = op.squeeze(y, dropped);
  return added.length > 0 ? op.unsqueeze(y, added) : y;
}

function read(x: Tensor, u: Understood): Tensor {
  const y = viewOf(x, u.basic);
  return u.index.length === 0 ? y : readAt(y, alignIndexes("index", u.index), u.axes, u.at);
}

// --- reading -----------------------------------------------------------------------------------------

const NO_MASKS: ReadonlyMap<Tensor, Tensor[]> = new Map();

/**
 * Reads by items, one an axis: integers, `"start:end:step"`, `"..."` for the axes between, `null` for a
 * new axis, arrays or integer tensors of positions, bool masks. One text may hold several items.
 * Axes of indexes stand in their place if nothing is between them, else in front (NumPy).
 *
 * @param x Any shape.
 * @param items As many as there are axes, or fewer.
 * @returns A view if there are only integers, slices and new axes. With a mask a promise, since the size
 * of the result depends on the data.
 * @throws {IndexError} if a position is out of range, or there are more items than axes.
 * @throws {ShapeError} if indexes do not broadcast, or a mask does not fit.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { at, tensor } from "../mod.ts";
 *
 * const x = tensor([[1, 2, 3], [4, 5, 6]]);
 * assertEquals(await at(x, [1, "::-1"]).toArray(), [6, 5, 4]);
 * assertEquals(await at(x, [":, 1"]).toArray(), [2, 5]);
 * assertEquals(await at(x, [[0, 1], [2, 0]]).toArray(), [3, 4]);
 * assertEquals(await (await at(x, [x.greaterThan(4)])).toArray(), [5, 6]);
 * ```
 */
export function at(x: Tensor, items: readonly BasicItem[]): Tensor;
/** With tensors among the items: a promise if one of them is a mask. */
export function at(x: Tensor, items: readonly IndexItem[]): Tensor | Promise<Tensor>;
export function at(x: Tensor, items: readonly IndexItem[]): Tensor | Promise<Tensor> {
  expectTensors("at", x);
  const fitted = fitItems(x.shape, items);
  const masks = fitted.items.flatMap((i) => (i.kind === "mask" ? [i.mask] : []));
  if (masks.length === 0) return read(x, understand(x, fitted, NO_MASKS));
  return readMasked(x, fitted, masks);
}

async function readMasked(x: Tensor, fitted: Fitted, masks: readonly Tensor[]): Promise<Tensor> {
  const found = new Map<Tensor, Tensor[]>();
  for (const mask of masks) found.set(mask, positionsOf(mask, await mask.data()));
  return read(x, understand(x, fitted, found));
}

// --- writing -----------------------------------------------------------------------------------------

const SET_AT = elementwise({
  name: "setAt",
  dtype: (name, metas) => {
    refuseComplex(name, metas[0].dtype);
    const numbers = metas.slice(2).map(() => "int32" as const);
    return { compute: [metas[0].dtype, metas[0].dtype, ...numbers], out: metas[0].dtype };
  },
  indexed: [1],
  shape: ([x]) => x.shape,
  scalar: (xs, ctx) => {
    const axes = ctx.attrs.axes as readonly number[];
    const steps = ctx.attrs.steps as readonly number[];
    const coords = Array.from({ length: ctx.attrs.rank as number }, (_, d) => ctx.coord(d));
    let inside: k.Expr | null = null;
    axes.forEach((a, i) => {
      const w = within(coords[a], xs.slice(2 + 3 * i, 5 + 3 * i), steps[i]);
      coords[a] = w.at;
      inside = inside === null ? w.inside : k.and(inside, w.inside);
    });
    const value = ctx.at(1, coords);
    return inside === null ? value : k.where(inside, value, xs[0]);
  },
  vjp: ([g], { attrs, shapes, needs }) => {
    const region = attrs as unknown as Region;
    const numbers = 3 * region.axes.length;
    const zero = (): Tensor =>
      op.expand(op.zeros([], { dtype: g.dtype, place: g.place }), shapes[1]);
    return [
      needs[0] ? put(g, zero(), region) : null,
      needs[1] ? op.slice(g, sliceOf(region, shapes[1])) : null,
      ...new Array<null>(numbers).fill(null),
    ];
  },
  saves: "none",
  samples: () => [
    {
      inputs: [{ shape: [4, 3] }, { shape: [2, 3] }, 3, 2, 2],
      attrs: { axes: [0], starts: [3], steps: [-2], rank: 2 },
    },
    {
      inputs: [{ shape: [2, 5] }, { shape: [1, 2] }, 1, 1, 1, 0, 3, 2],
      attrs: { axes: [0, 1], starts: [1, 0], steps: [1, 3], rank: 2 },
    },
  ],
});

function setCall(x: Tensor, value: Tensor, region: Region): [Operand[], Record<string, unknown>] {
  const { axes, starts, steps } = region;
  const operands = [x, value, ...regionNumbers(region, value.shape)];
  return [operands, { axes, starts, steps, rank: x.rank }];
}

/** `x` with `value` at the region. */
function put(x: Tensor, value: Tensor, region: Region): Tensor {
  return engine.call(SET_AT, ...setCall(x, value, region));
}

/**
 * Writes by items, in place: `index` is one item or an array of items (a list of positions is therefore
 * `[[0, 2]]`), as in {@linkcode at}. Gradients flow to the value, and to what is not overwritten.
 *
 * @param x Changed in place.
 * @param index Where.
 * @param value A number, or a tensor that broadcasts to the shape that reading would give. With a mask it
 * may also hold one element (or row) for each place where the mask holds.
 * @returns `x`.
 * @throws {IndexError} if a position is out of range, or there are more items than axes.
 * @throws {ShapeError} if the value does not broadcast, or a mask does not fit.
 * @throws {DTypeError} if `x` cannot hold the value.
 * @throws {GradError} if `x` is a leaf that requires grad, outside of noGrad.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { setAt, tensor } from "../mod.ts";
 *
 * const x = tensor([[1, 2], [3, 4]]);
 * setAt(x, [0, 1], 9);
 * setAt(x, x.lessThan(2), 0);
 * assertEquals(await x.toArray(), [[0, 9], [3, 4]]);
 * ```
 */
export function setAt(x: Tensor, index: IndexItem | readonly IndexItem[], value: Operand): Tensor {
  expectTensors("setAt", x);
  if (typeof value === "object") expectTensors("setAt", value);
  const items = Array.isArray(index) ? index as readonly IndexItem[] : [index as IndexItem];
  const fitted = fitItems(x.shape, items);
  const masks = fitted.items.flatMap((i) => (i.kind === "mask" ? [i.mask] : []));
  if (masks.length > 0) return setMasked(x, fitted, masks, value);
  write(x, understand(x, fitted, NO_MASKS), value);
  return x;
}

function write(x: Tensor, u: Understood, value: Operand): void {
  const { basic, index, axes, at } = u;
  const functional = needsGrad([x, value]) || x.impl.traced !== null;
  if (index.length === 0) {
    const shape = resultShape(basic);
    if (sizeOf(shape) === 0) return;
    if (functional) return setRegion(x, valuesFor("setAt", x, value, shape), basic);
    if (typeof value !== "object") checkNumber("setAt", x.dtype, value);
    const y = viewOf(x, basic);
    const v = typeof value === "object" ? valuesFor("setAt", x, value, shape) : value;
    engine.callInto(COPY, [y, v], {}, [y]);
    return;
  }
  const aligned = alignIndexes("setAt", index);
  const view = isWhole(x, basic) ? x : viewOf(x, basic);
  const shape = readShape(view.shape, aligned[0].shape, { axes, at });
  if (sizeOf(shape) === 0) return;
  const v = valuesFor("setAt", x, value, shape);
  if (view === x || !functional) {
    engine.callInto(PUT_AT, [view, v, ...aligned], { axes, at, how: "assign" }, [view]);
  } else setRegion(x, putAt(view, v, aligned, axes, at, "assign"), basic);
}

function isWhole(x: Tensor, basic: Basic): boolean {
  return basic.dropped.length === 0 && basic.added.length === 0 &&
    x.shape.every((n, d) => basic.sizes[d] === n && basic.steps[d] === 1);
}

/** The shape of the view that basic items name. */
function resultShape(basic: Basic): number[] {
  const kept = basic.sizes.filter((_, d) => !basic.dropped.includes(d));
  for (const d of basic.added) kept.splice(d, 0, 1);
  return kept;
}

/** Writes a value of the view's shape as one op on `x` itself, so that its history stays one line. */
function setRegion(x: Tensor, value: Tensor, basic: Basic): void {
  const cut = basic.axes.filter((d) =>
    basic.starts[d] !== 0 || basic.steps[d] !== 1 || basic.sizes[d] !== x.shape[d]
  );
  const pick = (list: readonly number[]): number[] => cut.map((d) => list[d]);
  const region = { axes: cut, starts: pick(basic.starts), steps: pick(basic.steps) };
  const placed = op.reshape(value, basic.sizes);
  engine.callInto(SET_AT, ...setCall(x, placed, region), [x]);
}

/** One mask (slices around it allowed): where() needs no positions and so no waiting. */
function setMasked(x: Tensor, fitted: Fitted, masks: readonly Tensor[], value: Operand): Tensor {
  const others = fitted.items.some((i) =>
    i.kind === "integer" || i.kind === "new" || i.kind === "index" ||
    (i.kind === "slice" && (i.start !== null || i.end !== null || i.step !== 1))
  );
  if (masks.length > 1 || others) {
    const found = new Map(masks.map((m) => [m, positionsOf(m, seen(m))]));
    write(x, understand(x, fitted, found), value);
    return x;
  }
  const [mask] = masks;
  const axis = fitted.axes[fitted.items.findIndex((i) => i.kind === "mask")];
  const behind = x.rank - axis - mask.rank;
  const wide = op.reshape(mask, [...mask.shape, ...new Array<number>(behind).fill(1)]);
  if (
    typeof value === "object" && value.rank > behind && value.shape[value.rank - behind - 1] !== 1
  ) {
    const found = new Map([[mask, positionsOf(mask, seen(mask))]]);
    write(x, understand(x, fitted, found), value);
    return x;
  }
  const shape = [...x.shape.slice(0, axis), 1, ...x.shape.slice(axis + mask.rank)];
  const v = valuesFor("setAt", x, value, shape);
  const lead = [...shape.slice(0, axis), ...mask.shape.map(() => 1), ...shape.slice(axis + 1)];
  engine.callInto(named("where"), [wide, op.reshape(v, lead), x], {}, [x]);
  return x;
}

const named = (name: string): Op => allOps().get(name) as Op;

/** The values of a mask that the host sees. */
function seen(mask: Tensor): ArrayLike<number | bigint> {
  if (engine.hostView(mask) === null) {
    throw new DTypeError(
      "Cannot setAt with a mask and one value for each place on this place: their number depends on " +
        "the data; use where(mask, values, x) with values of the full shape",
    );
  }
  return mask.dataSync();
}
