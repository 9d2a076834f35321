// Sums of products by index letters, and contraction over named axes. Both become permutes, reshapes,
// matrix products and sums. The product itself is in matmul.ts.
import { describe } from "../core/describe.ts";
import { ShapeError, ValueError } from "../core/errors.ts";
import { composite, engine } from "../core/op.ts";
import { expectList, expectTensors } from "../core/operands.ts";
import { normalizeAxis, type Shape, showShape, sizeOf } from "../core/shape.ts";
import { op } from "../core/slots.ts";
import type { Tensor } from "../core/tensor.ts";
import { contractible } from "./contraction.ts";
import { matmul } from "./matmul.ts";

/** A tensor with a label for each axis; no label twice. */
interface Labelled {
  readonly x: Tensor;
  readonly labels: readonly string[];
}

/** What a spec says once the ranks of the operands are known: an ellipsis has become labels "0", "1", … */
interface Contraction {
  readonly inputs: readonly (readonly string[])[];
  readonly output: readonly string[];
  readonly sizes: ReadonlyMap<string, number>;
}

const LETTER = /^[A-Za-z]$/;

function parseTerm(spec: string, term: string): { letters: string[]; dots: number } {
  const dots = term.indexOf("...");
  const letters = [...(dots < 0 ? term : term.slice(0, dots) + term.slice(dots + 3))];
  for (const c of letters) {
    if (LETTER.test(c)) continue;
    throw new ValueError(
      `Cannot einsum "${spec}": terms are letters and at most one "...": got "${term}"`,
    );
  }
  return { letters, dots };
}

/** Labels of one term; an ellipsis stands for `wide` axes, counted so that the last ones line up. */
function expandTerm(letters: string[], dots: number, count: number, wide: number): string[] {
  if (dots < 0) return letters;
  const named = Array.from({ length: count }, (_, i) => String(wide - count + i));
  return [...letters.slice(0, dots), ...named, ...letters.slice(dots)];
}

function parse(spec: string, shapes: readonly Shape[]): Contraction {
  const text = spec.replaceAll(/\s/g, "");
  const [left, right, more] = text.split("->");
  const terms = left.split(",").map((t) => parseTerm(spec, t));
  if (more !== undefined) {
    throw new ValueError(`Cannot einsum "${spec}": only one "->" may be there`);
  }
  if (terms.length !== shapes.length) {
    throw new ValueError(
      `Cannot einsum "${spec}" with ${shapes.length} tensors: the spec has ${terms.length} terms; ` +
        "separate one term for each tensor by commas",
    );
  }
  const counts = terms.map(({ letters, dots }, i) => {
    const rank = shapes[i].length;
    if (dots < 0 ? rank !== letters.length : rank < letters.length) {
      throw new ShapeError(
        `Cannot einsum "${spec}": operand ${i} of shape ${showShape(shapes[i])} must have ` +
          `${dots < 0 ? "" : "at least "}${letters.length} axes: got ${rank}`,
      );
    }
    return rank - letters.length;
  });
  const wide = Math.max(0, ...counts.filter((_, i) => terms[i].dots >= 0));
  const inputs = terms.map(({ letters, dots }, i) => expandTerm(letters, dots, counts[i], wide));
  const sizes = new Map<string, number>();
  inputs.forEach((labels, i) =>
    labels.forEach((label, axis) => {
      const size = shapes[i][axis];
      const known = sizes.get(label) ?? 1;
      if (known !== size && known !== 1 && size !== 1) {
        const name = LETTER.test(label) ? `"${label}"` : `axis ${label} of "..."`;
        throw new ShapeError(
          `Cannot einsum "${spec}" with ${
            shapes.map(showShape).join(", ")
          }: sizes of ${name} must ` +
            `match: got ${known} and ${size}`,
        );
      }
      sizes.set(label, known === 1 ? size : known);
    })
  );
  return { inputs, output: outputLabels(spec, right, inputs, wide), sizes };
}

/** The labels after the arrow; without one: the ellipsis, then the letters that occur once, sorted. */
function outputLabels(
  spec: string,
  right: string | undefined,
  inputs: readonly (readonly string[])[],
  wide: number,
): string[] {
  const dots = Array.from({ length: wide }, (_, i) => String(i));
  const all = inputs.flat();
  if (right === undefined) {
    const once = all.filter((c) => LETTER.test(c) && all.indexOf(c) === all.lastIndexOf(c));
    return [...dots, ...once.sort()];
  }
  const term = parseTerm(spec, right);
  const output = term.dots < 0
    ? term.letters
    : [...term.letters.slice(0, term.dots), ...dots, ...term.letters.slice(term.dots)];
  output.forEach((c, i) => {
    if (output.indexOf(c) !== i) {
      throw new ValueError(`Cannot einsum "${spec}": the output names "${c}" twice`);
    }
    if (!all.includes(c)) {
      throw new ValueError(`Cannot einsum "${spec}": "${c}" of the output is in no operand`);
    }
  });
  return output;
}

/** One axis for each label: repeated labels are read on the diagonal, stretched axes of size 1 dropped. */
function simplify({ x, labels }: Labelled, sizes: ReadonlyMap<string, number>): Labelled {
  let y = x;
  let names = [...labels];
  for (;;) {
    const second = names.findIndex((c, i) => names.indexOf(c) < i);
    if (second < 0) break;
    const label = names[second];
    const first = names.indexOf(label);
    if (y.shape[first] !== y.shape[second]) {
      const axis = y.shape[first] === 1 ? first : second;
      y = op.squeeze(y, axis);
      names = names.filter((_, i) => i !== axis);
      continue;
    }
    y = op.diagonal(y, { axis1: first, axis2: second });
    names = [...names.filter((_, i) => i !== first && i !== second), label];
  }
  const stretched = names.flatMap((c, i) => (y.shape[i] === 1 && sizes.get(c) !== 1 ? [i] : []));
  if (stretched.length === 0) return { x: y, labels: names };
  return { x: op.squeeze(y, stretched), labels: names.filter((_, i) => !stretched.includes(i)) };
}

/** Sums the labels away that are not kept. */
function sumOut({ x, labels }: Labelled, keep: ReadonlySet<string>): Labelled {
  const axes = labels.flatMap((c, i) => (keep.has(c) ? [] : [i]));
  if (axes.length === 0) return { x, labels };
  return { x: op.sum(x, axes, { dtype: x.dtype }), labels: labels.filter((c) => keep.has(c)) };
}

function arrange({ x, labels }: Labelled, order: readonly string[]): Tensor {
  const axes = order.map((c) => labels.indexOf(c));
  return axes.every((a, i) => a === i) ? x : op.permute(x, axes);
}

/** The product of two, summed over what is not kept. */
function contract(a: Labelled, b: Labelled, keep: ReadonlySet<string>): Labelled {
  const left = sumOut(a, new Set([...keep, ...b.labels]));
  const right = sumOut(b, new Set([...keep, ...a.labels]));
  const shared = left.labels.filter((c) => right.labels.includes(c));
  const batch = shared.filter((c) => keep.has(c));
  const inner = shared.filter((c) => !keep.has(c));
  const rows = left.labels.filter((c) => !shared.includes(c));
  const columns = right.labels.filter((c) => !shared.includes(c));
  const labels = [...batch, ...rows, ...columns];
  const sizeIn = ({ x, labels }: Labelled, c: string): number => x.shape[labels.indexOf(c)];
  const many = (t: Labelled, cs: readonly string[]): number => sizeOf(cs.map((c) => sizeIn(t, c)));
  const x = arrange(left, [...batch, ...rows, ...inner]);
  const y = arrange(right, [...batch, ...inner, ...columns]);
  const outer = [...batch.map((c) => sizeIn(left, c)), ...rows.map((c) => sizeIn(left, c))];
  const shape = [...outer, ...columns.map((c) => sizeIn(right, c))];
  if (inner.length === 0) {
    const ones = [...columns.map(() => 1)];
    const spread = op.reshape(x, [...outer, ...ones]);
    const other = [...batch.map((c) => sizeIn(left, c)), ...rows.map(() => 1)];
    return { x: op.mul(spread, op.reshape(y, [...other, ...shape.slice(outer.length)])), labels };
  }
  const lead = outer.slice(0, batch.length);
  const depth = many(left, inner);
  const product = matmul(
    op.reshape(x, [...lead, many(left, rows), depth]),
    op.reshape(y, [...lead, depth, many(right, columns)]),
  );
  return { x: op.reshape(product, shape), labels };
}

/** A tree of pairs: the number of an operand, or two trees. */
type Tree = number | readonly [Tree, Tree];

/** Operands beyond which pairs are taken from left to right: the search tries 3^n splits. */
const MOST_SEARCHED = 8;

/** The order of pairwise products with the fewest multiplications. */
function bestOrder({ inputs, output, sizes }: Contraction): Tree {
  const n = inputs.length;
  if (n > MOST_SEARCHED) return inputs.reduce<Tree>((t, _, i) => (i === 0 ? 0 : [t, i]), 0);
  const full = (1 << n) - 1;
  const within = (set: number): Set<string> =>
    new Set(inputs.flatMap((labels, i) => (set & (1 << i) ? labels : [])));
  /** Labels of the product of a set that something outside it still needs. */
  const open = (set: number): string[] => {
    const needed = new Set([...output, ...within(full & ~set)]);
    return [...within(set)].filter((c) => needed.has(c));
  };
  const best = new Array<{ cost: number; tree: Tree } | undefined>(full + 1);
  for (let i = 0; i < n; i++) best[1 << i] = { cost: 0, tree: i };
  for (let set = 1; set <= full; set++) {
    for (let a = (set - 1) & set; a > 0; a = (a - 1) & set) {
      const b = set & ~a;
      if (a < b) continue;
      const union = new Set([...open(a), ...open(b)]);
      let cost = best[a]!.cost + best[b]!.cost;
      cost += [...union].reduce((m, c) => m * sizes.get(c)!, 1);
      const known = best[set];
      if (known === undefined || cost < known.cost) {
        best[set] = { cost, tree: [best[b]!.tree, best[a]!.tree] };
      }
    }
  }
  return best[full]!.tree;
}

const EINSUM = composite({
  name: "einsum",
  amp: "white",
  body: (inputs, attrs) => {
    const xs = inputs as readonly Tensor[];
    const plan = parse(attrs.spec as string, xs.map((x) => x.shape));
    const terms = xs.map((x, i) => simplify({ x, labels: plan.inputs[i] }, plan.sizes));
    const waiting = new Map<Labelled, true>(terms.map((t) => [t, true]));
    const run = (tree: Tree): Labelled => {
      if (typeof tree === "number") return terms[tree];
      const [a, b] = [run(tree[0]), run(tree[1])];
      waiting.delete(a);
      waiting.delete(b);
      const rest = [...waiting.keys()].flatMap((t) => t.labels);
      const made = contract(a, b, new Set([...plan.output, ...rest]));
      waiting.set(made, true);
      return made;
    };
    const all = sumOut(run(bestOrder(plan)), new Set(plan.output));
    return arrange(all, plan.output);
  },
  samples: () => [
    { inputs: [{ shape: [2, 3] }, { shape: [3, 4] }], attrs: { spec: "ij,jk->ik" } },
    { inputs: [{ shape: [2, 3] }], attrs: { spec: "ij->j" } },
    { inputs: [{ shape: [3, 3] }], attrs: { spec: "ii->i" } },
    { inputs: [{ shape: [3, 2, 3] }], attrs: { spec: "iji" } },
    {
      inputs: [{ shape: [2, 1, 2, 3] }, { shape: [4, 3, 2] }],
      attrs: { spec: "...ij,...jk->...ik" },
    },
    {
      inputs: [{ shape: [2, 3] }, { shape: [3, 2] }, { shape: [2, 4] }],
      attrs: { spec: "ij,jk,kl->il" },
    },
    {
      inputs: [{ shape: [2, 3] }, { shape: [2, 4] }, { shape: [2, 3] }],
      attrs: { spec: "bi,bj,bi->bj" },
    },
    { inputs: [{ shape: [2] }, { shape: [3] }], attrs: { spec: "i,j->ji" } },
  ],
});

/**
 * Sum of products by index letters: letters that the output does not name are summed over. Operands are
 * multiplied pair by pair in the order with the fewest multiplications.
 *
 * A letter twice in one term reads the diagonal. `...` stands for any further axes, which broadcast.
 * Without `->` the output has the ellipsis and the letters that occur once, in alphabetical order.
 * Spaces are ignored. An axis of size 1 stretches to the other size of its letter.
 *
 * @param spec Such as `"bij,bjk->bik"`: a term for each tensor, separated by commas.
 * @param tensors As many as there are terms.
 * @returns Axes as the output names them; the promoted dtype.
 * @throws {ValueError} if the spec is malformed or has another number of terms than there are tensors.
 * @throws {ShapeError} if a rank does not fit its term, or two sizes of one letter differ.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { einsum, tensor } from "../mod.ts";
 *
 * const a = tensor([[1, 2], [3, 4]]);
 * assertEquals(await einsum("ii", a).item(), 5);
 * assertEquals(await einsum("ij,j->i", a, tensor([1, 10])).toArray(), [21, 43]);
 * ```
 */
export function einsum(spec: string, ...tensors: readonly Tensor[]): Tensor {
  if (typeof spec !== "string") {
    throw new ValueError(
      `Cannot einsum ${describe(spec)}: the spec comes first and is a string such as "ij,jk->ik"`,
    );
  }
  expectTensors("einsum", ...tensors);
  parse(spec, tensors.map((x) => x.shape));
  return engine.call(EINSUM, contractible("einsum", ...tensors), { spec });
}

/** The axes that `tensordot` was given for one of its operands. */
function side(axes: readonly [readonly number[], readonly number[]], i: 0 | 1): number[] {
  return expectList("tensordot", "the axes of each side", expectList("tensordot", "axes", axes)[i]);
}

/**
 * Sum of products over some axes of one tensor and as many of another.
 *
 * @param a Any shape.
 * @param b Any shape.
 * @param axes Pairs of axes as `[axesOfA, axesOfB]`; or a number n: the last n of `a` with the first n
 * of `b`. Default 2.
 * @returns The other axes of `a`, then those of `b`; the promoted dtype.
 * @throws {ShapeError} if the axes are not as many on both sides, or their sizes differ.
 * @example
 * ```ts
 * import { assertEquals } from "jsr:@std/assert@1";
 * import { tensor, tensordot } from "../mod.ts";
 *
 * const a = tensor([[1, 2], [3, 4]]);
 * assertEquals(await tensordot(a, tensor([1, 10]), 1).toArray(), [21, 43]);
 * assertEquals(await tensordot(a, a, [[0, 1], [1, 0]]).item(), 29);
 * ```
 */
export function tensordot(
  a: Tensor,
  b: Tensor,
  axes: number | readonly [readonly number[], readonly number[]] = 2,
): Tensor {
  expectTensors("tensordot", a, b);
  const [left, right] = typeof axes === "number" ? lastAndFirst(a, b, axes) : [
    side(axes, 0).map((i) => normalizeAxis("tensordot", i, a.rank)),
    side(axes, 1).map((i) => normalizeAxis("tensordot", i, b.rank)),
  ];
  const call = `Cannot tensordot ${showShape(a.shape)} with ${showShape(b.shape)} over axes ` +
    `[${left.join(", ")}] and [${right.join(", ")}]`;
  if (left.length !== right.length || new Set(left).size + new Set(right).size < 2 * left.length) {
    throw new ShapeError(`${call}: both sides must name as many axes, each once`);
  }
  left.forEach((axis, i) => {
    if (a.shape[axis] === b.shape[right[i]]) return;
    throw new ShapeError(
      `${call}: sizes must match: got ${a.shape[axis]} and ${b.shape[right[i]]}`,
    );
  });
  const others = (x: Tensor, used: readonly number[]): number[] =>
    x.shape.map((_, i) => i).filter((i) => !used.includes(i));
  const [rows, columns] = [others(a, left), others(b, right)];
  const depth = sizeOf(left.map((i) => a.shape[i]));
  const shape = [...rows.map((i) => a.shape[i]), ...columns.map((i) => b.shape[i])];
  const [x, y] = contractible("tensordot", a, b);
  const product = matmul(
    op.reshape(op.permute(x, [...rows, ...left]), [sizeOf(rows.map((i) => a.shape[i])), depth]),
    op.reshape(op.permute(y, [...right, ...columns]), [
      depth,
      sizeOf(columns.map((i) => b.shape[i])),
    ]),
  );
  return op.reshape(product, shape);
}

function lastAndFirst(a: Tensor, b: Tensor, count: number): [number[], number[]] {
  if (!Number.isInteger(count) || count < 0 || count > Math.min(a.rank, b.rank)) {
    throw new ShapeError(
      `Cannot tensordot ${showShape(a.shape)} with ${
        showShape(b.shape)
      } over ${count} axes: it must be ` +
        `a whole number from 0 to ${Math.min(a.rank, b.rank)}`,
    );
  }
  const up = Array.from({ length: count }, (_, i) => i);
  return [up.map((i) => a.rank - count + i), up];
}
