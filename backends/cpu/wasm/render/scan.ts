// Scans: the inner axis in order, outer points side by side where the plan says so. Not here: how
// sums keep their accuracy (sum.ts).
import type { Place } from "./frame.ts";
import { Point } from "./point.ts";
import { innerAxes, pointAt, type StageScope, storeValues } from "./scope.ts";
import { Cell, setCells } from "./cell.ts";
import { carrierOf, type FloatType, type FoldStage } from "./carrier.ts";
import { Sum } from "./sum.ts";
import type { Value } from "./storage.ts";

type ScanStage = Extract<FoldStage, { kind: "scan" }>;

/** Writes a scan. */
export function scanAcross(scope: StageScope, stage: ScanStage): void {
  const { frame, place, groups, buffers } = scope;
  const { code } = frame;
  const lanes = groups[0].axis >= 0;
  const states = groups.map((_, g) =>
    stage.init.map((e, i) => {
      const value = pointAt(scope, place, g).full(e);
      if (carrierOf(stage, i) === "sum") {
        const sum = new Sum(code, e.dtype as FloatType, { lanes, parts: 0 });
        sum.start(value, true);
        return sum;
      }
      const cell = new Cell(code, e.dtype, lanes);
      setCells(code, [cell], [value]);
      return cell;
    })
  );
  const read = (g: number): Value[] =>
    states[g].map((s) => s instanceof Sum ? s.value() : s.read());
  const body = (inside: Place): void => {
    groups.forEach((group, g) => {
      const { results } = scope;
      const right = pointAt(scope, inside, g).all(stage.lift);
      const point = new Point(frame, inside, group, { results: results[g], left: read(g), right });
      const cells: Cell[] = [];
      const values: Value[] = [];
      states[g].forEach((s, i) => {
        if (s instanceof Sum) return;
        cells.push(s);
        values.push(point.full(stage.combine[i]));
      });
      setCells(code, cells, values);
      states[g].forEach((s, i) => {
        if (s instanceof Sum) s.addDirectly(right[i]);
      });
      const after = new Point(frame, inside, group, { results: results[g], left: read(g) });
      storeValues(scope, stage.values, after);
    });
  };
  frame.nest(place, innerAxes(frame.kernel), buffers, body);
  groups.forEach((_, g) => scope.results[g][scope.index] = read(g));
}
