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

function reach(roots: readonly Expr[], into: (e: Expr) => readonly Expr[]): Set<Expr> {
  const seen = new Set<Expr>();
  const stack = [...roots];
  for (let e = stack.pop(); e !== undefined; e = stack.pop()) {
    if (seen.has(e)) continue;
    seen.add(e);
    stack.push(...into(e));
  }
  return seen;
}

/** The choices worth a branch, by each of their members. */
export function findChoices(roots: readonly Expr[]): Map<Expr, Choice> {
  const found = new Map<Expr, Choice>();
  const groups = new Map<Expr, Expr[]>();
  let count = 0;
  walk(roots, (e) => {
    count++;
    if (e.op !== "where") return;
    const members = groups.get(e.args[0]);
    if (members === undefined) groups.set(e.args[0], [e]);
    else members.push(e);
  });
  if (count < WORTHWHILE) return found;
  for (const [condition, members] of groups) {
    const inside = new Set(members);
    const all = (e: Expr): readonly Expr[] => e.args;
    const below = reach(members.flatMap(all), all);
    // Members that need each other cannot be chosen together.
    if (members.some((m) => below.has(m))) continue;
    for (const side of [1, 2] as const) {
      const sides = members.map((m) => m.args[side]);
      const outside = reach(
        roots,
        (e) => inside.has(e) ? e.args.filter((_, i) => i !== side) : e.args,
      );
      const own = reach(sides, (e) => outside.has(e) ? [] : e.args);
      let size = 0;
      for (const e of own) if (!outside.has(e)) size++;
      if (size < WORTHWHILE) continue;
      for (const m of members) found.set(m, { condition, members, side });
      break;
    }
  }
  return found;
}
