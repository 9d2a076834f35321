// Broadcasting, views and indexing against a naive reference on plain arrays, with random shapes, items and
// chains of views. Elements are their own row-major numbers, so a view also tells where its gradient goes.
import { assertEquals } from "jsr:@std/assert@1";
import fc from "npm:fast-check@4";
import { type IndexItem, noGrad, type Tensor, tensor } from "../mod.ts";

/** An array as its shape and its elements in row-major order. */
interface Plain {
  readonly shape: readonly number[];
  readonly data: readonly number[];
}

const sizeOf = (shape: readonly number[]): number => shape.reduce((a, b) => a * b, 1);

/** The coordinates of every point, in row-major order. */
function points(shape: readonly number[]): number[][] {
  let out: number[][] = [[]];
  for (const n of shape) {
    out = out.flatMap((p) => Array.from({ length: n }, (_, i) => [...p, i]));
  }
  return out;
}

function build(shape: readonly number[], value: (p: number[]) => number): Plain {
  return { shape, data: points(shape).map(value) };
}

function get(a: Plain, p: readonly number[]): number {
  let at = 0;
  a.shape.forEach((n, d) => at = at * n + p[d]);
  return a.data[at];
}

/** Elements 0, 1, 2, … */
const numbered = (shape: readonly number[]): Plain => ({
  shape,
  data: Array.from({ length: sizeOf(shape) }, (_, i) => i),
});

const toTensor = (a: Plain): Tensor => tensor(new Float32Array(a.data)).reshape(a.shape);

async function same(actual: Tensor, expected: Plain, what: string): Promise<void> {
  assertEquals(actual.shape, expected.shape, `${what}: shape`);
  assertEquals([...await actual.data() as Float32Array], expected.data, what);
}

const shapes = (maxRank: number, min = 0): fc.Arbitrary<number[]> =>
  fc.array(fc.integer({ min, max: 4 }), { maxLength: maxRank });

// --- views -------------------------------------------------------------------------------------------

/** One view on both sides; `seed` picks among what the shape allows. */
type Step = (a: Plain, seed: number) => { plain: Plain; view: (x: Tensor) => Tensor } | null;

/** Positions that Python's slice takes, found by walking. */
function walked(n: number, start: number | null, end: number | null, step: number): number[] {
  const out: number[] = [];
  const wrap = (i: number) => (i < 0 ? i + n : i);
  const first = start === null ? (step > 0 ? 0 : n - 1) : wrap(start);
  const stop = end === null ? (step > 0 ? n : -1) : Math.max(wrap(end), -1);
  let i = step > 0 ? Math.max(first, 0) : Math.min(first, n - 1);
  for (; step > 0 ? i < Math.min(stop, n) : i > stop; i += step) if (i >= 0 && i < n) out.push(i);
  return out;
}

const STEPS: Step[] = [
  (a, seed) => {
    const perm = a.shape.map((_, d) => d).sort((i, j) =>
      ((i * 7 + seed) % 5) - ((j * 7 + seed) % 5)
    );
    const back = perm.map((_, d) => perm.indexOf(d));
    return {
      plain: build(perm.map((d) => a.shape[d]), (p) => get(a, back.map((d) => p[d]))),
      view: (x) => x.permute(perm),
    };
  },
  (a, seed) => {
    if (a.shape.length === 0) return null;
    const d = seed % a.shape.length;
    const start = (seed % 9) - 4;
    const end = (seed % 11) - 5;
    const step = [1, 2, -1, -3][seed % 4];
    const taken = walked(a.shape[d], start, end, step);
    return {
      plain: build(
        a.shape.map((n, i) => (i === d ? taken.length : n)),
        (p) => get(a, p.map((c, i) => (i === d ? taken[c] : c))),
      ),
      view: (x) => x.slice({ axes: [d], starts: [start], ends: [end], steps: [step] }),
    };
  },
  (a, seed) => {
    const d = seed % (a.shape.length + 1);
    const shape = [...a.shape.slice(0, d), 1, ...a.shape.slice(d)];
    return { plain: { shape, data: a.data }, view: (x) => x.unsqueeze(d) };
  },
  (a) => {
    const shape = a.shape.filter((n) => n !== 1);
    return { plain: { shape, data: a.data }, view: (x) => x.squeeze() };
  },
  (a, seed) => {
    const n = 1 + (seed % 3);
    const shape = [n, ...a.shape.map((m) => (m === 1 ? 1 + (seed % 2) : m))];
    if (sizeOf(shape) > 400) return null;
    return {
      plain: build(shape, (p) => get(a, a.shape.map((m, d) => (m === 1 ? 0 : p[d + 1])))),
      view: (x) =>
        x.expand(shape.map((m, d) => (d > 0 && seed % 2 === 0 && m === a.shape[d - 1] ? -1 : m))),
    };
  },
  (a, seed) => {
    if (a.data.length === 0) return null;
    const divisors = [1, 2, 3, 4].filter((n) => a.data.length % n === 0);
    const n = divisors[seed % divisors.length];
    return {
      plain: { shape: [n, a.data.length / n], data: a.data },
      view: (x) => x.reshape(seed % 2 === 0 ? [n, -1] : [-1, a.data.length / n]),
    };
  },
  (a, seed) => {
    if (a.shape.length === 0) return null;
    const d = seed % a.shape.length;
    return {
      plain: build(a.shape, (p) => get(a, p.map((c, i) => (i === d ? a.shape[d] - 1 - c : c)))),
      view: (x) => x.flip(d),
    };
  },
  (a, seed) => {
    if (a.shape.length < 2) return null;
    const offset = (seed % 5) - 2;
    const [axis1, axis2] = seed % 2 === 0 ? [0, 1] : [a.shape.length - 1, 0];
    const row = Math.max(-offset, 0);
    const column = Math.max(offset, 0);
    const length = Math.max(Math.min(a.shape[axis1] - row, a.shape[axis2] - column), 0);
    const rest = a.shape.map((_, d) => d).filter((d) => d !== axis1 && d !== axis2);
    return {
      plain: build([...rest.map((d) => a.shape[d]), length], (p) => {
        const c = new Array<number>(a.shape.length);
        rest.forEach((d, i) => c[d] = p[i]);
        c[axis1] = row + p[rest.length];
        c[axis2] = column + p[rest.length];
        return get(a, c);
      }),
      view: (x) => x.diagonal({ offset, axis1, axis2 }),
    };
  },
  (a, seed) => {
    const d = a.shape.findIndex((n) => n > 1);
    if (d < 0 || a.data.length > 100) return null;
    const size = 1 + (seed % a.shape[d]);
    const step = 1 + (seed % 3);
    const count = Math.floor((a.shape[d] - size) / step) + 1;
    return {
      plain: build(
        [...a.shape.map((n, i) => (i === d ? count : n)), size],
        (p) => get(a, a.shape.map((_, i) => (i === d ? p[d] * step + p[p.length - 1] : p[i]))),
      ),
      view: (x) => x.unfold(d, { size, step }),
    };
  },
];

const chains = fc.record({
  shape: shapes(4),
  steps: fc.array(fc.tuple(fc.nat(STEPS.length - 1), fc.nat(1000)), { maxLength: 5 }),
});

function follow(
  shape: readonly number[],
  steps: readonly (readonly [number, number])[],
): { plain: Plain; view: (x: Tensor) => Tensor } {
  let plain = numbered(shape);
  const views: ((x: Tensor) => Tensor)[] = [];
  for (const [kind, seed] of steps) {
    const next = STEPS[kind](plain, seed);
    if (next === null) continue;
    plain = next.plain;
    views.push(next.view);
  }
  return { plain, view: (x) => views.reduce((y, v) => v(y), x) };
}

/** Where a gradient that is 1, 2, 3, … at the view's elements goes in what was viewed. */
function gradientOf(shape: readonly number[], view: Plain): Plain {
  const data = new Array<number>(sizeOf(shape)).fill(0);
  view.data.forEach((from, i) => data[from] += i + 1);
  return { shape, data };
}

/** Backward with gradients 1, 2, 3, … at the view of a flat leaf. */
async function checkGradient(leaf: Tensor, y: Tensor, plain: Plain): Promise<void> {
  y.backward(toTensor({ shape: plain.shape, data: plain.data.map((_, i) => i + 1) }));
  await same(leaf.grad!, gradientOf([leaf.numel], plain), "gradient");
}

Deno.test("chains of views read what a naive walk reads, and gradients go back the same way", async () => {
  await fc.assert(
    fc.asyncProperty(chains, async ({ shape, steps }) => {
      const { plain, view } = follow(shape, steps);
      const leaf = tensor(new Float32Array(numbered(shape).data), { requiresGrad: true });
      const x = leaf.reshape(shape);
      const y = view(x);
      await same(y, plain, "view");
      await checkGradient(leaf, y, plain);
    }),
    { numRuns: 150, seed: 1 },
  );
});

Deno.test("arithmetic and reductions on views equal those on copies", async () => {
  await fc.assert(
    fc.asyncProperty(chains, fc.nat(3), async ({ shape, steps }, at) => {
      const { plain, view } = follow(shape, steps);
      const y = view(toTensor(numbered(shape)));
      await same(y.mul(2).add(y), { ...plain, data: plain.data.map((v) => 3 * v) }, "arithmetic");
      if (plain.shape.length === 0) return;
      const d = at % plain.shape.length;
      const rest = plain.shape.filter((_, i) => i !== d);
      const sums = build(rest, (p) => {
        let sum = 0;
        for (let i = 0; i < plain.shape[d]; i++) {
          sum += get(plain, [...p.slice(0, d), i, ...p.slice(d)]);
        }
        return sum;
      });
      await same(y.sum(d), sums, "sum");
    }),
    { numRuns: 100, seed: 1 },
  );
});

Deno.test("broadcasting pairs elements as counting from the last axis does", async () => {
  const pair = shapes(4, 1).chain((shape) =>
    fc.record({
      shape: fc.constant(shape),
      ones: fc.array(fc.boolean(), { minLength: shape.length, maxLength: shape.length }),
      others: fc.array(fc.boolean(), { minLength: shape.length, maxLength: shape.length }),
      drop: fc.nat(shape.length),
    })
  );
  await fc.assert(
    fc.asyncProperty(pair, async ({ shape, ones, others, drop }) => {
      const a = numbered(shape.map((n, d) => (ones[d] ? 1 : n)));
      const b = numbered(shape.map((n, d) => (others[d] ? 1 : n)).slice(drop));
      const out = a.shape.map((n, d) => Math.max(n, d < drop ? 1 : b.shape[d - drop]));
      const read = (x: Plain, p: number[]) => {
        const own = p.slice(p.length - x.shape.length);
        return get(x, own.map((c, d) => (x.shape[d] === 1 ? 0 : c)));
      };
      const expected = build(out, (p) => read(a, p) * 100 - read(b, p));
      await same(toTensor(a).mul(100).sub(toTensor(b)), expected, "difference");
    }),
    { numRuns: 100, seed: 1 },
  );
});

// --- indexing ----------------------------------------------------------------------------------------

/** An item for an axis of size n, and the positions it takes (null: the axis goes). */
interface Taken {
  readonly item: IndexItem;
  readonly kind: "integer" | "slice" | "index" | "new";
  /** Positions along the axis, in the shape of the index. */
  readonly positions: Plain;
}

function itemFor(n: number, seed: number, indexShape: readonly number[]): Taken {
  const kind = n === 0 ? 0 : seed % 4;
  if (kind === 1) {
    const at = seed % n;
    const written = seed % 2 === 0 ? at : at - n;
    return { kind: "integer", item: written, positions: { shape: [], data: [at] } };
  }
  if (kind === 2) {
    const data = Array.from({ length: sizeOf(indexShape) }, (_, i) => (i * 5 + seed) % n);
    const written = data.map((p, i) => (i % 2 === 0 ? p : p - n));
    return {
      kind: "index",
      item: tensor(new Int32Array(written)).reshape(indexShape),
      positions: { shape: indexShape, data },
    };
  }
  const start = seed % 3 === 0 ? null : (seed % 9) - 4;
  const end = seed % 5 === 0 ? null : (seed % 11) - 5;
  const step = [1, 2, -1, -2][seed % 4];
  const data = walked(n, start, end, step);
  return {
    kind: "slice",
    item: `${start ?? ""}:${end ?? ""}:${step === 1 ? "" : step}`,
    positions: { shape: [data.length], data },
  };
}

const NEW: Taken = { kind: "new", item: null, positions: { shape: [], data: [] } };

/** What NumPy's rules give, element by element. */
function reference(a: Plain, items: readonly Taken[]): Plain {
  const advanced = items.some((t) => t.kind === "index");
  const own = items.filter((t) => t.kind === "index").map((t) => t.positions.shape);
  const rank = Math.max(0, ...own.map((s) => s.length));
  const block = Array.from(
    { length: rank },
    (_, i) => Math.max(...own.map((s) => (i < rank - s.length ? 1 : s[i - rank + s.length]))),
  );
  const indexing = items.map((t) => t.kind === "index" || t.kind === "integer");
  const [first, last] = [indexing.indexOf(true), indexing.lastIndexOf(true)];
  const apart = advanced && indexing.slice(first, last).includes(false);
  const shape: number[] = [];
  /** For each item the axis of the result that it becomes. */
  const becomes = items.map(() => -1);
  let blockAt = -1;
  if (advanced && apart) {
    blockAt = 0;
    shape.push(...block);
  }
  items.forEach((t, i) => {
    if (advanced && !apart && i === first) {
      blockAt = shape.length;
      shape.push(...block);
    }
    if (t.kind === "new") shape.push(1);
    if (t.kind === "slice") becomes[i] = shape.push(t.positions.data.length) - 1;
  });
  return build(shape, (p) => {
    const from: number[] = [];
    items.forEach((t, i) => {
      if (t.kind === "new") return;
      if (t.kind === "integer") from.push(t.positions.data[0]);
      else if (t.kind === "slice") from.push(t.positions.data[p[becomes[i]]]);
      else {
        const s = t.positions.shape;
        const at = p.slice(blockAt, blockAt + rank).slice(rank - s.length);
        from.push(get(t.positions, at.map((c, d) => (s[d] === 1 ? 0 : c))));
      }
    });
    return get(a, from);
  });
}

const indexed = shapes(4).chain((shape) =>
  fc.record({
    shape: fc.constant(shape),
    seeds: fc.array(fc.nat(500), { minLength: shape.length, maxLength: shape.length }),
    index: fc.constantFrom([3], [2, 1], [1, 2], [2, 2]),
    newAt: fc.option(fc.nat(4), { nil: undefined }),
  })
);

function itemsFor(
  { shape, seeds, index, newAt }: {
    readonly shape: readonly number[];
    readonly seeds: readonly number[];
    readonly index: readonly number[];
    readonly newAt: number | undefined;
  },
): Taken[] {
  const items = shape.map((n, d) =>
    itemFor(n, seeds[d], seeds[d] % 3 === 0 ? index : index.map(() => 1))
  );
  if (newAt !== undefined) items.splice(Math.min(newAt, items.length), 0, NEW);
  return items;
}

Deno.test("reading by items gives what NumPy's rules give, and gradients add up where they came from", async () => {
  await fc.assert(
    fc.asyncProperty(indexed, async (sample) => {
      const items = itemsFor(sample);
      const plain = numbered(sample.shape);
      const expected = reference(plain, items);
      const leaf = tensor(new Float32Array(plain.data), { requiresGrad: true });
      const y = leaf.reshape(sample.shape).at(...items.map((t) => t.item)) as Tensor;
      await same(y, expected, "read");
      await checkGradient(leaf, y, expected);
    }),
    { numRuns: 200, seed: 1 },
  );
});

Deno.test("writing by items changes what reading would read, with the gradient of value and target", async () => {
  await fc.assert(
    fc.asyncProperty(indexed, async (sample) => {
      const items = itemsFor(sample);
      const plain = numbered(sample.shape);
      const where = reference(plain, items);
      if (new Set(where.data).size !== where.data.length) return;
      const written = items.map((t) => t.item);
      const after = [...plain.data];
      where.data.forEach((from, i) => after[from] = -1 - i);
      const values: Plain = { shape: where.shape, data: where.data.map((_, i) => -1 - i) };
      const x = toTensor(plain);
      noGrad(() => x.setAt(written, toTensor(values)));
      await same(x, { shape: plain.shape, data: after }, "written");

      const target = tensor(new Float32Array(plain.data), { requiresGrad: true });
      const value = tensor(new Float32Array(values.data), { requiresGrad: true });
      const changed = target.reshape(plain.shape).clone();
      changed.setAt(written, value.reshape(values.shape));
      await same(changed, { shape: plain.shape, data: after }, "written, recorded");
      // Nothing written leaves the value out of it.
      if (where.data.length === 0) return;
      changed.mul(toTensor(plain)).sum().backward();
      await same(value.grad!, { shape: [value.numel], data: where.data }, "gradient of the value");
      const kept = plain.data.map((i) => (where.data.includes(i) ? 0 : i));
      await same(target.grad!, { shape: [target.numel], data: kept }, "gradient of the target");
    }),
    { numRuns: 200, seed: 1 },
  );
});

Deno.test("a mask reads and writes the elements at which it holds", async () => {
  const masked = shapes(3, 1).chain((shape) =>
    fc.record({
      shape: fc.constant(shape),
      bits: fc.array(fc.boolean(), { minLength: sizeOf(shape), maxLength: sizeOf(shape) }),
    })
  );
  await fc.assert(
    fc.asyncProperty(masked, async ({ shape, bits }) => {
      const plain = numbered(shape);
      const held = plain.data.filter((i) => bits[i]);
      const mask = tensor(bits, { dtype: "bool" }).reshape(shape);
      const expected = { shape: [held.length], data: held };
      await same(await toTensor(plain).maskedSelect(mask), expected, "maskedSelect");
      if (shape.length === 0) return;
      await same(await toTensor(plain).at(mask), expected, "at");
      const values = tensor(new Float32Array(held.map((_, i) => -1 - i)));
      const x = toTensor(plain);
      x.setAt(mask, values);
      const after = [...plain.data];
      held.forEach((at, i) => after[at] = -1 - i);
      await same(x, { shape, data: after }, "setAt");
    }),
    { numRuns: 80, seed: 1 },
  );
});
