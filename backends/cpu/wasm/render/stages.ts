// The stages of a kernel at one outer point, or at several neighbours taken together. Maps and
// finals are written here. Not here: reductions, scans, the loops over outer points.
import type { Expr } from "../../../../core/ir/expr.ts";
import { loadsOf, type Stage, stageExprs } from "../../../../core/ir/kernel.ts";
import type { Frame, Place } from "./frame.ts";
import { planStage } from "./plan.ts";
import type { Lanes } from "./point.ts";
import { reduceAcross, reduceAlong } from "./reduce.ts";
import { scanAcross } from "./scan.ts";
import { innerAxes, pointAt, type StageScope, storeValues } from "./scope.ts";

/** Writes all stages at a place; `along`: inner points may be taken side by side. */
export function writeStages(
  frame: Frame,
  place: Place,
  groups: readonly Lanes[],
  along: boolean,
): void {
  const { kernel } = frame;
  const results: StageScope["results"] = groups.map(() => []);
  for (const [index, stage] of kernel.stages.entries()) {
    const outputs = kernel.outputs.flatMap((o, i) =>
      o.stage === index ? [{ buffer: kernel.inputs.length + i, value: o.value }] : []
    );
    const buffers = [...loadsOf(stageExprs(stage))]
      .filter((b) => kernel.inputs[b].gatherRank === undefined)
      .concat(outputs.map((o) => o.buffer));
    const copies = along ? planStage(kernel, index).copies : 0;
    writeStage({ frame, index, place, groups, results, buffers, outputs }, stage, copies);
  }
}

function writeStage(scope: StageScope, stage: Stage, copies: number): void {
  const { groups, place } = scope;
  switch (stage.kind) {
    case "final":
      groups.forEach((_, g) => storeValues(scope, stage.values, pointAt(scope, place, g)));
      break;
    case "map":
      if (copies > 0) mapAlong(scope, stage.values, copies);
      else mapAcross(scope, stage.values);
      break;
    case "reduce":
      if (copies > 0) reduceAlong(scope, stage, copies);
      else reduceAcross(scope, stage);
      storeResults(scope, stage.combine);
      break;
    case "scan":
      scanAcross(scope, stage);
      break;
  }
}

/** Stores the results of a reduction that are outputs themselves. */
function storeResults(scope: StageScope, combine: readonly Expr[]): void {
  const { frame, index, groups, place, results, outputs } = scope;
  groups.forEach((_, g) => {
    const point = pointAt(scope, place, g);
    frame.code.store(
      outputs.flatMap((o) =>
        point.storeValue(o.buffer, combine[o.value].dtype, results[g][index]![o.value])
      ),
    );
  });
}

/** A map with the outer points side by side. */
function mapAcross(scope: StageScope, values: readonly Expr[]): void {
  const { frame, place, groups, buffers } = scope;
  frame.nest(place, innerAxes(frame.kernel), buffers, (inside) => {
    groups.forEach((_, g) => storeValues(scope, values, pointAt(scope, inside, g)));
  });
}

/** A map at one outer point, with the points of the last inner axis side by side. */
function mapAlong(scope: StageScope, values: readonly Expr[], copies: number): void {
  const { frame, place, buffers } = scope;
  const axes = innerAxes(frame.kernel);
  const axis = axes.pop()!;
  const many = (count: number) => (inside: Place): void => {
    for (let copy = 0; copy < count; copy++) {
      storeValues(scope, values, pointAt(scope, inside, 0, { axis, copy }));
    }
  };
  const single = (inside: Place): void => storeValues(scope, values, pointAt(scope, inside, 0));
  frame.nest(place, axes, buffers, (row) => {
    frame.walk(row, axis, buffers, [
      ...(copies > 1 ? [{ step: 4 * copies, body: many(copies) }] : []),
      { step: 4, body: many(1) },
      { step: 1, body: single },
    ]);
  });
}
