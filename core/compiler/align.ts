// Bringing values to one iteration space: matching axes, merging kernels that reduce over the same ones.
import type { Expr } from "../ir/expr.ts";
import type { GraphValue } from "../ir/graph.ts";
import type { Shape } from "../shape.ts";
import type { Group, LazyRep } from "./draft.ts";
import { Values } from "./values.ts";

/** Operands in one iteration space. */
export interface Aligned {
  readonly xs: readonly Expr[];
  readonly axes: readonly number[];
  readonly group: Group | null;
}

/** Adds alignment to the table of values. */
export class Aligner extends Values {
  /** Brings operands to one iteration space in which the output has shape `out`. */
  protected align(values: readonly (GraphValue | null)[], out: Shape, cover: boolean): Aligned {
    for (;;) {
      const reps = values.map((v) => (v === null ? null : this.lazy(v)));
      const result = this.tryAlign(values, reps, out, cover);
      if (result !== null) return result;
    }
  }

  /** One attempt; null after something was written to memory to make the next attempt simpler. */
  protected tryAlign(
    values: readonly (GraphValue | null)[],
    reps: readonly (LazyRep | null)[],
    out: Shape,
    cover: boolean,
  ): Aligned | null {
    const covered = (r: LazyRep) => r.axes.reduce((n, a) => n + (a >= 0 ? 1 : 0), 0);
    const order = reps.flatMap((r, i) => (r === null ? [] : [{ r, i }]));
    order.sort((x, y) =>
      Number(y.r.group !== null) - Number(x.r.group !== null) || covered(y.r) - covered(x.r) ||
      x.i - y.i
    );
    const oax = new Array<number>(out.length).fill(-1);
    const xs = new Array<Expr>(reps.length);
    const group = order.length > 0 ? order[0].r.group : null;
    const spare = (size: number): number => {
      if (group === null) return this.axis(size);
      return group.inner.find((a) => this.axisSizes[a] === size && !oax.includes(a)) ?? -1;
    };
    for (const [nth, { r, i }] of order.entries()) {
      const lead = out.length - r.shape.length;
      const map = new Map<number, number>();
      for (let j = 0; j < r.shape.length; j++) {
        const a = r.axes[j];
        if (a < 0) continue;
        if (oax[lead + j] < 0) {
          const own = nth === 0 || (group === null && !oax.includes(a));
          const to = own ? a : spare(out[lead + j]);
          if (to < 0) return this.giveUp(values[order[0].i]!);
          oax[lead + j] = to;
        }
        map.set(a, oax[lead + j]);
      }
      if (r.group !== null && nth > 0) {
        if (r.group === group) {
          for (const [a, b] of map) if (a !== b) return this.giveUp(values[i]!);
        } else {
          const full = this.mergeMap(group!, r.group, map);
          if (full === null) return this.giveUp(values[i]!);
          xs[i] = this.rename([r.expr], full)[0];
          this.merge(group!, r.group, full);
          continue;
        }
      }
      xs[i] = this.rename([r.expr], map)[0];
    }
    if (cover) {
      for (let j = 0; j < out.length; j++) {
        if (oax[j] >= 0 || out[j] === 1) continue;
        const a = spare(out[j]);
        if (a < 0) return this.giveUp(values[order[0].i]!);
        oax[j] = a;
      }
    }
    if (group !== null) {
      const inside = group.inner.filter((a) => oax.includes(a)).length;
      const allIn = oax.every((a) => a < 0 || group.inner.includes(a) || group.outer.includes(a));
      const free = order.filter((o) => o.r.group === null).map((o) => xs[o.i]);
      if (
        !allIn || (inside !== 0 && inside !== group.inner.length) || this.wouldCycle(free, group)
      ) {
        return this.giveUp(values[order[0].i]!);
      }
    }
    return { xs, axes: oax, group };
  }

  /** Writes a value that stands in the way to memory, as what it is from then on. */
  protected giveUp(v: GraphValue): null {
    const rep = this.materialize(v);
    this.reps.set(v, rep);
    return null;
  }

  /** How the axes of `from` would be named in `into`, or null if they cannot be one kernel. */
  protected mergeMap(
    into: Group,
    from: Group,
    known: ReadonlyMap<number, number>,
  ): Map<number, number> | null {
    if (from.scan !== null || into.scan !== null) return null;
    if (from.outer.length !== into.outer.length || from.inner.length !== into.inner.length) {
      return null;
    }
    const map = new Map(known);
    for (const a of from.outer) {
      const b = map.get(a);
      if (b === undefined || !into.outer.includes(b)) return null;
    }
    const used = new Set(map.values());
    for (const a of from.inner) {
      const b = map.get(a) ??
        into.inner.find((x) => !used.has(x) && this.axisSizes[x] === this.axisSizes[a]);
      if (b === undefined || !into.inner.includes(b)) return null;
      map.set(a, b);
      used.add(b);
    }
    if (this.dependsOn(into, from) || this.dependsOn(from, into)) return null;
    return map;
  }

  protected merge(into: Group, from: Group, map: ReadonlyMap<number, number>): void {
    const re = (es: readonly Expr[]) => this.rename(es, map);
    for (const s of from.stages) {
      into.stages.push({ id: s.id, init: s.init, lift: re(s.lift), combine: s.combine });
    }
    for (const o of from.outputs) {
      into.outputs.push({
        expr: re([o.expr])[0],
        axes: o.axes.map((a) => map.get(a) ?? a),
        source: o.source,
      });
    }
    for (const source of from.pending) into.pending.add(source);
    into.stages.sort((a, b) => a.id - b.id);
    from.mergedInto = { group: into, axes: map };
    from.stages = [];
    from.outputs = [];
  }
}
