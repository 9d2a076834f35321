// Random kernels against the interpreter: any stages, ranks, sizes, strides and dtypes. The data is
// chosen so that sums and products are exact, and so equal whatever the order.
import { assertEquals } from "jsr:@std/assert@1";
import fc from "npm:fast-check@4";
import { type ComputeType, type DataArray, type DType, DTYPES } from "../../../../core/dtype.ts";
import { float32ToBfloat16Bits, float32ToFloat16Bits } from "../../../../core/half.ts";
import * as ex from "../../../../core/ir/expr.ts";
import type { Expr } from "../../../../core/ir/expr.ts";
import {
  type Kernel,
  type KernelInput,
  type KernelOutput,
  type Launch,
  makeKernel,
  type Stage,
  type StrideClass,
} from "../../../../core/ir/kernel.ts";
import { wasmFeatures } from "../asm/mod.ts";
import { interpreted, readable, rendered, storage, TARGET } from "./harness_test.ts";

type Gen = fc.GeneratorValue;

const STORAGE: readonly DType[] = [
  "bool",
  "uint8",
  "int8",
  "int16",
  "int32",
  "int64",
  "float16",
  "bfloat16",
  "float32",
  "float64",
];
const COMPUTE: readonly ComputeType[] = ["bool", "int32", "int64", "float32", "float64"];
const SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 19, 37, 67];

/** Random choices, one after the other. */
class Dice {
  readonly #g: Gen;
  constructor(g: Gen) {
    this.#g = g;
  }
  below(n: number): number {
    return this.#g(fc.integer, { min: 0, max: n - 1 });
  }
  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)];
  }
  chance(percent: number): boolean {
    return this.below(100) >= 100 - percent;
  }
}

/** Elements for exact arithmetic; if `wild`, the 16-bit floats may have any bits. */
function makeData(dice: Dice, dtype: DType, length: number, wild = false): DataArray {
  const a = storage(dtype, length) as { [i: number]: number | bigint };
  let x = dice.below(2 ** 30) + 1;
  const special = dice.chance(30);
  const next = (): number => {
    x = (Math.imul(x, 1664525) + 1013904223) | 0;
    return x >>> 8;
  };
  const value = (): number => {
    if (special && next() % 9 === 0) return [NaN, Infinity, -Infinity, -0][next() % 4];
    return (next() % 129 - 64) / 8;
  };
  for (let i = 0; i < length; i++) {
    switch (dtype) {
      case "bool":
        a[i] = next() % 2;
        break;
      case "int64":
        a[i] = special
          ? BigInt(next()) * BigInt(next()) * (next() % 2 ? 1n : -1n)
          : BigInt(next() % 19 - 9);
        break;
      case "float16":
        a[i] = wild && next() % 2 ? next() & 0xffff : float32ToFloat16Bits(value());
        break;
      case "bfloat16":
        a[i] = wild && next() % 2 ? next() & 0xffff : float32ToBfloat16Bits(value());
        break;
      case "float32":
      case "float64":
        a[i] = value();
        break;
      case "int32":
        a[i] = special ? x : next() % 19 - 9;
        break;
      default:
        a[i] = special ? x : next() % 19;
    }
  }
  return a as unknown as DataArray;
}

/** Strides over the axes: a permuted, stepped, partly reversed or broadcast layout. */
function makeStrides(
  dice: Dice,
  sizes: readonly number[],
  options: { broadcast: boolean; zeroFrom: number },
): { strides: number[]; offset: number; length: number } {
  const strides = sizes.map(() => 0);
  const order = sizes.map((_, i) => i).filter((i) => i < options.zeroFrom);
  if (dice.chance(40)) {
    for (let i = order.length - 1; i > 0; i--) {
      const j = dice.below(i + 1);
      [order[i], order[j]] = [order[j], order[i]];
    }
  }
  let step = dice.chance(20) ? 2 + dice.below(2) : 1;
  let offset = dice.below(3);
  let length = offset + 1;
  for (const axis of order.reverse()) {
    if (options.broadcast && dice.chance(20)) continue;
    const span = step * Math.max(0, sizes[axis] - 1);
    strides[axis] = dice.chance(15) ? -step : step;
    if (strides[axis] < 0) offset += span;
    length += span;
    step *= Math.max(1, sizes[axis]) + (dice.chance(10) ? 1 : 0);
  }
  return { strides, offset, length: length + 2 };
}

function classOf(dice: Dice, stride: number | undefined): StrideClass {
  if (stride === undefined) return dice.of(["unit", "zero", "any"]);
  if (dice.chance(10)) return "any";
  return stride === 1 ? "unit" : stride === 0 ? "zero" : "any";
}

/** Leaves that an expression may use, by dtype. */
type Leaves = Expr[];

class Expressions {
  readonly #dice: Dice;
  readonly #leaves: Leaves;
  readonly #made: Expr[] = [];

  constructor(dice: Dice, leaves: Leaves) {
    this.#dice = dice;
    this.#leaves = leaves;
  }

  leaf(dtype: ComputeType): Expr {
    const d = this.#dice;
    const fit = [...this.#leaves, ...this.#made].filter((e) => e.dtype === dtype);
    if (fit.length > 0 && d.chance(80)) return d.of(fit);
    if (dtype === "int64") return ex.constant(d.of([0n, 1n, -1n, 7n, 64n, -(2n ** 63n)]), dtype);
    if (dtype === "int32") return ex.constant(d.of([0, 1, -1, 3, 31, -(2 ** 31)]), dtype);
    if (dtype === "bool") return ex.constant(d.below(2), dtype);
    return ex.constant(d.of([0, -0, 1, -1.5, 3, 0.1, NaN, Infinity, 3e9, -1e19]), dtype);
  }

  make(dtype: ComputeType, depth: number): Expr {
    const e = depth === 0 || this.#dice.chance(10)
      ? this.leaf(dtype)
      : this.#node(dtype, depth - 1);
    this.#made.push(e);
    return e;
  }

  #node(dtype: ComputeType, depth: number): Expr {
    const d = this.#dice;
    const a = (t: ComputeType = dtype): Expr => this.make(t, depth);
    const pick = d.below(10);
    if (pick === 0) return ex.where(a("bool"), a(), a());
    if (pick === 1) {
      const from = d.of(COMPUTE.filter((t) => t !== dtype));
      return { op: "cast", dtype, args: [a(from)] };
    }
    switch (dtype) {
      case "bool": {
        if (pick < 5) return d.of([ex.and, ex.or, ex.xor, ex.min, ex.max])(a(), a());
        const t = d.of(COMPUTE);
        return d.of([ex.lt, ex.le, ex.eq, ex.ne, ex.gt, ex.ge])(a(t), a(t));
      }
      case "int32":
      case "int64": {
        if (pick === 2) {
          // The bits of a NaN are anyone's choice.
          const x = a(dtype === "int32" ? "float32" : "float64");
          return ex.bitcast(ex.where(ex.eq(x, x), x, 1), dtype);
        }
        if (pick === 3) return d.of([ex.neg, ex.abs])(a());
        return d.of([
          ex.add,
          ex.sub,
          ex.mul,
          ex.idiv,
          ex.irem,
          ex.min,
          ex.max,
          ex.and,
          ex.or,
          ex.xor,
          ex.shl,
          ex.shr,
          ex.shru,
          ex.mulhiu,
        ])(a(), a());
      }
      default:
        if (pick === 2) return ex.bitcast(a(dtype === "float32" ? "int32" : "int64"), dtype);
        if (pick < 6) {
          return d.of([ex.neg, ex.abs, ex.sqrt, ex.floor, ex.ceil, ex.trunc, ex.rint])(a());
        }
        return d.of([ex.add, ex.sub, ex.mul, ex.div, ex.min, ex.max])(a(), a());
    }
  }
}

interface Case {
  readonly kernel: Kernel;
  readonly launch: Launch;
  readonly arrays: DataArray[];
}

/** A state with its start, lift and combine; exact on the data used here. */
function makeFold(
  dice: Dice,
  loads: readonly Expr[],
): { init: Expr[]; lift: Expr[]; combine: Expr[] } {
  const init: Expr[] = [];
  const lift: Expr[] = [];
  const combine: Expr[] = [];
  const push = (start: Expr, x: Expr, op: (l: Expr, r: Expr) => Expr): void => {
    const i = init.length;
    init.push(start);
    lift.push(x);
    combine.push(op(ex.leaf("left", start.dtype, i), ex.leaf("right", start.dtype, i)));
  };
  const count = 1 + dice.below(3);
  for (let k = 0; k < count; k++) {
    const x = dice.of(loads);
    const dtype = x.dtype;
    const c = (v: number | bigint): Expr => ex.constant(v, dtype);
    if (dtype === "bool") {
      if (dice.chance(50)) push(c(1), x, ex.and);
      else push(c(0), x, ex.or);
      continue;
    }
    const float = dtype === "float32" || dtype === "float64";
    switch (dice.below(5)) {
      case 0:
        push(c(0), x, ex.add);
        break;
      case 1:
        push(c(1), float ? ex.where(ex.lt(x, 0), c(-1), c(1)) : x, ex.mul);
        break;
      case 2:
        push(c(float ? Infinity : dtype === "int64" ? 2n ** 63n - 1n : 2 ** 31 - 1), x, ex.min);
        break;
      case 3:
        push(c(float ? -Infinity : dtype === "int64" ? -(2n ** 63n) : -(2 ** 31)), x, ex.max);
        break;
      default: {
        // The largest and the last place where it stands: two states that depend on each other.
        const i = init.length;
        const place = dice.of(
          loads.filter((e) => e.dtype === "int32").concat(ex.constant(3, "int32")),
        );
        const [lv, rv] = [ex.leaf("left", dtype, i), ex.leaf("right", dtype, i)];
        const [lp, rp] = [ex.leaf("left", "int32", i + 1), ex.leaf("right", "int32", i + 1)];
        const bigger = ex.lt(lv, rv);
        const same = ex.not(ex.or(bigger, ex.lt(rv, lv)));
        init.push(c(float ? -Infinity : dtype === "int64" ? -(2n ** 63n) : -(2 ** 31)));
        init.push(ex.constant(-(2 ** 31), "int32"));
        // NaN is taken out: it would make the order matter.
        lift.push(float ? ex.where(ex.eq(x, x), x, c(0)) : x, place);
        combine.push(
          ex.max(lv, rv),
          ex.where(same, ex.max(lp, rp), ex.where(bigger, rp, lp)),
        );
      }
    }
  }
  return { init, lift, combine };
}

function makeCase(dice: Dice): Case {
  const outerRank = dice.of([0, 1, 1, 2, 2, 3]);
  const innerRank = dice.of([0, 0, 1, 1, 1, 2]);
  const rank = outerRank + innerRank;
  const sizes: number[] = [];
  let product = 1;
  for (let i = 0; i < rank; i++) {
    const fit = SIZES.filter((s) => s * product <= 3000);
    sizes.push(i > 0 && dice.chance(3) ? 0 : dice.of(fit));
    product *= Math.max(1, sizes[i]);
  }
  const strides: number[][] = [];
  const offsets: number[] = [];
  const arrays: DataArray[] = [];
  const io = (list: readonly number[]) => ({
    outer: classOf(dice, outerRank > 0 ? list[outerRank - 1] : undefined),
    inner: classOf(dice, innerRank > 0 ? list[rank - 1] : undefined),
  });

  const inputs: KernelInput[] = [];
  const inputCount = 1 + dice.below(3);
  const wild = dice.chance(25);
  for (let i = 0; i < inputCount; i++) {
    const dtype = dice.of(STORAGE);
    const s = makeStrides(dice, sizes, { broadcast: true, zeroFrom: rank });
    inputs.push({ dtype, ...io(s.strides) });
    strides.push(s.strides);
    offsets.push(s.offset);
    arrays.push(makeData(dice, dtype, s.length, wild));
  }
  const coords = sizes.map((_, i) => ex.leaf("coord", "int32", i));
  const loads = inputs.map((b, i) => ex.leaf("load", ex.computeType(b.dtype), i));
  const folded = loads.filter((_, i) => !wild || !inputs[i].dtype.endsWith("float16"))
    .concat(coords, ex.constant(5, "int32"));
  const args: ComputeType[] = dice.chance(50) ? COMPUTE.slice() : [];
  const argValues = args.map((t) =>
    t === "int64" ? 12345678901n : t === "bool" ? 1 : t === "int32" ? -77 : 2.375
  );
  const everywhere: Leaves = [
    ...args.map((t, i) => ex.leaf("arg", t, i)),
    ...sizes.map((_, i) => ex.leaf("size", "int32", i)),
  ];
  const outerCoords = sizes.slice(0, outerRank).map((_, i) => ex.leaf("coord", "int32", i));
  const inside: Leaves = [...coords, ...loads];
  if (dice.chance(40)) {
    // A table of 3 by 5, read anywhere.
    const dtype = dice.of(STORAGE);
    const index = inputs.length;
    inputs.push({ dtype, outer: "any", inner: "any", gatherRank: 2 });
    strides.push([6, -1]);
    offsets.push(5);
    arrays.push(makeData(dice, dtype, 20));
    const read = (from: Leaves): Expr => {
      const type = dice.of(["int32", "int64"] as const);
      const at = (size: number): Expr => {
        const c = from.length > 0 ? dice.of(from) : ex.constant(1, "int32");
        return ex.cast(ex.irem(ex.and(ex.add(c, dice.below(4)), 255), size), type);
      };
      return ex.gather(index, ex.computeType(dtype), [at(3), at(5)]);
    };
    const indexes = loads.filter((e) => e.dtype === "int32");
    everywhere.push(read(outerCoords));
    inside.push(read([...coords, ...indexes]));
  }

  const stages: Stage[] = [];
  const results: Expr[] = [];
  const wanted: { stage: number; value: number; dtype: ComputeType; inner: boolean }[] = [];
  const stageCount = 1 + dice.below(3);
  for (let s = 0; s < stageCount; s++) {
    const kinds = innerRank === 1
      ? ["map", "reduce", "final", "scan"] as const
      : ["map", "reduce", "final"] as const;
    const kind = dice.of(kinds);
    const at = (leaves: Leaves, count: number): Expr[] => {
      const e = new Expressions(dice, leaves);
      return Array.from({ length: count }, () => e.make(dice.of(COMPUTE), 1 + dice.below(4)));
    };
    const want = (list: readonly Expr[], inner: boolean): void => {
      list.forEach((e, value) => {
        if (value === 0 || dice.chance(50)) wanted.push({ stage: s, value, dtype: e.dtype, inner });
      });
    };
    switch (kind) {
      case "map": {
        const values = at([...everywhere, ...results, ...inside], 1 + dice.below(2));
        stages.push({ kind, values });
        want(values, true);
        break;
      }
      case "final": {
        const values = at([...everywhere, ...results, ...outerCoords], 1 + dice.below(2));
        stages.push({ kind, values });
        want(values, false);
        break;
      }
      case "reduce": {
        const fold = makeFold(dice, folded);
        stages.push({ kind, ...fold });
        want(fold.combine, false);
        fold.combine.forEach((e, i) => results.push(ex.leaf("result", e.dtype, i, s)));
        break;
      }
      case "scan": {
        const fold = makeFold(dice, folded);
        const left = fold.combine.map((e, i) => ex.leaf("left", e.dtype, i));
        const values = [
          ...left,
          ...at([...everywhere, ...results, ...inside, ...left], 1),
        ];
        stages.push({ kind, ...fold, values });
        want(values, true);
        break;
      }
    }
  }
  const outputs: KernelOutput[] = wanted.map((w) => {
    const dtype = dice.of(STORAGE.filter((d) => DTYPES[d].compute === w.dtype));
    const s = makeStrides(dice, sizes, { broadcast: false, zeroFrom: w.inner ? rank : outerRank });
    strides.push(s.strides);
    offsets.push(s.offset);
    arrays.push(makeData(dice, dtype, s.length));
    return { dtype, ...io(s.strides), stage: w.stage, value: w.value };
  });
  const kernel = makeKernel({
    outerRank,
    innerRank,
    inputs,
    args,
    stages,
    outputs,
    index32: dice.chance(50),
  });
  return { kernel, launch: { sizes, strides, offsets, args: argValues }, arrays };
}

function describe(c: Case): string {
  return `${c.kernel.key}\nsizes ${c.launch.sizes} strides ${JSON.stringify(c.launch.strides)}`;
}

const RUNS = Number(Deno.args.find((a) => a.startsWith("--fuzz="))?.slice(7) ?? 300);

Deno.test("random kernels give what the interpreter gives", () => {
  fc.assert(
    fc.property(fc.gen(), (g) => {
      const c = makeCase(new Dice(g));
      const want = readable(c.kernel, interpreted(c.kernel, c.launch, c.arrays));
      assertEquals(readable(c.kernel, rendered(c.kernel, c.launch, c.arrays)), want, describe(c));
    }),
    { numRuns: RUNS, seed: 1 },
  );
});

Deno.test("random kernels give the same however outer axis 0 is split", () => {
  fc.assert(
    fc.property(fc.gen(), (g) => {
      const dice = new Dice(g);
      const c = makeCase(dice);
      if (c.kernel.outerRank === 0) return;
      const n = c.launch.sizes[0];
      const cut = dice.below(n + 1);
      const ranges: [number, number][] = [[cut, n], [0, cut], [n, n]];
      const whole = readable(c.kernel, rendered(c.kernel, c.launch, c.arrays));
      const parts = readable(c.kernel, rendered(c.kernel, c.launch, c.arrays, { ranges }));
      assertEquals(parts, whole, describe(c));
    }),
    { numRuns: RUNS / 3, seed: 1 },
  );
});

Deno.test({
  name: "random kernels give the same with 64-bit addresses",
  ignore: !wasmFeatures().memory64,
  fn() {
    const target = { ...TARGET, ptr: "i64" as const };
    fc.assert(
      fc.property(fc.gen(), (g) => {
        const c = makeCase(new Dice(g));
        const want = readable(c.kernel, interpreted(c.kernel, c.launch, c.arrays));
        const got = readable(c.kernel, rendered(c.kernel, c.launch, c.arrays, { target }));
        assertEquals(got, want, describe(c));
      }),
      { numRuns: RUNS / 3, seed: 1 },
    );
  },
});
