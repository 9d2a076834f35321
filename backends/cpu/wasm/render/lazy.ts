// Finds the choices of which one side is costly and needed by nothing else, as where a function is
// reduced differently for huge arguments: code can skip that side where no lane takes it. Not here:
// the code that does so (point.ts).
import { type Expr, walk } from "../../../../core/ir/expr.ts";

/** Choices by one condition that are made together. */
export interface Choice {
  readonly condition: Expr;
  readonly members: readonly Expr[];
  /** Which argument of the members may be skipped: 1 where the condition fails, 2 where it holds. */
  readonly side: 1 | 2;
}

/** Nodes below which a branch costs more than it saves. */
const WORTHWHILE = 40;

/** One side of all choices by one condition, as a vertex between them and what they choose. */
interface Side {
  readonly members: readonly Expr[];
  readonly side: 1 | 2;
}

type Vertex = Expr | Side;

/** Whether a member needs another one: then they cannot be chosen together. */
function entangled(members: readonly Expr[], heights: ReadonlyMap<Expr, number>): boolean {
  if (members.length === 1) return false;
  const lowest = Math.min(...members.map((m) => heights.get(m)!));
  const seen = new Set<Expr>();
  const stack = members.flatMap((m) => m.args);
  for (let e = stack.pop(); e !== undefined; e = stack.pop()) {
    if (seen.has(e) || heights.get(e)! < lowest) continue;
    if (members.includes(e)) return true;
    seen.add(e);
    stack.push(...e.args);
  }
  return false;
}

/** The choices worth a branch, by each of their members. */
export function findChoices(roots: readonly Expr[]): Map<Expr, Choice> {
  const found = new Map<Expr, Choice>();
  const heights = new Map<Expr, number>();
  const groups = new Map<Expr, Expr[]>();
  walk(roots, (e) => {
    heights.set(e, e.args.reduce((h, a) => Math.max(h, heights.get(a)! + 1), 0));
    if (e.op !== "where") return;
    const members = groups.get(e.args[0]);
    if (members === undefined) groups.set(e.args[0], [e]);
    else members.push(e);
  });
  if (heights.size < WORTHWHILE) return found;
  const sides = new Map<Expr, readonly [Side, Side]>();
  for (const members of groups.values()) {
    if (entangled(members, heights)) continue;
    const pair = [{ members, side: 1 }, { members, side: 2 }] as const;
    for (const m of members) sides.set(m, pair);
  }
  const sizes = ownSizes(roots, sides);
  for (const [member, pair] of sides) {
    const [yes, no] = pair.map((s) => sizes.get(s)!);
    if (Math.max(yes, no) < WORTHWHILE) continue;
    const { members } = pair[0];
    const choice = found.get(members[0]) ??
      { condition: member.args[0], members, side: yes >= no ? 1 : 2 };
    found.set(member, choice);
  }
  return found;
}

/**
 * How many expressions are needed by a side alone: those that it dominates, in the graph from the
 * roots to the leaves. A vertex is dominated by the nearest common dominator of all that need it.
 */
function ownSizes(
  roots: readonly Expr[],
  sides: ReadonlyMap<Expr, readonly [Side, Side]>,
): Map<Side, number> {
  const after = (v: Vertex): readonly Vertex[] => {
    if ("members" in v) return v.members.map((m) => m.args[v.side]);
    const pair = sides.get(v);
    return pair === undefined ? v.args : [v.args[0], ...pair];
  };
  const numbers = new Map<Vertex, number>();
  const last: Vertex[] = [];
  const visit = (v: Vertex): void => {
    if (numbers.has(v)) return;
    numbers.set(v, 0);
    for (const next of after(v)) visit(next);
    last.push(v);
  };
  roots.forEach(visit);
  const order = last.reverse();
  order.forEach((v, i) => numbers.set(v, i + 1));
  // Number 0 stands before all roots.
  const dominator = new Int32Array(order.length + 1).fill(-1);
  const common = (a: number, b: number): number => {
    while (a !== b) {
      if (a > b) a = dominator[a];
      else b = dominator[b];
    }
    return a;
  };
  const need = (by: number, v: Vertex): void => {
    const n = numbers.get(v)!;
    dominator[n] = dominator[n] < 0 ? by : common(dominator[n], by);
  };
  for (const r of roots) need(0, r);
  order.forEach((v, i) => after(v).forEach((next) => need(i + 1, next)));
  const size = new Int32Array(order.length + 1);
  const sizes = new Map<Side, number>();
  for (let n = order.length; n > 0; n--) {
    const v = order[n - 1];
    if ("members" in v) sizes.set(v, size[n]);
    else size[n]++;
    size[dominator[n]] += size[n];
  }
  return sizes;
}
