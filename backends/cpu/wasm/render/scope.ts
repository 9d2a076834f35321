// What the writers of stages share. Not here: any stage.
import type { Expr } from "../../../../core/ir/expr.ts";
import type { Kernel } from "../../../../core/ir/kernel.ts";
import type { StoreItem } from "./code.ts";
import type { Frame, Place } from "./frame.ts";
import { type Lanes, Point } from "./point.ts";
import type { Value } from "./storage.ts";

/** A stage at one outer point, or at several neighbours taken together. */
export interface StageScope {
  readonly frame: Frame;
  readonly index: number;
  /** The place of the outer point. */
  readonly place: Place;
  /** The outer points: several groups of four, or a single one. */
  readonly groups: readonly Lanes[];
  /** Results of the stages so far, by stage, one list a group; a stage adds its own. */
  readonly results: (readonly Value[] | undefined)[][];
  /** The buffers that the stage loads or stores. */
  readonly buffers: readonly number[];
  /** The output buffers that take values of the stage, and which. */
  readonly outputs: readonly { readonly buffer: number; readonly value: number }[];
}

/** The domain axes that stages run over. */
export function innerAxes(kernel: Kernel): number[] {
  return Array.from({ length: kernel.innerRank }, (_, i) => kernel.outerRank + i);
}

/** Stores the values that outputs take, at the points of one group. */
export function storeValues(
  scope: StageScope,
  values: readonly Expr[],
  point: Point,
): void {
  const items: StoreItem[] = [];
  point.expect(values);
  for (const o of scope.outputs) items.push(...point.store(o.buffer, values[o.value]));
  scope.frame.code.store(items);
}

/** The point or points of a group at a place. */
export function pointAt(
  scope: StageScope,
  place: Place,
  group: number,
  lanes: Lanes = scope.groups[group],
): Point {
  return new Point(scope.frame, place, lanes, { results: scope.results[group] });
}
