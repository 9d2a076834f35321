// Reductions: across (every outer point folds its inner points in order, neighbouring outer points
// side by side) and along (one outer point, its inner points side by side and folded in the end).
// The order of the folding depends on the sizes alone, so results are the same however the outer
// points are shared out. Not here: how single states are carried (sum.ts, extreme.ts).
import type { Expr } from "../../../../core/ir/expr.ts";
import type { Place, Walk } from "./frame.ts";
import { type Lanes, Point } from "./point.ts";
import { innerAxes, pointAt, type StageScope } from "./scope.ts";
import { Cell, setCells } from "./cell.ts";
import { type Carrier, carrierOf, type FloatType, type FoldStage } from "./carrier.ts";
import { Extreme } from "./extreme.ts";
import { Sum } from "./sum.ts";
import type { Value } from "./storage.ts";
import { extract, splatValue } from "./vector.ts";

/** Additions in a row before a partial sum joins its total. */
const ROUNDS = 64;

/** The states of a stage: some have carriers, others cells that the combine updates. */
class States {
  readonly carriers: (Carrier | null)[];
  /** By copy, then by state. */
  readonly cells: (Cell | null)[][];
  readonly #scope: StageScope;
  readonly #stage: FoldStage;

  constructor(
    scope: StageScope,
    stage: FoldStage,
    options: { lanes: boolean; copies: number; carriers: boolean },
  ) {
    const { code } = scope.frame;
    const { lanes, copies } = options;
    this.#scope = scope;
    this.#stage = stage;
    this.carriers = stage.combine.map((e, i) => {
      const name = options.carriers ? carrierOf(stage, i) : null;
      if (name === null) return null;
      const dtype = e.dtype as FloatType;
      return name === "sum"
        ? new Sum(code, dtype, { lanes, parts: copies })
        : new Extreme(code, dtype, { name, lanes, parts: copies });
    });
    this.cells = Array.from(
      { length: copies },
      () => stage.combine.map((e, i) => this.carriers[i] ? null : new Cell(code, e.dtype, lanes)),
    );
  }

  get hasBlocks(): boolean {
    return this.carriers.some((c) => c?.hasBlocks);
  }

  /** Starts everything. Other states may start from the same values: one of them is first. */
  start(init: readonly Value[], first: boolean): void {
    for (const cells of this.cells) this.#setCells(cells, init);
    this.carriers.forEach((c, i) => c?.start(init[i], first));
  }

  open(): void {
    this.carriers.forEach((c) => c?.open());
  }

  close(): void {
    this.carriers.forEach((c) => c?.close());
  }

  #setCells(cells: readonly (Cell | null)[], values: readonly Value[]): void {
    const own = cells.flatMap((c, i) => c === null ? [] : [i]);
    setCells(this.#scope.frame.code, own.map((i) => cells[i]!), own.map((i) => values[i]));
  }

  /** Combines a state with what comes to it, leaving out the carriers. */
  combine(left: readonly Value[], right: readonly Value[], place: Place, lanes: Lanes): Value[] {
    const point = new Point(this.#scope.frame, place, lanes, { results: [], left, right });
    return this.#stage.combine.map((e, i) => this.carriers[i] ? [] : point.full(e));
  }

  /** Combines the states of the first copy, but for carriers, with what comes to them. */
  combineCells(right: readonly Value[], place: Place, lanes: Lanes): void {
    const [cells] = this.cells;
    if (cells.every((c) => c === null)) return;
    this.#setCells(cells, this.combine(this.values(0), right, place, lanes));
  }

  /** Takes in lifted values. */
  push(
    right: readonly Value[],
    place: Place,
    lanes: Lanes,
    options: { copy: number; direct: boolean },
  ): void {
    const cells = this.cells[options.copy];
    if (cells.some((c) => c !== null)) {
      this.#setCells(cells, this.combine(this.values(options.copy), right, place, lanes));
    }
    this.carriers.forEach((c, i) => {
      if (options.direct) c?.addDirectly(right[i]);
      else c?.add(right[i], options.copy);
    });
  }

  /** The states of a copy; carriers are left out. */
  values(copy: number): Value[] {
    return this.cells[copy].map((c) => c === null ? [] : c.read());
  }

  /** The final states. */
  results(): Value[] {
    return this.cells[0].map((c, i) => c === null ? this.carriers[i]!.value() : c.read());
  }
}

function liftAt(point: Point, lift: readonly Expr[]): Value[] {
  return point.all(lift);
}

/** What a walk along the innermost axis does around its blocks. */
function blocksOf(states: readonly States[], points: number): Walk["block"] {
  if (!states[0].hasBlocks) return undefined;
  return {
    points,
    open: () => states.forEach((s) => s.open()),
    close: () => states.forEach((s) => s.close()),
  };
}

/** A reduction with the outer points side by side. */
export function reduceAcross(scope: StageScope, stage: FoldStage): void {
  const { frame, place, groups, buffers } = scope;
  const axes = innerAxes(frame.kernel);
  const axis = axes.pop();
  const lanes = groups[0].axis >= 0;
  const states = groups.map((_, g) => {
    const s = new States(scope, stage, { lanes, copies: 1, carriers: axis !== undefined });
    s.start(liftAt(pointAt(scope, place, g), stage.init), true);
    return s;
  });
  const body = (inside: Place): void => {
    groups.forEach((group, g) => {
      const right = liftAt(pointAt(scope, inside, g), stage.lift);
      states[g].push(right, inside, group, { copy: 0, direct: false });
    });
  };
  if (axis === undefined) body(place);
  else {
    const block = blocksOf(states, ROUNDS);
    frame.nest(place, axes, buffers, (row) => {
      frame.walk(row, axis, buffers, [{ step: 1, body, block }]);
    });
  }
  groups.forEach((_, g) => scope.results[g][scope.index] = states[g].results());
}

/** A reduction at one outer point, with the points of the last inner axis side by side. */
export function reduceAlong(scope: StageScope, stage: FoldStage, copies: number): void {
  const { frame, place, buffers } = scope;
  const { code } = frame;
  const axes = innerAxes(frame.kernel);
  const axis = axes.pop()!;
  const size = frame.size(axis);
  const [single] = scope.groups;
  const init = liftAt(pointAt(scope, place, 0), stage.init);
  const total = new States(scope, stage, { lanes: false, copies: 1, carriers: true });
  total.start(init, true);

  const enough = code.ptrOp("ge_s", size, code.ptrConst(4));
  code.when(enough, () => {
    const states = new States(scope, stage, { lanes: true, copies, carriers: true });
    states.start(stage.init.map((e, i) => splatValue(code, e.dtype, init[i][0])), false);
    const many = (count: number, direct: boolean) => (inside: Place): void => {
      for (let copy = 0; copy < count; copy++) {
        const lanes = { axis, copy };
        const right = liftAt(pointAt(scope, inside, 0, lanes), stage.lift);
        states.push(right, inside, lanes, { copy, direct });
      }
    };
    const step = 4 * copies;
    frame.nest(place, axes, buffers, (row) => {
      frame.walk(row, axis, buffers, [
        { step, body: many(copies, false), block: blocksOf([states], step * ROUNDS) },
        ...(copies > 1 ? [{ step: 4, body: many(1, true) }] : []),
      ]);
    });
    const lanes = { axis, copy: 0 };
    let all = states.values(0);
    for (let c = 1; c < copies; c++) all = states.combine(all, states.values(c), place, lanes);
    for (let k = 0; k < 4; k++) {
      const right = all.map((v, i) =>
        total.carriers[i] ? [] : [extract(code, stage.combine[i].dtype, v, k)]
      );
      total.combineCells(right, place, single);
    }
    total.carriers.forEach((c, i) => c?.addLanes(states.carriers[i]!));
  });

  const rest = code.ptrOp("and", size, code.ptrConst(3));
  const restIsThere = code.ptrOp("lt_s", code.ptrConst(0), rest);
  code.when(restIsThere, () => {
    const from = code.ptrOp("sub", size, rest);
    const body = (inside: Place): void => {
      const right = liftAt(pointAt(scope, inside, 0), stage.lift);
      total.push(right, inside, single, { copy: 0, direct: true });
    };
    frame.nest(place, axes, buffers, (row) => {
      frame.walk(row, axis, buffers, [{ step: 1, body }], { from });
    });
  });
  scope.results[0][scope.index] = total.results();
}
